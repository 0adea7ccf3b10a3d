// Relay: a tunnel in progress. Owns both connections, moves bytes both ways until both sides have ended, a limit fires, either side
// breaks or the task ends; then writes the tunnel's record.
//
// Counted are bytes of the upstream connection: those handed to its socket and those taken from it; the record, the budgets and the
// task's totals say the same number. How it ends:
//   both sides end by themselves   each end is passed on (half-close), then both are closed
//   one side resets                the other is reset within kWatch, also while it does not read or that side's stream has ended;
//                                  what was in flight is lost with it
//   a limit                        the client is reset at once; upstream gets all counted bytes and an orderly end, for kDeliveryTime at most
//   the task ends                  both are reset
// Lives on its task's thread, shared by the two coroutines that move its bytes; a coroutine that waits holds no buffer.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "proxy/client/connection.h"
#include "proxy/tunnel/way.h"

namespace sallyport::proxy {

class Relay final : public async::Abortable, private async::DeadlineWheel::Entry {
 public:
  static constexpr auto kWatch = std::chrono::milliseconds(500);
  static constexpr auto kDeliveryTime = std::chrono::seconds(5);

  // Takes both connections over, `client` is of no further use. Runs in the task's scope; without room there both are reset.
  static void start(ClientConnection& client, const policy::ApprovedDestination& destination, std::unique_ptr<UpstreamConnection> upstream);

  Relay(ClientConnection& client, const policy::ApprovedDestination& destination, std::unique_ptr<UpstreamConnection> upstream);
  ~Relay() override;
  void abort(async::CancelReason reason) noexcept override;

 private:
  enum class State : std::uint8_t { kOpen, kCut, kBroken };

  static Awaitable<void> pump(std::shared_ptr<Relay> self, Way& way);
  Awaitable<bool> pause(Way& way, Way::Next next);
  Awaitable<void> finish();
  void break_off() noexcept;
  // Ends it at a limit; `owner`: index of the rule whose limit it is, -1 for the task's.
  void cut(std::string_view limit, policy::ReasonCode reason, int owner) noexcept;
  void cut_at(const Way& way, bool rule_limit) noexcept;
  void expired() noexcept override;
  void watch() noexcept;
  void blocked() noexcept;
  bool unread() const noexcept;
  void record_cut();
  void record();

  Task& task_;
  std::shared_ptr<const policy::CompiledPolicy> policy_;  // the destination borrows from it
  policy::ApprovedDestination destination_;
  std::unique_ptr<net::SocketStream> client_;
  std::unique_ptr<UpstreamConnection> upstream_;
  Clock::time_point opened_, active_;
  std::chrono::seconds idle_;
  Deadline end_;
  std::uint64_t id_;
  std::string_view limit_;  // static text
  int owner_ = -1;
  ClientForm form_;
  policy::ReasonCode reason_ = policy::ReasonCode::kAllowed;
  State state_ = State::kOpen;
  std::uint8_t pumps_ = 2;
  std::uint8_t writers_waiting_ = 0;
  Way up_, down_;
};

}  // namespace sallyport::proxy
