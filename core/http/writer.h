// The canonical writer: the only code that puts HTTP/1.1 heads on a wire, upstream or towards a client.
//
// Heads are appended to a caller's string (keep its capacity; a steady state does not allocate). What is written parses
// back to the same message here and in any other implementation: one spelling of each line, framing stated once and
// last, Host first. Values the caller gives are checked: anything but the bytes a field value may hold (CR, LF and NUL
// above all) is kInvalid, and then nothing was appended.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/units.h"
#include "core/http/authority.h"
#include "core/http/fields.h"
#include "core/http/limits.h"
#include "core/http/response_head.h"

namespace sallyport::http {

// A field that Sallyport itself adds. All fields of the peer's message with that name are removed first.
struct AddedField {
  std::string_view name;
  std::string_view value;
};

// A request for an upstream. Everything is borrowed for the call.
struct UpstreamRequest {
  std::string_view method;
  std::string_view target;  // canonical origin-form ("/path?query") or "*"
  const Authority* authority = nullptr;
  Port standard_port = Port::of(80);  // left out of Host when equal
  const Fields* fields = nullptr;     // the client's; may be null
  std::span<const AddedField> added;
  Framing body;
  bool expect_continue = false;  // state Expect: 100-continue
  bool keep_alive = true;        // else Connection: close is stated
};

// Dropped of the client's fields: hop-by-hop ones and those its Connection lists, Proxy-*, Expect, forwarding fields
// (Forwarded, Via, X-Forwarded-*, X-Real-IP, ...), method and target overrides, and names that alias these with '_'.
// body: kNone writes no framing, kLength Content-Length, kChunked Transfer-Encoding; kUntilClose is kInvalid.
Result<void> write_request_head(std::string& out, const UpstreamRequest& request);

// A response for the client. Everything is borrowed for the call.
struct ClientResponse {
  std::uint16_t status = 200;
  std::string_view reason;
  const Fields* fields = nullptr;  // the upstream's; may be null
  std::span<const AddedField> added;
  Framing body;               // as it will be sent: see client_framing
  bool answers_head = false;  // the request was HEAD: body is kNone whatever the status
  // Stated although no body follows (HEAD, 304).
  std::optional<std::uint64_t> content_length;
  std::uint8_t client_minor = 1;
  bool keep_alive = true;  // what the client is told: close, or for HTTP/1.0 keep-alive
};

// Dropped of the upstream's fields: hop-by-hop ones and those its Connection lists, Proxy-*, Alt-Svc, Trailer, Upgrade.
// kUntilClose states Connection: close whatever keep_alive says. Interim (1xx) heads carry neither framing nor
// Connection. kInvalid also for: status 101 or outside 100 to 599; a body on 1xx, 204, 304 or an answer to HEAD; kNone
// on any other (the client would wait for the end of the connection); chunked to an HTTP/1.0 client.
Result<void> write_response_head(std::string& out, const ClientResponse& response);

// How a response's body is delimited towards a client: a length stays; chunked and until-close become chunked for
// HTTP/1.1 and until-close for HTTP/1.0.
Framing client_framing(const Framing& upstream, std::uint8_t client_minor) noexcept;

// "100 Continue", complete.
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

// Chunk framing: ChunkPrefix(n).text(), n bytes of data, kChunkEnd, ..., kLastChunk.
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// The size line of a chunk. `size` is at least 1: a chunk of 0 would end the body.
class ChunkPrefix {
 public:
  explicit ChunkPrefix(std::uint64_t size) noexcept;
  std::string_view text() const noexcept { return {text_ + begin_, sizeof text_ - begin_}; }

 private:
  char text_[18];
  std::size_t begin_;
};

// The standard phrase of a status code ("Forbidden"), "" when it has none.
std::string_view standard_reason(std::uint16_t status) noexcept;

}  // namespace sallyport::http
