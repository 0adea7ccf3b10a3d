// Relay: moves the bytes of a tunnel, both directions at once, each exactly as far as its allowance reaches.
#pragma once

#include <optional>

#include "proxy/client/connection.h"

namespace sallyport::proxy {

struct RelayTotals {
  std::uint64_t up = 0;
  std::uint64_t down = 0;
  // The limit that ended it, if one did.
  std::optional<Resource> limit;
  bool rule_limit = false;
  bool orderly = false;  // both sides ended by themselves
};

// One relay, run once. Bytes are counted when they have been read from one side under an allowance already taken, so the other side never
// gets a byte too many. Half-close is passed on; an error on either side resets both. No buffer is held while nothing arrives.
class Relay {
 public:
  static constexpr std::size_t kBuffer = 64 * 1024;

  // Borrows all; they outlive run().
  Relay(ClientConnection& client, UpstreamConnection& upstream, LimitSet limits, std::optional<std::chrono::seconds> idle);

  Awaitable<RelayTotals> run();

 private:
  Awaitable<void> pump_up();
  Awaitable<void> pump_down();
  Awaitable<void> pump_down_then_tell();
  // Moves what `from` sends; false once the direction is finished for good.
  Awaitable<bool> move_some(net::SocketStream& from, net::SocketStream& to, Resource resource, std::uint64_t& counted);
  Awaitable<bool> pass_end(net::SocketStream& from, net::SocketStream& to, Resource resource, std::uint64_t& counted);
  Awaitable<bool> send_buffered_input();
  void touch() noexcept;
  void stop_at(Resource resource, bool rule_limit) noexcept;

  ClientConnection& client_;
  UpstreamConnection& upstream_;
  LimitSet limits_;
  std::chrono::seconds idle_;
  Clock::time_point touched_{};
  RelayTotals totals_;
  bool up_done_ = false, down_done_ = false, failed_ = false;
  async::Event ended_;
};

}  // namespace sallyport::proxy
