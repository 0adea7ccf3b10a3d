// The response parser: as the request's. The first byte chooses the request's method and whether an upgrade was
// offered.
#include "core/http/fuzz_check.h"
#include "core/http/response_head.h"
#include "core/http/syntax.h"
#include "core/http/writer.h"

namespace sallyport::http {
namespace {

ParseResult parse_in_pieces(std::string_view text, const ResponseContext& context, ResponseHead& head) {
  Cuts cuts(text);
  std::size_t n = 0;
  for (;;) {
    ParseResult result = parse_response_head(text.substr(0, n), {}, context, head);
    if (result.state != ParseState::kIncomplete || n == text.size()) return result;
    n = std::min(text.size(), n + cuts.next());
  }
}

void check_head(const ResponseHead& head, const ResponseContext& context) {
  require(head.status >= 100 && head.status <= 599 && head.status != 407, "a status is one that passes");
  require(head.status != 101 || context.upgrade_offered, "nobody switches unasked");
  bool bodiless = head.status < 200 || head.status == 204 || head.status == 304 || context.method == "HEAD";
  require(bodiless == (head.body.kind == FramingKind::kNone), "framing goes with status and method");
  require(!head.keep_alive || head.body.kind != FramingKind::kUntilClose, "until-close closes");
  require(head.minor == 1 || head.body.kind != FramingKind::kChunked, "HTTP/1.0 is never chunked");
  require(all_bytes(head.reason, kValueByte), "a reason holds no control byte");
  for (Field field : head.fields)
    require(!field.name.empty() && all_bytes(field.name, kTokenByte) && all_bytes(field.value, kValueByte),
            "fields are well-formed");
}

std::string write(const ResponseHead& head, bool to_head, std::uint8_t client_minor) {
  ClientResponse response;
  response.status = head.status;
  response.reason = head.reason;
  response.fields = &head.fields;
  response.body = client_framing(head.body, client_minor);
  response.content_length = head.content_length;
  response.answers_head = to_head;
  response.client_minor = client_minor;
  std::string out;
  require(write_response_head(out, response).has_value(), "what was accepted can be written");
  return out;
}

void check_round_trip(const ResponseHead& head, const ResponseContext& context) {
  bool to_head = context.method == "HEAD";
  for (std::uint8_t minor : {std::uint8_t{0}, std::uint8_t{1}}) {
    std::string once = write(head, to_head, minor);
    ResponseHead again;
    ParseResult result = parse_response_head(once, {64 * 1024 + 1024, 8 * 1024 + 64, 32, 128}, context, again);
    require(result.state == ParseState::kDone && result.consumed == once.size(), "what is written parses, wholly");
    check_head(again, context);
    require(again.status == head.status && again.body == client_framing(head.body, minor),
            "status and framing survive");
    for (FieldId gone : {FieldId::kProxy, FieldId::kUpgrade, FieldId::kAltSvc, FieldId::kTrailer, FieldId::kKeepAlive})
      require(again.fields.count(gone) == 0, "hop-by-hop fields are gone");
    require(minor == 0 || write(again, to_head, minor) == once, "writing is idempotent");
  }
}

}  // namespace
}  // namespace sallyport::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport::http;
  if (size == 0) return 0;
  ResponseContext context{(data[0] & 1) != 0 ? "HEAD" : "GET", (data[0] & 2) != 0};
  std::string_view text = as_text(data + 1, size - 1);
  ResponseHead whole, pieces;
  ParseResult result = parse_response_head(text, {}, context, whole);
  ParseResult cut = parse_in_pieces(text, context, pieces);
  require(result.state == cut.state && result.status == cut.status && result.consumed == cut.consumed &&
              std::string_view(result.reason) == cut.reason,
          "the outcome does not depend on the cuts");
  require(result.state != ParseState::kRefused || result.status == 502, "every refusal is 502");
  if (result.state != ParseState::kDone) return 0;
  require(result.consumed <= text.size(), "no more is taken than there is");
  check_head(whole, context);
  require(whole.fields.size() == pieces.fields.size() && whole.body == pieces.body, "heads agree");
  // The writer may add two fields (framing and Connection); a full table leaves no room to read those back.
  if (whole.status != 101 && whole.fields.size() + 2 <= Fields::kCapacity) check_round_trip(whole, context);
  return 0;
}
