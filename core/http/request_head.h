// The head of an HTTP/1.x request, parsed strictly (RFC 9112, RFC 9110). Input is hostile.
//
// Everything that decides where a message ends and whom it is for is decided here, once: the caller and the writer read
// the decision and never look at the fields again for it. What two HTTP implementations might read differently is
// refused: bare CR or LF, other control bytes, folding, space before a colon, doubled or odd Content-Length, any
// Transfer-Encoding but one `chunked` on HTTP/1.1, missing, doubled, empty or contradicting Host, odd versions, odd
// targets.
#pragma once

#include <optional>
#include <string_view>

#include "core/http/authority.h"
#include "core/http/fields.h"
#include "core/http/head_cursor.h"
#include "core/http/limits.h"

namespace sallyport::http {

enum class TargetForm : std::uint8_t {
  kOrigin,     // /path?query
  kAbsolute,   // http://authority/path?query
  kAuthority,  // host:port, CONNECT and only CONNECT
  kAsterisk,   // *, OPTIONS only (also OPTIONS http://authority without path, RFC 9112 section 3.2.4)
};

// Filled by parse_request_head; meaningful after kDone only. Views point into the parsed buffer (or to static text) and
// are valid while it is neither moved nor written. 2.3 KiB; keep one per exchange, reuse it for the next (keeps the
// authority's memory). Not thread-safe.
struct RequestHead {
  std::string_view method;  // a token, case kept: methods are case-sensitive
  TargetForm form = TargetForm::kOrigin;
  std::string_view target;  // as on the wire
  // kOrigin, kAbsolute: begins with '/', raw (percent-encoding valid but not decoded, dot segments kept). kAsterisk:
  // "*". kAuthority: empty.
  std::string_view path;
  std::string_view query;  // behind '?', without it
  bool has_query = false;  // "/a?" has an empty query

  // Whom the request is for; set after every kDone. kAuthority: the target, port always set. kAbsolute: the target's,
  // and a Host field, if any, names the same (port 80 where absent). Else the Host field. `port()` is as written.
  std::optional<Authority> authority;

  std::uint8_t minor = 1;        // HTTP/1.minor, 0 or 1
  Fields fields;                 // all, in order; the writer drops what must not pass
  Framing body;                  // kNone, kLength or kChunked
  bool keep_alive = false;       // the client lets the connection live on
  bool expect_continue = false;  // waits for 100 before it sends its body

  bool is_connect() const noexcept { return form == TargetForm::kAuthority; }

  HeadCursor cursor;  // the parser's own
};

// Parses the head that begins at buffer[0]. On kIncomplete call again with the same `out` and a longer buffer: what was
// parsed is kept as long as the buffer did not move, else it is parsed anew; the outcome depends on the bytes alone,
// never on how they arrived. The bytes already seen must not have changed. To give up on an incomplete head and reuse
// `out`, call out.cursor.reset().
//
// Refusals: 400 malformed or ambiguous; 414 target too long; 417 unknown expectation; 421 absolute-form target and Host
// differ (400 for CONNECT); 431 head or field count too large; 501 method, scheme or coding that is never served (TRACE
// and TRACK among them); 505 not HTTP/1.0 or 1.1. Never throws; allocates only for a host name it has not just parsed.
ParseResult parse_request_head(std::string_view buffer, const Limits& limits, RequestHead& out);

}  // namespace sallyport::http
