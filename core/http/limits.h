// The sizes past which a message is refused, and what a parser answers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sallyport::http {

// Bounds of one message head. All are inclusive: a head of exactly max_head_bytes passes.
struct Limits {
  std::size_t max_head_bytes = 64 * 1024;  // start line to the empty line, line ends included
  std::size_t max_target_bytes = 8 * 1024;
  std::size_t max_method_bytes = 32;
  std::size_t max_fields = 128;  // at most Fields::kCapacity
};

enum class ParseState : std::uint8_t { kIncomplete, kDone, kRefused };

// What a head parser found.
//   kIncomplete  nothing is wrong so far; call again with more bytes of the same message, or give up at a deadline.
//   kDone        `consumed` bytes of the buffer were the head; the body begins there.
//   kRefused     answer `status` and close; nothing behind this message may be read as a message. `reason` is one line
//                of static ASCII for logs, answers and audit records.
struct ParseResult {
  ParseState state = ParseState::kIncomplete;
  std::uint16_t status = 0;
  std::size_t consumed = 0;
  const char* reason = "";

  static constexpr ParseResult incomplete() noexcept { return {}; }
  static constexpr ParseResult done(std::size_t consumed) noexcept { return {ParseState::kDone, 0, consumed, ""}; }
  static constexpr ParseResult refused(std::uint16_t status, const char* reason) noexcept {
    return {ParseState::kRefused, status, 0, reason};
  }
};

enum class FramingKind : std::uint8_t {
  kNone,        // no body
  kLength,      // exactly `length` bytes, possibly 0
  kChunked,     // chunked transfer coding, see ChunkDecoder
  kUntilClose,  // responses only: up to the end of the connection
};

// How the body of a message is delimited (RFC 9112 section 6.3).
struct Framing {
  FramingKind kind = FramingKind::kNone;
  std::uint64_t length = 0;  // kLength only

  static constexpr Framing none() noexcept { return {}; }
  static constexpr Framing of_length(std::uint64_t length) noexcept { return {FramingKind::kLength, length}; }
  static constexpr Framing chunked() noexcept { return {FramingKind::kChunked, 0}; }
  static constexpr Framing until_close() noexcept { return {FramingKind::kUntilClose, 0}; }
  // True if at least one byte may follow the head.
  constexpr bool has_body() const noexcept {
    return kind == FramingKind::kChunked || kind == FramingKind::kUntilClose ||
           (kind == FramingKind::kLength && length > 0);
  }
  friend constexpr bool operator==(const Framing&, const Framing&) noexcept = default;
};

}  // namespace sallyport::http
