// ClientConnection: one connection out of a sandbox: its stream, its buffered input, its deadlines.
//
// Enlisted in its task's scope: the end of the task aborts it with a reset. An upstream that is in use for it is aborted with
// it. Lives in the coroutine that serves it.
#pragma once

#include <memory>
#include <optional>

#include "core/async/task_scope.h"
#include "core/net/input_buffer.h"
#include "core/net/socket_stream.h"
#include "proxy/task/task.h"

namespace sallyport::proxy {

// Why a wait was cut short.
enum class Expired : std::uint8_t { kNothing, kHeader, kIdle, kDuration };

class ClientConnection final : public async::Abortable {
 public:
  // Bounds of time that no policy states.
  static constexpr auto kHeaderTime = std::chrono::seconds(30);          // from the first byte of a head to its end
  static constexpr auto kClassificationTime = std::chrono::seconds(10);  // for the first bytes of a caught or tunnelled connection
  static constexpr auto kKeepAliveTime = std::chrono::seconds(75);       // between requests
  static constexpr auto kIdleTime = std::chrono::minutes(10);            // without a byte either way, where the policy has no `idle`

  ClientConnection(Task& task, ClientForm form, std::unique_ptr<net::SocketStream> stream, std::optional<net::Endpoint> destination);
  ~ClientConnection() override;

  Task& task() noexcept { return task_; }
  net::SocketStream& stream() noexcept { return *stream_; }
  net::InputBuffer& input() noexcept { return input_; }
  ClientForm form() const noexcept { return form_; }
  std::uint64_t id() const noexcept { return id_; }
  Clock::time_point opened() const noexcept { return opened_; }
  // Where a caught connection was going.
  const std::optional<net::Endpoint>& destination() const noexcept { return destination_; }
  // The one address that may be dialled for it; none: any that its name has.
  const std::optional<IpAddress>& dial_only() const noexcept { return dial_only_; }
  void set_dial_only(const IpAddress& address) noexcept { dial_only_ = address; }
  std::string destination_text() const { return destination_ ? destination_->text() : std::string(); }

  // Reads more into input(). 0: the client ended its side. kOverloaded when the buffer is full.
  Awaitable<Result<std::size_t>> read_more();

  // What a deadline ends. kUpstream: the upstream side alone, so that the client can still be told; kInput: whoever reads finds the end of
  // the client's input and asks expired(), for the same reason.
  enum class Ends : std::uint8_t { kUpstream, kBoth, kInput };
  // Ends whatever waits at `deadline`; replaces the deadline before it.
  void expect_until(Deadline deadline, Expired meaning, Ends what = Ends::kBoth) noexcept;
  // What was to end the input has come too late: the deadline of expect_until ends both sides.
  void input_complete() noexcept { phase_.ends = Ends::kBoth; }
  // The bound of the connection, once a rule is known; replaces the one before it.
  void end_at(Deadline deadline, Ends what = Ends::kBoth) noexcept;
  // From here on end_at's deadline ends both sides: half an answer cannot be followed by another.
  void end_both() noexcept { life_.ends = Ends::kBoth; }
  Expired expired() const noexcept { return expired_; }

  // The upstream side to abort with this one; null: none. The caller keeps it alive.
  void set_upstream(net::Stream* upstream) noexcept { upstream_ = upstream; }
  void abort(async::CancelReason reason) noexcept override;
  void abort_both() noexcept;

  // Hands the connection over to whoever relays it from here on; nothing can be read or written through this object any more.
  std::unique_ptr<net::SocketStream> take_stream() noexcept { return std::move(stream_); }

 private:
  struct Timer final : async::DeadlineWheel::Entry {
    ClientConnection* owner = nullptr;
    Expired meaning = Expired::kNothing;
    Ends ends = Ends::kBoth;
    void expired() noexcept override;
  };

  Task& task_;
  ClientForm form_;
  std::unique_ptr<net::SocketStream> stream_;
  net::InputBuffer input_{128 * 1024};
  std::optional<net::Endpoint> destination_;
  std::optional<IpAddress> dial_only_;
  std::uint64_t id_;
  Clock::time_point opened_ = Clock::now();
  net::Stream* upstream_ = nullptr;
  Expired expired_ = Expired::kNothing;
  Timer phase_, life_;
};

}  // namespace sallyport::proxy
