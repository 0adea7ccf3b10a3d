// ClientHello: what a TLS client says before encryption, read without taking part (RFC 8446 section 4.1.2, RFC 6066).
//
// Input is hostile: the first bytes of a connection that a policy may open as a tunnel. The whole ClientHello is parsed
// before anything is said about it, and what servers might read differently is refused: doubled extensions, several or
// odd server names, lengths that do not add up, bytes behind the message in its record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/host_name.h"
#include "core/tls/alert.h"

namespace sallyport::tls {

// How the client hides the name it means, if it does. Browsers send a GREASE extension that is indistinguishable from a
// real one (RFC 9849 section 6.2), so kPresent alone proves nothing: a policy must decide.
enum class EchState : std::uint8_t {
  kAbsent,
  kPresent,  // encrypted_client_hello (0xfe0d), real or GREASE
  kEsni,     // its drafts' predecessor encrypted_server_name (0xffce), never GREASE
};

// A parsed ClientHello. Views point into the parsed bytes, or into `joined` when the message was split over records;
// both must outlive them. Move-only.
struct ClientHello {
  static constexpr std::size_t kMaxProtocols = 32;
  static constexpr std::size_t kMaxVersions = 32;

  ClientHello() = default;
  ClientHello(ClientHello&&) = default;
  ClientHello& operator=(ClientHello&&) = default;

  std::optional<HostName> sni;                            // nullopt: no server_name extension
  std::array<std::string_view, kMaxProtocols> protocols;  // ALPN, in order, the first protocol_count are set
  std::size_t protocol_count = 0;
  bool has_alpn = false;
  std::uint16_t legacy_version = 0;                    // 0x0301 to 0x0303
  std::array<std::uint16_t, kMaxVersions> versions{};  // supported_versions, in order
  std::size_t version_count = 0;
  EchState ech = EchState::kAbsent;
  bool early_data = false;       // 0-RTT bytes will follow
  bool pre_shared_key = false;   // tries to resume
  std::size_t record_bytes = 0;  // bytes of the records that held the message; what follows is not part of it

  std::span<const std::string_view> alpn() const noexcept { return {protocols.data(), protocol_count}; }
  bool offers_protocol(std::string_view name) const noexcept;
  // The newest version offered: 0x0304 for TLS 1.3. GREASE values do not count.
  std::uint16_t newest_version() const noexcept;

  std::vector<std::uint8_t> joined;  // the parser's own
};

enum class HelloState : std::uint8_t {
  kIncomplete,  // right so far; read more, or give up at a deadline
  kDone,
  kNotTls,   // does not begin with a TLS handshake record: another protocol
  kRefused,  // TLS, but malformed or ambiguous: send `alert` and close
};

struct HelloResult {
  HelloState state = HelloState::kIncomplete;
  const char* reason = "";                                  // kNotTls and kRefused: one line of static ASCII
  AlertDescription alert = AlertDescription::kDecodeError;  // kRefused
};

// Bounds: the message and the records that carry it.
inline constexpr std::size_t kMaxHelloBytes = 64 * 1024;  // records included; more is refused
inline constexpr std::size_t kMaxHelloRecords = 64;

// Parses `bytes`, the very first of a connection. On kIncomplete call again with all bytes so far and more; the outcome
// depends on the bytes alone. Cheap to call again: until the message is complete only record headers are looked at. A
// server name must be a host name as core/base reads it, without trailing dot; address literals, several names, an
// empty list and other name types are refused. Allocates only for a message split over records and for the name.
HelloResult parse_client_hello(std::span<const std::uint8_t> bytes, ClientHello& out);

}  // namespace sallyport::tls
