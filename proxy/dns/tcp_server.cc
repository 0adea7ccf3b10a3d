#include "proxy/dns/task_dns.h"

namespace sallyport::proxy {
namespace {

constexpr auto kTcpIdle = std::chrono::seconds(10);
// Where the connection was not caught on its way to an address.
const net::Endpoint kListener{IpAddress::v4({127, 0, 0, 1}), 53};

}  // namespace

Awaitable<void> serve_dns_tcp(ClientConnection& client, TaskDns& dns) {
  auto& input = client.input();
  std::vector<std::uint8_t> out(dns::kTcpResponseBuffer + 2);
  // One deadline for a message whole, not for each piece of it.
  client.expect_until(Deadline::after(kTcpIdle), Expired::kIdle);
  for (;;) {
    auto bytes = input.view();
    std::size_t length = bytes.size() < 2 ? 0 : (static_cast<std::size_t>(static_cast<unsigned char>(bytes[0])) << 8) | static_cast<unsigned char>(bytes[1]);
    if (bytes.size() < 2 || bytes.size() < length + 2) {
      auto reading = client.read_more();
      auto got = co_await std::move(reading);
      if (!got || got.value() == 0) co_return;
      continue;
    }
    auto* message = reinterpret_cast<const std::uint8_t*>(bytes.data()) + 2;
    auto answered = dns.answer({message, length}, dns::Transport::kTcp, client.destination().value_or(kListener), std::span(out).subspan(2));
    input.consume(length + 2);
    auto reply = answered.bytes;
    if (answered.pending) {
      client.expect_until(Deadline::after(kTcpIdle), Expired::kIdle);
      auto looking_up = dns.look_up(std::move(*answered.pending), dns::Transport::kTcp, std::span(out).subspan(2));
      reply = co_await std::move(looking_up);
    }
    if (reply.empty()) co_return client.abort_both();
    out[0] = static_cast<std::uint8_t>(reply.size() >> 8);
    out[1] = static_cast<std::uint8_t>(reply.size() & 0xff);
    auto writing = client.stream().write_all({reinterpret_cast<const char*>(out.data()), reply.size() + 2});
    auto written = co_await std::move(writing);
    if (!written) co_return;
    client.expect_until(Deadline::after(kTcpIdle), Expired::kIdle);
  }
}

}  // namespace sallyport::proxy
