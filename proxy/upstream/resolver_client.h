// ResolverClient: asks sallyport-resolver for the addresses of a name. One channel a proxy thread, many questions at once.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/async/deadline_wheel.h"
#include "core/async/event.h"
#include "core/async/task_scope.h"
#include "core/base/host_name.h"
#include "core/base/ip_address.h"
#include "core/ipc/channel.h"

namespace sallyport::proxy {

enum class ResolveStatus { kOk, kNotFound, kNoAddress, kFailed, kTimedOut, kRefusedAddress, kOverloaded, kUnavailable };

// Addresses are as the resolver gave them: the dialler checks each again.
struct Resolved {
  ResolveStatus status = ResolveStatus::kUnavailable;
  std::vector<IpAddress> addresses;
  std::string detail;           // for the operator; escaped
  std::chrono::seconds ttl{0};  // how long it may be used again; 0: for this once
  std::vector<std::vector<std::uint8_t>> records = {};  // canonical RDATA, where records were asked for
};

class ResolverClient {
 public:
  static constexpr std::size_t kMaxInFlight = 1024;
  static constexpr std::size_t kMaxKept = 1024;  // answers within their TTL: each saves the way to the resolver and back

  ResolverClient(Executor executor, async::DeadlineWheel& wheel, ipc::Channel channel);

  // One question to the resolver, never repeated here; or an earlier answer whose TTL is not over. A dead resolver answers
  // kUnavailable at once, except for names that are kept.
  // Ends early with kUnavailable when `scope` closes.
  Awaitable<Resolved> resolve(const HostName& name, async::TaskScope& scope, Deadline deadline);

  // What resolve would answer at once; null: it would have to ask.
  const Resolved* kept(const HostName& name) const;

  // The same for records of another type (dns::has_record_data, by its number). Not kept here.
  Awaitable<Resolved> resolve_records(const HostName& name, std::uint16_t type, async::TaskScope& scope, Deadline deadline);

  // Reads answers until the channel ends; spawn once.
  Awaitable<void> run();
  void stop() noexcept;
  bool alive() const noexcept { return alive_; }

 private:
  struct Waiting final : async::Abortable {
    explicit Waiting(Executor executor) : answered(executor) {}
    void abort(async::CancelReason) noexcept override { answered.notify_all(); }
    async::Event answered;
    bool done = false;
    Resolved result;
  };
  struct Kept {
    Resolved result;
    Clock::time_point until;
  };
  Awaitable<Resolved> ask(const HostName& name, std::uint16_t record_type, async::TaskScope& scope, Deadline deadline);
  void keep(const HostName& name, const Resolved& result);
  void take_answers();
  void lose() noexcept;

  Executor executor_;
  async::DeadlineWheel& wheel_;
  ipc::Channel channel_;
  boost::asio::posix::basic_stream_descriptor<Executor> watch_;
  std::unordered_map<std::uint64_t, Waiting*> waiting_;  // owned by the coroutine that waits
  std::unordered_map<HostName, Kept> kept_;
  std::uint64_t next_id_ = 1;
  bool alive_ = true;
};

}  // namespace sallyport::proxy
