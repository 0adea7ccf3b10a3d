#include "core/tls/hello_records.h"

#include <algorithm>

namespace sallyport::tls {
namespace {

constexpr std::uint8_t kHandshakeRecord = 0x16;
constexpr std::uint8_t kClientHelloMessage = 1;
constexpr std::size_t kMaxRecordBody = 1 << 14;
constexpr std::size_t kLeastHello = 2 + 32 + 1 + 2 + 2 + 2;

HelloResult refuse(const char* reason, AlertDescription alert = AlertDescription::kDecodeError) {
  return {HelloState::kRefused, reason, alert};
}

// The first record decides whether this is TLS; a later one of another kind breaks the message off.
HelloResult odd_header(bool first, const char* reason) {
  if (first)
    return {HelloState::kNotTls, "the connection does not begin with a TLS handshake record",
            AlertDescription::kUnexpectedMessage};
  return refuse(reason, AlertDescription::kUnexpectedMessage);
}

// As much of a record header as is there; kDone with its body's size once it is whole.
HelloResult read_header(std::span<const std::uint8_t> bytes, bool first, std::size_t& body) {
  if (bytes.size() >= 1 && bytes[0] != kHandshakeRecord)
    return odd_header(first, "another record stands inside the ClientHello");
  if (bytes.size() >= 2 && bytes[1] != 3) return odd_header(first, "a record has another major version");
  if (bytes.size() >= 3 && (bytes[2] < 1 || bytes[2] > 3))
    return refuse("a record's version is not TLS 1.0 to 1.2", AlertDescription::kProtocolVersion);
  if (bytes.size() < kRecordHeaderBytes) return {};
  body = static_cast<std::size_t>(bytes[3]) << 8 | bytes[4];
  if (body == 0) return refuse("an empty handshake record");
  if (body > kMaxRecordBody) return refuse("a record is longer than 16 KiB");
  return {HelloState::kDone};
}

// Bytes of the handshake header, which itself may be split over records.
struct MessageHeader {
  std::uint8_t bytes[kHandshakeHeaderBytes] = {};
  std::size_t have = 0;

  void take(std::span<const std::uint8_t> fragment) {
    for (std::uint8_t byte : fragment)
      if (have < kHandshakeHeaderBytes)
        bytes[have++] = byte;
      else
        break;
  }
  bool whole() const { return have == kHandshakeHeaderBytes; }
  std::size_t message_bytes() const {
    return kHandshakeHeaderBytes +
           (static_cast<std::size_t>(bytes[1]) << 16 | static_cast<std::size_t>(bytes[2]) << 8 | bytes[3]);
  }
};

HelloResult check_message(const MessageHeader& header) {
  if (header.have >= 1 && header.bytes[0] != kClientHelloMessage)
    return refuse("the first handshake message is not a ClientHello", AlertDescription::kUnexpectedMessage);
  if (header.whole() && header.message_bytes() > kMaxHelloBytes) return refuse("the ClientHello is too large");
  if (header.whole() && header.message_bytes() < kHandshakeHeaderBytes + kLeastHello)
    return refuse("the ClientHello is cut short");
  return {HelloState::kDone};
}

}  // namespace

HelloResult find_hello(std::span<const std::uint8_t> bytes, HelloRecords& out) noexcept {
  MessageHeader header;
  std::size_t at = 0, gathered = 0;
  for (out.count = 1;; ++out.count) {
    if (out.count > kMaxHelloRecords) return refuse("the ClientHello is split over too many records");
    std::size_t body = 0;
    HelloResult result = read_header(bytes.subspan(at), out.count == 1, body);
    if (result.state != HelloState::kDone) return result;
    at += kRecordHeaderBytes;
    if (at + body > kMaxHelloBytes) return refuse("the ClientHello is too large");
    std::span<const std::uint8_t> fragment = bytes.subspan(at, std::min(body, bytes.size() - at));
    header.take(fragment);
    result = check_message(header);
    if (result.state != HelloState::kDone) return result;
    gathered += body;
    if (header.whole() && gathered > header.message_bytes())
      return refuse("bytes stand behind the ClientHello in its record");
    if (fragment.size() < body) return {};
    at += body;
    if (!header.whole() || gathered < header.message_bytes()) continue;
    out.total_bytes = at;
    out.message_bytes = header.message_bytes();
    out.single = out.count == 1 ? fragment : std::span<const std::uint8_t>();
    return {HelloState::kDone};
  }
}

void join_records(std::span<const std::uint8_t> bytes, const HelloRecords& records, std::vector<std::uint8_t>& out) {
  out.clear();
  out.reserve(records.message_bytes);
  for (std::size_t at = 0; at < records.total_bytes;) {
    std::size_t body = static_cast<std::size_t>(bytes[at + 3]) << 8 | bytes[at + 4];
    auto fragment = bytes.subspan(at + kRecordHeaderBytes, body);
    out.insert(out.end(), fragment.begin(), fragment.end());
    at += kRecordHeaderBytes + body;
  }
}

}  // namespace sallyport::tls
