// DNS over HTTPS (RFC 8484) inside an otherwise allowed request: a resolver outside the task's own, refused unless a rule names it.
#pragma once

#include <string_view>

#include "core/http/fields.h"

namespace sallyport::proxy {

// True for a request that carries or asks for a DNS message: media type application/dns-message or application/dns-json in
// Content-Type or Accept, or a query key `dns` whose value is a base64url DNS message. `query` is without '?', as sent.
bool is_dns_over_https(const http::Fields& fields, std::string_view query) noexcept;

}  // namespace sallyport::proxy
