// HeadReader: what the two head parsers share: lines, fields, Connection, framing fields. Internal to core/http.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/http/fields.h"
#include "core/http/head_cursor.h"
#include "core/http/limits.h"

namespace sallyport::http {

// What the fields say about framing and persistence. A fault is static text, with the status a request gets for it.
struct FramingFields {
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool says_close = false;
  bool says_keep_alive = false;

  std::uint16_t status = 400;
  const char* fault = nullptr;
};

// One call's view of a message head. Borrows all it is given. A line is looked at only when its line feed has arrived,
// so that the outcome is a function of the bytes and not of how they were cut.
class HeadReader {
 public:
  // Takes up where `cursor` stands if `buffer` is the one it stands in, else starts anew.
  HeadReader(std::string_view buffer, const Limits& limits, std::uint16_t malformed_status, HeadCursor& cursor,
             Fields& fields);

  bool start_line_done() const noexcept { return cursor_.start_line_done; }

  // The start line without CR LF, at most `max_bytes` long (CR LF included). kDone with `line` set; then it counts as
  // done.
  ParseResult start_line(std::size_t max_bytes, std::uint16_t too_long_status, std::string_view& line);
  // All fields and the empty line. kDone: `consumed` is the size of the head.
  ParseResult field_lines();

  // Reads Content-Length, Transfer-Encoding and Connection, and marks the fields that Connection lists.
  static FramingFields read_framing(Fields& fields, std::uint8_t minor) noexcept;

  // Ends the message, whatever the result: the cursor starts anew.
  ParseResult finish(ParseResult result) noexcept;

 private:
  // The next line, if its line feed stands within the first `bound` bytes of the head; `past_bound` when it cannot any
  // more.
  ParseResult next_line(std::size_t bound, ParseResult past_bound, std::string_view& line);
  ParseResult add_field(std::string_view line);
  static void read_connection(Fields& fields, FramingFields& out) noexcept;
  ParseResult malformed(const char* reason) const noexcept { return ParseResult::refused(malformed_, reason); }
  ParseResult too_large(const char* reason) const noexcept {
    return ParseResult::refused(malformed_ == 400 ? 431 : malformed_, reason);
  }

  std::string_view buffer_;
  std::size_t max_head_;
  std::size_t max_fields_;
  std::uint16_t malformed_;
  HeadCursor& cursor_;
  Fields& fields_;
};

}  // namespace sallyport::http
