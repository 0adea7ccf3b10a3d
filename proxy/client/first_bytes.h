// What the first bytes of a connection look like, for the sake of an answer in the client's own language. Never decides what is allowed.
#pragma once

#include <cstdint>
#include <string_view>

namespace sallyport::proxy {

enum class Looks : std::uint8_t { kUnknown, kHttp, kTls, kOther };

// kUnknown: too few bytes to say. kHttp: a method in capitals and a space. kTls: a handshake record (RFC 8446 section 5.1).
Looks classify(std::string_view bytes) noexcept;

}  // namespace sallyport::proxy
