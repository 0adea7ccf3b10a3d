#include "core/tls/client_hello.h"

#include "proxy/tunnel/tunnel.h"

namespace sallyport::proxy {
namespace {

using policy::ReasonCode;

struct HelloFault {
  ReasonCode reason = ReasonCode::kAllowed;
  tls::AlertDescription alert = tls::AlertDescription::kAccessDenied;
};

// A name must be presented and be the approved one. An address literal has no name to present (RFC 6066 section 3).
HelloFault fault_of(const tls::ClientHello& hello, const policy::ApprovedDestination& destination) {
  // GREASE cannot be told from the real thing, so both are refused unless the rule lets the name inside go unseen. The outer name is
  // checked all the same. ESNI, the abandoned draft, has no outer name, and nothing says it for show.
  bool hides = hello.ech == tls::EchState::kEsni || (hello.ech == tls::EchState::kPresent && destination.rule().ech != policy::Ech::kAllow);
  if (hides) return {ReasonCode::kEchRefused, tls::AlertDescription::kAccessDenied};
  const HostName* name = destination.target().host();
  if (name == nullptr) {
    if (hello.sni) return {ReasonCode::kSniMismatch, tls::AlertDescription::kUnrecognizedName};
    return {};
  }
  if (!hello.sni) return {ReasonCode::kNoSni, tls::AlertDescription::kUnrecognizedName};
  if (*hello.sni != *name) return {ReasonCode::kSniMismatch, tls::AlertDescription::kUnrecognizedName};
  return {};
}

Decision tls_decision(const ClientConnection& client, const policy::ApprovedDestination& destination, ReasonCode reason) {
  Decision d;
  d.layer = Layer::kTls;
  d.form = client.form();
  d.connection = client.id();
  d.reason = reason;
  d.rule = destination.rule();
  d.target = &destination.target();
  d.port = destination.port().value();
  return d;
}

}  // namespace

Awaitable<bool> check_client_hello(ClientConnection& client, const policy::ApprovedDestination& destination) {
  client.expect_until(Deadline::after(ClientConnection::kClassificationTime), Expired::kHeader);
  tls::ClientHello hello;
  for (;;) {
    auto bytes = client.input().view();
    auto parsed = tls::parse_client_hello({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, hello);
    if (parsed.state == tls::HelloState::kDone) break;
    if (parsed.state == tls::HelloState::kNotTls) {
      refuse_by_reset(client, tls_decision(client, destination, ReasonCode::kNotTls));
      co_return false;
    }
    if (parsed.state == tls::HelloState::kRefused) {
      auto d = tls_decision(client, destination, ReasonCode::kMalformed);
      d.detail = parsed.reason;
      auto refusing = refuse_tls(client, d, parsed.alert);
      co_await std::move(refusing);
      co_return false;
    }
    auto reading = client.read_more();
    auto got = co_await std::move(reading);
    if (got && got.value() > 0) continue;
    auto reason = client.expired() == Expired::kHeader ? ReasonCode::kClassificationTimeout : ReasonCode::kNotTls;
    refuse_by_reset(client, tls_decision(client, destination, reason));
    co_return false;
  }
  auto fault = fault_of(hello, destination);
  if (fault.reason == ReasonCode::kAllowed) {
    client.expect_until(Deadline::never(), Expired::kNothing);  // what follows has bounds of its own
    co_return true;
  }
  auto d = tls_decision(client, destination, fault.reason);
  if (hello.sni) d.sni = hello.sni->text();
  if (hello.ech == tls::EchState::kEsni) d.detail = "encrypted_server_name, the draft before ECH, is not let through by any rule";
  auto refusing = refuse_tls(client, d, fault.alert);
  co_await std::move(refusing);
  co_return false;
}

}  // namespace sallyport::proxy
