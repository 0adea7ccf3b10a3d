// Receipt: what a task was, did and left, as one JSON document (sallyport-receipt/1) that states plainly that it is
// unsigned.
//
// Every text is taken as hostile: the JSON form is ASCII with canonical (sorted) keys, the summary is escaped for a
// terminal. Environment variables are recorded by name only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "sandbox-launcher/spec/report.h"

namespace sallyport::launcher {

enum class Outcome { kSuccess, kProgramError, kPolicyDenial, kResourceLimit, kPlatformFailure, kCancelled };
std::string_view to_string(Outcome outcome) noexcept;  // "success", "program_error", …

struct DestinationSummary {
  std::string destination;  // "https://api.shop.example:443" as control names it
  std::string treatment;    // "http", "tls_tunnel", "tcp_tunnel", "dns", …
  std::uint64_t allowed = 0;
  std::uint64_t denied = 0;
  std::uint64_t upload_bytes = 0;
  std::uint64_t download_bytes = 0;
  std::string reason;  // of the last denial, a policy::ReasonCode text; may be empty
};

// A request that the policy refused.
struct RefusalSummary {
  std::string what;    // "GET http://denied.test/x"
  std::string reason;  // a policy::ReasonCode as text
  std::uint64_t count = 0;
  std::string rule;  // the rule line that would allow it and nothing else; empty where none can
};

struct AuditRecordRef {
  std::uint64_t sequence = 0;
  std::string hash;  // hexadecimal
};

struct Receipt {
  std::string task;
  std::string owner;
  std::string policy_name;
  std::string policy_version;
  std::string policy_sha256;
  std::vector<std::string> command;  // its SHA-256 (arguments joined by NUL) is computed by receipt_json
  std::vector<std::string> inputs;   // directories given to the task, as paths: workspace first
  RuntimeFacts runtime;
  std::chrono::system_clock::time_point started;
  std::chrono::system_clock::time_point ended;
  Outcome outcome = Outcome::kPlatformFailure;
  std::string limit;               // which limit fired: "memory", "wall", "requests", …; empty when none
  std::string detail;              // one line: why it ended, when it was not by itself
  std::optional<ExitStatus> exit;  // absent when the command never ran
  int exit_code = 125;             // of `sallyport run`
  std::uint64_t stdout_bytes = 0;
  std::uint64_t stderr_bytes = 0;
  bool output_truncated = false;
  std::vector<DestinationSummary> network;  // receipt_json sorts it by destination
  std::vector<RefusalSummary> refused;      // the most frequent first
  std::uint64_t refused_kinds = 0;          // different ones in all, also those that are not listed
  bool observed = false;                    // run with --observe
  std::optional<AuditRecordRef> audit_first;
  std::optional<AuditRecordRef> audit_last;
  std::vector<CleanupStep> cleanup;
};

// The document, ending in a newline.
std::string receipt_json(const Receipt& receipt);
// 5 to 40 lines for a terminal; at most `max_destinations` destinations.
std::string receipt_summary(const Receipt& receipt, std::size_t max_destinations = 20);
// Writes atomically (temporary file beside it, fsync, rename), mode 0600; an existing file is replaced, a symbolic link
// is not followed.
Result<void> write_receipt(const std::string& path, std::string_view json);

}  // namespace sallyport::launcher
