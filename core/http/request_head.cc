#include "core/http/request_head.h"

#include "core/http/head_reader.h"
#include "core/http/syntax.h"

namespace sallyport::http {
namespace {

constexpr Port kHttpPort = Port::of(80);
constexpr std::size_t kVersionBytes = 8;

ParseResult bad(const char* reason) { return ParseResult::refused(400, reason); }

// RFC 9112 section 2.3: "HTTP/" DIGIT "." DIGIT; only 1.0 and 1.1 are spoken here.
ParseResult read_version(std::string_view text, RequestHead& out) {
  bool formed = text.size() == kVersionBytes && text.starts_with("HTTP/") && is_byte(text[5], kDigitByte) &&
                text[6] == '.' && is_byte(text[7], kDigitByte);
  if (!formed) return bad("the request line does not end in an HTTP version");
  if (text[5] != '1' || text[7] > '1') return ParseResult::refused(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  out.minor = static_cast<std::uint8_t>(text[7] - '0');
  return ParseResult::done(0);
}

// Index behind the target that begins at `at`; its bytes are checked, percent signs too.
std::size_t skip_target(std::string_view line, std::size_t at) {
  for (;;) {
    std::size_t end = at;
    while (end < line.size() && is_byte(line[end], kTargetByte) && line[end] != '%') ++end;
    if (end + 2 >= line.size() || line[end] != '%') return end;
    if (!is_byte(line[end + 1], kHexByte) || !is_byte(line[end + 2], kHexByte)) return end;
    at = end + 3;
  }
}

void split_path(std::string_view text, RequestHead& out) {
  std::size_t mark = text.find('?');
  out.has_query = mark != std::string_view::npos;
  out.path = text.substr(0, mark);
  out.query = out.has_query ? text.substr(mark + 1) : std::string_view();
  if (out.path.empty()) out.path = "/";
}

// The authority parsed last is kept when the text says the same again, as on a kept-alive connection.
bool set_authority(std::string_view text, RequestHead& out) {
  if (out.authority && out.authority->is_spelt(text)) return true;
  auto parsed = Authority::parse(text);
  if (!parsed) return false;
  out.authority = std::move(parsed).value();
  return true;
}

ParseResult read_connect(RequestHead& out) {
  out.form = TargetForm::kAuthority;
  if (!set_authority(out.target, out)) return bad("the target of CONNECT is not host:port");
  if (!out.authority->port()) return bad("the target of CONNECT has no port");
  return ParseResult::done(0);
}

ParseResult read_absolute(RequestHead& out) {
  std::string_view target = out.target;
  std::size_t mark = target.find("://");
  std::string_view scheme = target.substr(0, mark);
  bool formed = mark != std::string_view::npos && !scheme.empty() && !is_byte(scheme[0], kDigitByte);
  for (char c : scheme)
    formed =
        formed && (is_byte(c, kDigitByte) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '+' || c == '-' || c == '.');
  if (!formed) return bad("the request target has none of the four forms of RFC 9112");
  if (!equal_ignoring_case(scheme, "http"))
    return ParseResult::refused(501, "only http:// is served in clear; for https use CONNECT");
  std::string_view rest = target.substr(mark + 3);
  std::size_t end = rest.find_first_of("/?");
  if (!set_authority(rest.substr(0, end), out))
    return bad("the authority of the request target is not host or host:port");
  out.form = TargetForm::kAbsolute;
  if (end == std::string_view::npos && out.method == "OPTIONS") {
    out.form = TargetForm::kAsterisk;
    out.path = "*";
    return ParseResult::done(0);
  }
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end);
  split_path(rest, out);
  return ParseResult::done(0);
}

ParseResult read_target(RequestHead& out) {
  out.path = out.query = std::string_view();
  out.has_query = false;
  if (out.method == "CONNECT") return read_connect(out);
  if (out.target[0] == '/') {
    out.form = TargetForm::kOrigin;
    split_path(out.target, out);
    return ParseResult::done(0);
  }
  if (out.target == "*") {
    if (out.method != "OPTIONS") return bad("only OPTIONS may have the target *");
    out.form = TargetForm::kAsterisk;
    out.path = out.target;
    return ParseResult::done(0);
  }
  return read_absolute(out);
}

// RFC 9112 section 3: method SP target SP version, single spaces.
ParseResult read_request_line(std::string_view line, const Limits& limits, RequestHead& out) {
  std::size_t space = skip_bytes(line, 0, kTokenByte);
  if (space == 0 || space == line.size() || line[space] != ' ')
    return bad("the request line does not begin with a method and one space");
  out.method = line.substr(0, space);
  std::size_t begin = space + 1, end = skip_target(line, begin);
  if (end == begin) return bad("the request target is empty or begins with a byte that is not allowed there");
  if (end == line.size() || line[end] != ' ')
    return bad("the request target holds a byte that is not allowed there, or no version follows it");
  out.target = line.substr(begin, end - begin);
  ParseResult version = read_version(line.substr(end + 1), out);
  if (version.state == ParseState::kRefused) return version;
  if (out.target.size() > limits.max_target_bytes) return ParseResult::refused(414, "the request target is too long");
  if (out.method.size() > limits.max_method_bytes) return ParseResult::refused(501, "the method is too long");
  if (out.method == "TRACE" || out.method == "TRACK")
    return ParseResult::refused(501, "TRACE is never served: it reflects what it was sent");
  return read_target(out);
}

// RFC 9112 section 3.2: one Host, not empty, naming what the target names.
ParseResult read_host(RequestHead& out) {
  bool from_target = out.form == TargetForm::kAuthority || out.form == TargetForm::kAbsolute ||
                     (out.form == TargetForm::kAsterisk && out.target != "*");
  std::size_t hosts = out.fields.count(FieldId::kHost);
  if (hosts > 1) return bad("more than one Host");
  if (hosts == 0) {
    // HTTP/1.0 does not know the field: there a target that names the host is enough.
    if (out.minor == 0 && from_target) return ParseResult::done(0);
    return bad("no Host");
  }
  std::string_view text = *out.fields.find(FieldId::kHost);
  if (!from_target) {
    if (!set_authority(text, out)) return bad("Host is not one host or host:port");
    return ParseResult::done(0);
  }
  if (out.authority->is_spelt(text)) return ParseResult::done(0);
  auto host = Authority::parse(text);
  if (!host) return bad("Host is not one host or host:port");
  // Many clients leave the port of a CONNECT out of Host.
  bool connect = out.form == TargetForm::kAuthority;
  bool same = connect ? host.value().same_as(*out.authority, *out.authority->port())
                      : host.value().same_as(*out.authority, kHttpPort);
  if (same) return ParseResult::done(0);
  return ParseResult::refused(connect ? 400 : 421, "Host names another destination than the request target");
}

ParseResult read_expect(RequestHead& out) {
  out.expect_continue = false;
  std::size_t lines = out.fields.count(FieldId::kExpect);
  if (lines == 0) return ParseResult::done(0);
  if (lines > 1) return bad("more than one Expect");
  if (!equal_ignoring_case(*out.fields.find(FieldId::kExpect), "100-continue"))
    return ParseResult::refused(417, "an expectation other than 100-continue");
  // RFC 9110 section 10.1.1: ignored from HTTP/1.0, and where there is nothing to wait for.
  out.expect_continue = out.minor == 1 && out.body.has_body();
  return ParseResult::done(0);
}

ParseResult conclude(RequestHead& out) {
  FramingFields framing = HeadReader::read_framing(out.fields, out.minor);
  if (framing.fault != nullptr) return ParseResult::refused(framing.status, framing.fault);
  out.body = framing.chunked          ? Framing::chunked()
             : framing.content_length ? Framing::of_length(*framing.content_length)
                                      : Framing::none();
  if (out.is_connect() && out.body.kind != FramingKind::kNone) return bad("a CONNECT request with a body");
  out.keep_alive = !framing.says_close && (out.minor == 1 || framing.says_keep_alive);
  ParseResult host = read_host(out);
  if (host.state == ParseState::kRefused) return host;
  return read_expect(out);
}

}  // namespace

ParseResult parse_request_head(std::string_view buffer, const Limits& limits, RequestHead& out) {
  if (buffer.empty()) return ParseResult::incomplete();
  HeadReader reader(buffer, limits, 400, out.cursor, out.fields);
  if (!is_byte(buffer[0], kTokenByte)) return reader.finish(bad("this is not an HTTP request"));
  if (!reader.start_line_done()) {
    std::string_view line;
    std::size_t longest = limits.max_method_bytes + limits.max_target_bytes + kVersionBytes + sizeof "  \r\n" - 1;
    ParseResult result = reader.start_line(longest, 414, line);
    if (result.state == ParseState::kDone) result = read_request_line(line, limits, out);
    if (result.state != ParseState::kDone) return reader.finish(result);
  }
  ParseResult head = reader.field_lines();
  if (head.state != ParseState::kDone) return reader.finish(head);
  ParseResult verdict = conclude(out);
  return reader.finish(verdict.state == ParseState::kRefused ? verdict : head);
}

}  // namespace sallyport::http
