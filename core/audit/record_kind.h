// What an audit record is about, and who may say so.
#pragma once

#include <cstdint>
#include <string_view>

namespace sallyport::audit {

// Numbers are part of the ring's format: append, never renumber.
enum class RecordKind : std::uint8_t {
  kDecision = 1,  // a verdict, before any upstream byte
  kRequest,       // an HTTP request, before the last byte of its response
  kConnection,    // a client connection, at its close
  kTunnel,        // an opaque tunnel, at its close
  kDns,           // a DNS question and its answer
  kProbe,         // a self-test's probe was seen
  kBudget,        // a limit fired
  kError,         // something failed; may have no task
  kGap,           // `count` records could not be written; may have no task
  kTaskStarted,   // by control
  kTaskEnded,     // by control
  kOpened,        // the rest: by the audit process alone
  kClosed,
  kRecovered,    // a torn end of the log was found and closed off
  kRingCorrupt,  // a ring's contents made no sense; it is closed
  kCoalesced,    // `count` further denials equal to an earlier one
  kOverBudget,   // a task has used up its share of the log
  kCheckpoint,
};

inline constexpr std::uint8_t kRecordKinds = 18;

// The "kind" text of the log.
std::string_view to_string(RecordKind kind) noexcept;

// The side a record comes from. A side's record of another side's kind is corrupt: a proxy cannot say that a
// task ended, control cannot say that the log was recovered.
enum class Origin : std::uint8_t { kProxy, kControl, kAudit };

bool may_write(Origin origin, RecordKind kind) noexcept;

// Openings begin something that will need a closing record later; they leave the last quarter of a ring free for those.
constexpr bool is_opening(RecordKind kind) noexcept {
  return kind == RecordKind::kDecision || kind == RecordKind::kDns;
}

}  // namespace sallyport::audit
