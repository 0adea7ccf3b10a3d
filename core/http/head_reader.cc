#include "core/http/head_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/http/syntax.h"

namespace sallyport::http {
namespace {

constexpr std::size_t kMaxHead = 16 * 1024 * 1024;  // offsets in Fields are 32 bits wide
constexpr std::size_t kMaxName = 256;
constexpr std::size_t kMaxConnectionOptions = 32;

// RFC 9112 section 6.2, stricter: no sign, no leading zero, no list, and it fits a signed 64-bit offset.
bool parse_length(std::string_view text, std::uint64_t& length) noexcept {
  if (text.empty() || text.size() > 19 || (text.size() > 1 && text[0] == '0') || !all_bytes(text, kDigitByte))
    return false;
  length = 0;
  for (char c : text) length = length * 10 + static_cast<std::uint64_t>(c - '0');
  return length <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

}  // namespace

HeadReader::HeadReader(std::string_view buffer, const Limits& limits, std::uint16_t malformed_status,
                       HeadCursor& cursor, Fields& fields)
    : buffer_(buffer),
      max_head_(std::min(limits.max_head_bytes, kMaxHead)),
      max_fields_(std::min(limits.max_fields, Fields::kCapacity)),
      malformed_(malformed_status),
      cursor_(cursor),
      fields_(fields) {
  if (cursor_.base != nullptr && cursor_.base == buffer.data() && cursor_.scanned <= buffer.size()) return;
  cursor_.reset();
  cursor_.base = buffer.data();
  fields_.base_ = buffer.data();
  fields_.size_ = 0;
}

ParseResult HeadReader::next_line(std::size_t bound, ParseResult past_bound, std::string_view& line) {
  std::size_t end = std::min(buffer_.size(), bound);
  const void* feed = nullptr;
  if (cursor_.scanned < end) feed = std::memchr(buffer_.data() + cursor_.scanned, '\n', end - cursor_.scanned);
  if (feed == nullptr) {
    cursor_.scanned = end;
    return end == bound ? past_bound : ParseResult::incomplete();
  }
  auto at = static_cast<std::size_t>(static_cast<const char*>(feed) - buffer_.data());
  if (at == cursor_.line || buffer_[at - 1] != '\r')
    return malformed("a line of the message head ends in a bare line feed");
  line = buffer_.substr(cursor_.line, at - 1 - cursor_.line);
  cursor_.line = cursor_.scanned = at + 1;
  return ParseResult::done(at + 1);
}

ParseResult HeadReader::start_line(std::size_t max_bytes, std::uint16_t too_long_status, std::string_view& line) {
  bool line_is_tighter = max_bytes < max_head_;
  ParseResult result =
      next_line(line_is_tighter ? max_bytes : max_head_,
                line_is_tighter ? ParseResult::refused(too_long_status, "the first line of the message is too long")
                                : too_large("the message head is too large"),
                line);
  if (result.state == ParseState::kDone) cursor_.start_line_done = true;
  return result;
}

ParseResult HeadReader::field_lines() {
  for (;;) {
    std::string_view line;
    ParseResult result = next_line(max_head_, too_large("the message head is too large"), line);
    if (result.state != ParseState::kDone || line.empty()) return result;
    result = add_field(line);
    if (result.state == ParseState::kRefused) return result;
  }
}

ParseResult HeadReader::add_field(std::string_view line) {
  if (is_blank(line[0])) return malformed("a header line begins with white space (folding is not accepted)");
  std::size_t colon = skip_bytes(line, 0, kTokenByte);
  if (colon == line.size()) return malformed("a header line has no colon");
  if (line[colon] != ':') {
    bool blank = is_blank(line[colon]);
    return malformed(blank ? "white space stands between a header name and its colon, or in the name"
                           : "a header name holds a byte that names may not hold");
  }
  if (colon == 0) return malformed("a header name is empty");
  std::size_t begin = colon + 1, end = line.size();
  while (begin < end && is_blank(line[begin])) ++begin;
  if (skip_bytes(line, begin, kValueByte) != end) return malformed("a header value holds a control byte");
  while (end > begin && is_blank(line[end - 1])) --end;
  if (colon > kMaxName) return too_large("a header name is longer than 256 bytes");
  if (fields_.size_ >= max_fields_) return too_large("the message has too many header fields");
  auto offset = static_cast<std::size_t>(line.data() - buffer_.data());
  fields_.entries_[fields_.size_++] = {
      static_cast<std::uint32_t>(offset),      static_cast<std::uint32_t>(offset + begin),
      static_cast<std::uint32_t>(end - begin), static_cast<std::uint16_t>(colon),
      field_id(line.substr(0, colon)),         false};
  return ParseResult::done(0);
}

ParseResult HeadReader::finish(ParseResult result) noexcept {
  if (result.state != ParseState::kIncomplete) cursor_.reset();
  return result;
}

namespace {

// Host, framing and type say what the message is: a message that lists them as hop-by-hop means two things at once.
bool may_not_be_listed(FieldId id) noexcept {
  return id == FieldId::kHost || id == FieldId::kContentLength || id == FieldId::kContentType;
}

void read_transfer_encoding(std::string_view value, std::uint8_t minor, bool repeated, FramingFields& out) noexcept {
  if (minor == 0) {
    out.fault = "Transfer-Encoding in an HTTP/1.0 message";
  } else if (repeated) {
    out.fault = "more than one Transfer-Encoding line";
  } else if (equal_ignoring_case(value, "chunked")) {
    out.chunked = true;
  } else {
    if (!value.empty() && all_bytes(value, kTokenByte)) out.status = 501;
    out.fault = "a Transfer-Encoding other than exactly \"chunked\"";
  }
}

}  // namespace

FramingFields HeadReader::read_framing(Fields& fields, std::uint8_t minor) noexcept {
  FramingFields out;
  bool has_length = false, has_coding = false, has_connection = false;
  for (std::size_t i = 0; i < fields.size_ && out.fault == nullptr; ++i) {
    FieldId id = fields.entries_[i].id;
    if (id == FieldId::kContentLength) {
      std::uint64_t length = 0;
      if (has_length) {
        out.fault = "more than one Content-Length line";
      } else if (!parse_length(fields[i].value, length)) {
        out.fault = "a Content-Length that is not one plain decimal number";
      }
      has_length = true;
      out.content_length = length;
    } else if (id == FieldId::kTransferEncoding) {
      read_transfer_encoding(fields[i].value, minor, has_coding, out);
      has_coding = true;
    } else if (id == FieldId::kConnection) {
      has_connection = true;
    }
  }
  if (out.fault != nullptr) return out;
  if (has_length && has_coding) {
    out.fault = "both Content-Length and Transfer-Encoding";
    return out;
  }
  if (has_connection) read_connection(fields, out);
  return out;
}

void HeadReader::read_connection(Fields& fields, FramingFields& out) noexcept {
  std::size_t options = 0;
  for (std::size_t i = 0; i < fields.size_; ++i) {
    if (fields.entries_[i].id != FieldId::kConnection) continue;
    std::string_view list = fields[i].value, option;
    while (next_element(list, option)) {
      if (++options > kMaxConnectionOptions) {
        out.fault = "too many options in Connection";
        return;
      }
      if (!all_bytes(option, kTokenByte)) {
        out.fault = "Connection holds something other than a list of names";
        return;
      }
      if (option.empty()) continue;
      if (equal_ignoring_case(option, "close")) {
        out.says_close = true;
      } else if (equal_ignoring_case(option, "keep-alive")) {
        out.says_keep_alive = true;
      } else if (may_not_be_listed(field_id(option))) {
        out.fault = "Connection lists a field that is never hop-by-hop (Host, Content-Length, Content-Type)";
        return;
      }
      for (std::size_t j = 0; j < fields.size_; ++j)
        if (equal_ignoring_case(fields[j].name, option)) fields.entries_[j].listed = true;
    }
  }
}

}  // namespace sallyport::http
