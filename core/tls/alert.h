// Fatal TLS alerts, for refusing a connection in the client's own protocol before any handshake (RFC 8446 section 6).
#pragma once

#include <array>
#include <cstdint>

namespace sallyport::tls {

enum class AlertDescription : std::uint8_t {
  kUnexpectedMessage = 10,
  kHandshakeFailure = 40,
  kIllegalParameter = 47,
  kAccessDenied = 49,
  kDecodeError = 50,
  kProtocolVersion = 70,
  kInternalError = 80,
  kUnrecognizedName = 112,
  kNoApplicationProtocol = 120,
};

// One alert record, level fatal, record version TLS 1.2 as every peer accepts it.
constexpr std::array<std::uint8_t, 7> fatal_alert(AlertDescription description) noexcept {
  return {0x15, 0x03, 0x03, 0x00, 0x02, 0x02, static_cast<std::uint8_t>(description)};
}

}  // namespace sallyport::tls
