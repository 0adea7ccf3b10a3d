// The head of an HTTP/1.x response from an upstream, parsed as strictly as a request. Input is hostile.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/http/fields.h"
#include "core/http/head_cursor.h"
#include "core/http/limits.h"

namespace sallyport::http {

// Filled by parse_response_head; meaningful after kDone only. Views as in RequestHead.
struct ResponseHead {
  std::uint16_t status = 0;  // 100 to 599
  std::string_view reason;   // free of control bytes
  std::uint8_t minor = 1;
  Fields fields;
  Framing body;  // what follows on the wire, 1xx, 204, 304 and answers to HEAD considered
  // The Content-Length as stated, also where no body follows (HEAD, 304): to be restated to the client.
  std::optional<std::uint64_t> content_length;
  bool keep_alive = false;  // the upstream connection may serve another request once the body has ended

  bool is_interim() const noexcept { return status < 200; }

  HeadCursor cursor;  // the parser's own
};

// What the response answers.
struct ResponseContext {
  std::string_view method;       // of the request that went upstream
  bool upgrade_offered = false;  // it carried a permitted Upgrade; otherwise a 101 is refused
};

// As parse_request_head; every refusal is status 502. Besides malformed and ambiguous heads it refuses: 101 that nobody
// asked for; 407 (an origin has no business asking for proxy credentials); Content-Length other than 0 or
// Transfer-Encoding on 1xx and 204; Transfer-Encoding on HTTP/1.0.
ParseResult parse_response_head(std::string_view buffer, const Limits& limits, const ResponseContext& context,
                                ResponseHead& out);

}  // namespace sallyport::http
