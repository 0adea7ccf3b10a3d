// UpstreamPool: kept-alive upstream connections of one task, by what was approved for them.
//
// Never shared between tasks. A connection is given out only for the same target, port and rule it was dialled for, at most kMaxAge after
// its dial, and only while nothing has arrived on it. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/async/deadline_wheel.h"
#include "core/net/input_buffer.h"
#include "core/net/socket_stream.h"
#include "policies/engine/verdict.h"

namespace sallyport::proxy {

// Counts an open upstream connection against the task's and the rule's concurrent limits for as long as it lives.
class ConnectionSlot {
 public:
  ConnectionSlot() = default;
  ConnectionSlot(std::uint64_t* task, std::uint64_t* rule) noexcept : task_(task), rule_(rule) {
    ++*task_;
    if (rule_) ++*rule_;
  }
  ConnectionSlot(ConnectionSlot&& other) noexcept : task_(std::exchange(other.task_, nullptr)), rule_(std::exchange(other.rule_, nullptr)) {}
  ConnectionSlot& operator=(ConnectionSlot&& other) noexcept {
    std::swap(task_, other.task_);
    std::swap(rule_, other.rule_);
    return *this;
  }
  ~ConnectionSlot() {
    if (task_) --*task_;
    if (rule_) --*rule_;
  }

 private:
  std::uint64_t* task_ = nullptr;
  std::uint64_t* rule_ = nullptr;
};

struct UpstreamConnection {
  std::unique_ptr<net::SocketStream> stream;
  net::Endpoint endpoint;
  std::string address;  // endpoint, as records write it
  Clock::time_point dialled_at{};
  bool reused = false;
  net::InputBuffer input{64 * 1024};
  ConnectionSlot slot;
  // What it was dialled for.
  std::optional<policy::Target> target;
  Port port = Port::of(1);
  std::uint32_t rule = 0;
};

class UpstreamPool {
 public:
  static constexpr std::size_t kMaxIdle = 128;  // of a task
  static constexpr auto kMaxAge = std::chrono::seconds(60);
  static constexpr auto kMaxIdleTime = std::chrono::seconds(15);

  // Null when there is none that fits. `only`: none that was dialled at another address.
  std::unique_ptr<UpstreamConnection> take(const policy::ApprovedDestination& destination, const std::optional<IpAddress>& only = std::nullopt);
  void give_back(std::unique_ptr<UpstreamConnection> connection);
  void drop_stale(Clock::time_point now) noexcept;
  // True if an idle connection could be closed to make room.
  bool drop_one() noexcept;
  void clear() noexcept;
  std::size_t idle() const noexcept { return kept_.size(); }

 private:
  struct Kept {
    std::unique_ptr<UpstreamConnection> connection;
    Clock::time_point since;
  };
  static bool is_fit(const Kept& kept, Clock::time_point now) noexcept;
  std::vector<Kept> kept_;  // at most kMaxIdle: a search is cheaper than a table. The last was used last
  Clock::time_point swept_{};
};

}  // namespace sallyport::proxy
