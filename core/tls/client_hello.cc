#include "core/tls/client_hello.h"

#include <algorithm>

#include "core/base/ip_address.h"
#include "core/tls/byte_reader.h"
#include "core/tls/hello_records.h"

namespace sallyport::tls {
namespace {

constexpr std::size_t kMaxExtensions = 128;

enum ExtensionType : std::uint16_t {
  kServerName = 0,
  kAlpn = 16,
  kPreSharedKey = 41,
  kEarlyData = 42,
  kSupportedVersions = 43,
  kEchOuterExtensions = 0xfd00,
  kEncryptedClientHello = 0xfe0d,
  kEncryptedServerName = 0xffce,
};

HelloResult refuse(const char* reason, AlertDescription alert = AlertDescription::kDecodeError) {
  return {HelloState::kRefused, reason, alert};
}

HelloResult fine() { return {HelloState::kDone, "", AlertDescription::kDecodeError}; }

bool refused(const HelloResult& result) { return result.state != HelloState::kDone; }

// RFC 6066 section 3.
HelloResult read_server_name(ByteReader body, ClientHello& out) {
  constexpr auto kName = AlertDescription::kUnrecognizedName;
  ByteReader list, name;
  std::uint8_t type = 0;
  if (!body.sub16(list) || !body.empty()) return refuse("the server_name extension is malformed");
  if (list.empty()) return refuse("the server name list is empty", kName);
  if (!list.u8(type) || type != 0 || !list.sub16(name))
    return refuse("the server name list holds something other than a host name", kName);
  if (!list.empty()) return refuse("more than one server name", kName);
  std::string_view text = name.text();
  if (text.empty()) return refuse("the server name is empty", kName);
  if (text.ends_with('.')) return refuse("the server name ends in a dot", kName);
  if (IpAddress::parse(text)) return refuse("the server name is an address literal", kName);
  auto parsed = HostName::parse(text);
  if (!parsed) return refuse("the server name is not a host name", kName);
  out.sni = std::move(parsed).value();
  return fine();
}

// RFC 7301 section 3.1.
HelloResult read_alpn(ByteReader body, ClientHello& out) {
  ByteReader list, name;
  if (!body.sub16(list) || !body.empty() || list.empty()) return refuse("the ALPN extension is malformed");
  while (!list.empty()) {
    if (!list.sub8(name) || name.empty()) return refuse("the ALPN extension is malformed");
    if (out.protocol_count == ClientHello::kMaxProtocols) return refuse("too many ALPN protocols");
    out.protocols[out.protocol_count++] = name.text();
  }
  out.has_alpn = true;
  return fine();
}

// RFC 8446 section 4.2.1.
HelloResult read_versions(ByteReader body, ClientHello& out) {
  ByteReader list;
  if (!body.sub8(list) || !body.empty() || list.empty()) return refuse("the supported_versions extension is malformed");
  while (!list.empty()) {
    std::uint16_t version = 0;
    if (!list.u16(version)) return refuse("the supported_versions extension is malformed");
    if (out.version_count == ClientHello::kMaxVersions) return refuse("too many supported versions");
    out.versions[out.version_count++] = version;
  }
  return fine();
}

HelloResult read_extension(std::uint16_t type, ByteReader body, ClientHello& out) {
  switch (type) {
    case kServerName:
      return read_server_name(body, out);
    case kAlpn:
      return read_alpn(body, out);
    case kSupportedVersions:
      return read_versions(body, out);
    case kPreSharedKey:
      out.pre_shared_key = true;
      break;
    case kEarlyData:
      out.early_data = true;
      break;
    case kEncryptedClientHello:
      if (out.ech == EchState::kAbsent) out.ech = EchState::kPresent;
      break;
    case kEncryptedServerName:
      out.ech = EchState::kEsni;
      break;
    case kEchOuterExtensions:
      return refuse("an inner-hello extension stands in an outer ClientHello", AlertDescription::kIllegalParameter);
    default:
      break;
  }
  return fine();
}

HelloResult read_extensions(ByteReader list, ClientHello& out) {
  std::array<std::uint16_t, kMaxExtensions> seen;
  std::size_t count = 0;
  while (!list.empty()) {
    std::uint16_t type = 0;
    ByteReader body;
    if (!list.u16(type) || !list.sub16(body)) return refuse("the extensions do not add up");
    if (count == kMaxExtensions) return refuse("too many extensions");
    if (std::find(seen.begin(), seen.begin() + count, type) != seen.begin() + count)
      return refuse("an extension occurs twice", AlertDescription::kIllegalParameter);
    seen[count++] = type;
    // RFC 8446 section 4.2.11: its binders cover all that stands before it.
    if (out.pre_shared_key)
      return refuse("pre_shared_key is not the last extension", AlertDescription::kIllegalParameter);
    HelloResult result = read_extension(type, body, out);
    if (refused(result)) return result;
  }
  return fine();
}

// RFC 8446 section 4.1.2, RFC 5246 section 7.4.1.2; `message` is the body behind the handshake header.
HelloResult read_message(ByteReader message, ClientHello& out) {
  ByteReader random, session, suites, compression, extensions;
  if (!message.u16(out.legacy_version) || !message.sub(32, random) || !message.sub8(session) ||
      !message.sub16(suites) || !message.sub8(compression))
    return refuse("the ClientHello is cut short");
  if (out.legacy_version < 0x0301 || out.legacy_version > 0x0303)
    return refuse("the ClientHello's version is not TLS 1.0 to 1.3", AlertDescription::kProtocolVersion);
  if (session.size() > 32) return refuse("the session id is longer than 32 bytes");
  if (suites.empty() || suites.size() % 2 != 0) return refuse("the cipher suites are malformed");
  if (compression.text().find('\0') == std::string_view::npos)
    return refuse("the ClientHello does not offer the null compression", AlertDescription::kIllegalParameter);
  if (message.empty()) return fine();  // allowed before TLS 1.3: no extensions at all
  if (!message.sub16(extensions) || !message.empty()) return refuse("bytes stand behind the ClientHello's extensions");
  HelloResult result = read_extensions(extensions, out);
  if (refused(result)) return result;
  if (out.newest_version() >= 0x0304 && compression.size() != 1)
    return refuse("a TLS 1.3 ClientHello offers compression", AlertDescription::kIllegalParameter);
  return result;
}

bool is_grease(std::uint16_t value) noexcept { return (value & 0x0f0f) == 0x0a0a && value >> 8 == (value & 0xff); }

}  // namespace

bool ClientHello::offers_protocol(std::string_view name) const noexcept {
  return std::ranges::find(alpn(), name) != alpn().end();
}

std::uint16_t ClientHello::newest_version() const noexcept {
  std::uint16_t newest = version_count == 0 ? legacy_version : std::uint16_t{0};
  for (std::size_t i = 0; i < version_count; ++i)
    if (!is_grease(versions[i])) newest = std::max(newest, versions[i]);
  return newest;
}

HelloResult parse_client_hello(std::span<const std::uint8_t> bytes, ClientHello& out) {
  HelloRecords records;
  HelloResult result = find_hello(bytes, records);
  if (refused(result)) return result;
  out = ClientHello();
  out.record_bytes = records.total_bytes;
  std::span<const std::uint8_t> message = records.single;
  if (records.count > 1) {
    join_records(bytes, records, out.joined);
    message = out.joined;
  }
  return read_message(ByteReader(message.subspan(kHandshakeHeaderBytes)), out);
}

}  // namespace sallyport::tls
