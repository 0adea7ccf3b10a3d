#include "core/http/response_head.h"

#include <algorithm>

#include "core/http/head_reader.h"
#include "core/http/syntax.h"

namespace sallyport::http {
namespace {

constexpr std::uint16_t kBadGateway = 502;
constexpr std::string_view kProtocol = "HTTP/1.";

ParseResult bad(const char* reason) { return ParseResult::refused(kBadGateway, reason); }

// RFC 9112 section 4. The space before an absent reason phrase is often left out; that is not ambiguous and accepted.
ParseResult read_status_line(std::string_view line, ResponseHead& out) {
  constexpr std::size_t kCodeAt = 9, kCodeEnd = 12;
  bool formed = line.size() >= kCodeEnd && line.starts_with(kProtocol) && (line[7] == '0' || line[7] == '1') &&
                line[8] == ' ' && all_bytes(line.substr(kCodeAt, 3), kDigitByte) &&
                (line.size() == kCodeEnd || line[kCodeEnd] == ' ');
  if (!formed) return bad("the upstream's status line is malformed");
  out.minor = static_cast<std::uint8_t>(line[7] - '0');
  out.status = 0;
  for (char c : line.substr(kCodeAt, 3)) out.status = static_cast<std::uint16_t>(out.status * 10 + (c - '0'));
  if (out.status < 100 || out.status > 599) return bad("the upstream's status code is none");
  out.reason = line.size() == kCodeEnd ? std::string_view() : line.substr(kCodeEnd + 1);
  if (!all_bytes(out.reason, kValueByte)) return bad("the upstream's reason phrase holds a control byte");
  return ParseResult::done(0);
}

ParseResult check_status(const ResponseHead& out, const ResponseContext& context) {
  if (out.status == 101 && !context.upgrade_offered) return bad("the upstream switched protocols though nobody asked");
  if (out.status == 407) return bad("the upstream asks for proxy credentials");
  return ParseResult::done(0);
}

// RFC 9112 section 6.3.
ParseResult read_body(const FramingFields& framing, const ResponseContext& context, ResponseHead& out) {
  out.content_length = framing.content_length;
  if (out.is_interim() || out.status == 204) {
    if (framing.chunked || framing.content_length.value_or(0) != 0)
      return bad("the upstream gives a body to a status that has none");
    out.content_length = std::nullopt;
    out.body = Framing::none();
  } else if (context.method == "HEAD" || out.status == 304) {
    out.body = Framing::none();
  } else if (framing.chunked) {
    out.body = Framing::chunked();
  } else if (framing.content_length) {
    out.body = Framing::of_length(*framing.content_length);
  } else {
    out.body = Framing::until_close();
  }
  return ParseResult::done(0);
}

ParseResult conclude(const ResponseContext& context, ResponseHead& out) {
  FramingFields framing = HeadReader::read_framing(out.fields, out.minor);
  if (framing.fault != nullptr) return bad(framing.fault);
  ParseResult result = check_status(out, context);
  if (result.state == ParseState::kRefused) return result;
  result = read_body(framing, context, out);
  if (result.state == ParseState::kRefused) return result;
  out.keep_alive = !framing.says_close && (out.minor == 1 || framing.says_keep_alive) &&
                   out.body.kind != FramingKind::kUntilClose && out.status != 101;
  return result;
}

}  // namespace

ParseResult parse_response_head(std::string_view buffer, const Limits& limits, const ResponseContext& context,
                                ResponseHead& out) {
  if (buffer.empty()) return ParseResult::incomplete();
  HeadReader reader(buffer, limits, kBadGateway, out.cursor, out.fields);
  if (!reader.start_line_done()) {
    std::size_t seen = std::min(buffer.size(), kProtocol.size());
    if (buffer.substr(0, seen) != kProtocol.substr(0, seen))
      return reader.finish(bad("the upstream does not answer in HTTP/1"));
    std::string_view line;
    ParseResult result = reader.start_line(limits.max_target_bytes, kBadGateway, line);
    if (result.state == ParseState::kDone) result = read_status_line(line, out);
    if (result.state != ParseState::kDone) return reader.finish(result);
  }
  ParseResult head = reader.field_lines();
  if (head.state != ParseState::kDone) return reader.finish(head);
  ParseResult verdict = conclude(context, out);
  return reader.finish(verdict.state == ParseState::kRefused ? verdict : head);
}

}  // namespace sallyport::http
