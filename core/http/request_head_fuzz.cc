// The request parser: no crash, the same outcome however the bytes are cut, and what it accepts survives the writer
// unchanged.
#include "core/http/fuzz_check.h"
#include "core/http/request_head.h"
#include "core/http/syntax.h"
#include "core/http/writer.h"

namespace sallyport::http {
namespace {

ParseResult parse_in_pieces(std::string_view text, RequestHead& head) {
  Cuts cuts(text);
  std::size_t n = 0;
  for (;;) {
    ParseResult result = parse_request_head(text.substr(0, n), {}, head);
    if (result.state != ParseState::kIncomplete || n == text.size()) return result;
    n = std::min(text.size(), n + cuts.next());
  }
}

void check_bytes(std::string_view head) {
  require(head.ends_with("\r\n\r\n"), "a head ends in an empty line");
  for (std::size_t i = 0; i < head.size(); ++i) {
    if (head[i] == '\r') require(i + 1 < head.size() && head[i + 1] == '\n', "no bare CR");
    if (head[i] == '\n') require(i > 0 && head[i - 1] == '\r', "no bare LF");
    require(head[i] == '\r' || head[i] == '\n' || is_byte(head[i], kValueByte), "no control byte");
  }
}

void check_head(const RequestHead& head) {
  require(head.authority.has_value(), "an accepted request names its host");
  require(all_bytes(head.method, kTokenByte) && !head.method.empty(), "a method is a token");
  require(head.is_connect() == (head.method == "CONNECT"), "CONNECT and only CONNECT has authority-form");
  require(!head.is_connect() || (head.authority->port() && head.body == Framing::none()),
          "CONNECT has a port and no body");
  require(head.is_connect() || head.path == "*" || head.path.starts_with('/'), "a path begins with a slash");
  require(head.fields.count(FieldId::kHost) <= 1, "at most one Host");
  require(head.fields.count(FieldId::kContentLength) + head.fields.count(FieldId::kTransferEncoding) <= 1,
          "one statement of framing");
  require(head.body.kind != FramingKind::kUntilClose, "a request does not end with the connection");
  require(head.minor == 1 || head.body.kind != FramingKind::kChunked, "HTTP/1.0 is never chunked");
  for (Field field : head.fields) {
    require(!field.name.empty() && all_bytes(field.name, kTokenByte), "a field name is a token");
    require(all_bytes(field.value, kValueByte), "a field value holds no control byte");
    require(trim_blanks(field.value) == field.value, "a field value is trimmed");
  }
}

std::string write(const RequestHead& head) {
  std::string target(head.path);
  if (head.has_query) target.append("?").append(head.query);
  UpstreamRequest request;
  request.method = head.method;
  request.target = target;
  request.authority = &*head.authority;
  request.fields = &head.fields;
  request.body = head.body;
  request.expect_continue = head.expect_continue;
  std::string out;
  require(write_request_head(out, request).has_value(), "what was accepted can be written");
  return out;
}

void check_round_trip(const RequestHead& head) {
  std::string once = write(head);
  RequestHead again;
  ParseResult result = parse_request_head(once, {64 * 1024 + 1024, 8 * 1024 + 1, 32, 128}, again);
  require(result.state == ParseState::kDone && result.consumed == once.size(), "what is written parses, wholly");
  check_head(again);
  require(again.method == head.method && again.path == head.path && again.query == head.query &&
              again.has_query == head.has_query,
          "method and target survive");
  require(again.body == head.body && again.expect_continue == head.expect_continue, "framing survives");
  require(again.authority->same_as(*head.authority, Port::of(80)), "the authority survives");
  for (FieldId gone : {FieldId::kConnection, FieldId::kProxy, FieldId::kUpgrade, FieldId::kTe, FieldId::kTrailer,
                       FieldId::kForwarding, FieldId::kUnderscoreAlias})
    require(again.fields.count(gone) == 0, "hop-by-hop and forwarding fields are gone");
  require(write(again) == once, "writing is idempotent");
}

}  // namespace
}  // namespace sallyport::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport::http;
  std::string_view text = as_text(data, size);
  RequestHead whole, pieces;
  ParseResult result = parse_request_head(text, {}, whole);
  ParseResult cut = parse_in_pieces(text, pieces);
  require(result.state == cut.state && result.status == cut.status && result.consumed == cut.consumed &&
              std::string_view(result.reason) == cut.reason,
          "the outcome does not depend on the cuts");
  require(result.state != ParseState::kRefused || (result.status >= 400 && *result.reason != '\0'),
          "a refusal says why");
  if (result.state != ParseState::kDone) return 0;
  require(result.consumed <= size, "no more is taken than there is");
  check_bytes(text.substr(0, result.consumed));
  check_head(whole);
  require(
      whole.fields.size() == pieces.fields.size() && whole.authority == pieces.authority && whole.body == pieces.body,
      "heads agree");
  // The writer may add one field (Host, to an HTTP/1.0 request); a full table leaves no room to read that back.
  if (!whole.is_connect() && whole.fields.size() < Fields::kCapacity) check_round_trip(whole);
  return 0;
}
