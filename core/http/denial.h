// Denial: the whole answer that tells a client why Sallyport refused, in the client's own protocol.
//
// A telling reason phrase, an RFC 9457 problem document and RFC 9209 Proxy-Status. Text may be hostile (it names what
// was asked for): all of it is escaped and capped here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport::http {

// Everything is borrowed for the call; empty members are left out of the document.
struct Denial {
  // One of 400 403 408 413 414 417 421 429 431 500 501 502 503 504 505; another is answered as 500.
  std::uint16_t status = 403;
  std::string_view reason;        // stable code: "no_rule"
  std::string_view title;         // one short line: "Denied by policy"; also the reason phrase with `reason`
  std::string_view detail;        // one or two sentences: what was asked, why not, what would be needed
  std::string_view rule;          // id of the rule that decided
  std::string_view nearest_rule;  // id of the rule that came closest
  std::string_view category;      // "policy", "limit", "protocol", "upstream"
  std::string_view task;
  std::string_view decision;                 // id under which the audit log has it
  std::string_view proxy_error;              // RFC 9209 error type, say "dns_error"; empty: proxy_status_error(status)
  std::optional<std::uint32_t> retry_after;  // seconds
  bool close = true;                         // state Connection: close (and close)
  bool head_request = false;                 // answer to HEAD: no body, its length still stated
  std::uint8_t client_minor = 1;
};

// The complete response, head and body, at most 16 KiB.
std::string denial_response(const Denial& denial);

// The RFC 9209 error type for a status: "http_request_denied" for 403, "connection_limit_reached" for 429, ...
std::string_view proxy_status_error(std::uint16_t status) noexcept;

}  // namespace sallyport::http
