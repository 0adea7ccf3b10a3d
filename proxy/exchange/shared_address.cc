#include "proxy/exchange/shared_address.h"

#include <algorithm>

#include "core/http/request_head.h"
#include "core/tls/client_hello.h"

namespace sallyport::proxy {
namespace {

constexpr char kHandshakeRecord = 0x16;

struct Said {
  bool all = false;  // there is no more to wait for
  std::optional<HostName> name;
};

Said said_in_tls(std::string_view bytes) {
  tls::ClientHello hello;
  auto parsed = tls::parse_client_hello({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()}, hello);
  if (parsed.state == tls::HelloState::kIncomplete) return {};
  if (parsed.state != tls::HelloState::kDone) return {true, std::nullopt};
  return {true, hello.sni};
}

Said said_in_http(std::string_view bytes) {
  http::RequestHead head;
  auto parsed = http::parse_request_head(bytes, http::Limits{}, head);
  if (parsed.state == http::ParseState::kIncomplete) return {};
  if (parsed.state != http::ParseState::kDone || !head.authority || head.authority->name() == nullptr) return {true, std::nullopt};
  return {true, *head.authority->name()};
}

}  // namespace

Awaitable<std::optional<HostName>> choose_name(ClientConnection& client, std::span<const HostName> names) {
  client.expect_until(Deadline::after(ClientConnection::kClassificationTime), Expired::kHeader);
  for (;;) {
    auto bytes = client.input().view();
    if (!bytes.empty()) {
      auto said = bytes.front() == kHandshakeRecord ? said_in_tls(bytes) : said_in_http(bytes);
      bool known = said.name && std::ranges::find(names, *said.name) != names.end();
      if (said.all) {
        client.expect_until(Deadline::never(), Expired::kNothing);  // what follows has bounds of its own
        co_return known ? said.name : std::nullopt;
      }
    }
    auto reading = client.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return std::nullopt;
  }
}

}  // namespace sallyport::proxy
