// CaresQuery: one message to the upstream servers through a c-ares channel of its own.
//
// c-ares does the sockets: retransmission, the next server after a timeout, an error or SERVFAIL/NOTIMP/REFUSED, TCP
// after TC. It is given our own message and hands back the reply's bytes, which it has matched by id and question only.
// A fresh channel for each question means a fresh source port for each, and that nothing of one question outlives it.
#pragma once

#include <ares.h>

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/dns/protocol.h"
#include "resolver/upstream/context.h"

namespace sallyport::resolver {

// One thread, that of the context. Owned by the shared_ptr that start() returns, and for moments by handlers that run;
// destroying it ends the question silently: `done` is then not called.
class CaresQuery : public std::enable_shared_from_this<CaresQuery> {
 public:
  // kTimedOut: no server answered by `deadline` or in all tries; kUnavailable: all refuse or fail; kOverloaded: out of
  // memory.
  using Reply = Result<std::vector<std::uint8_t>>;
  using Done = std::function<void(Reply)>;

  // `done` is called once, from the executor, never from within start().
  static std::shared_ptr<CaresQuery> start(UpstreamContext& context, std::span<const std::uint8_t> message,
                                           dns::Transport transport, Deadline deadline, Done done);
  CaresQuery(const CaresQuery&) = delete;
  CaresQuery& operator=(const CaresQuery&) = delete;
  ~CaresQuery();

 private:
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;
  // A socket of the channel. c-ares owns and closes it; the descriptor only watches.
  struct Watch {
    Watch(Executor executor, std::uint64_t number) : descriptor(executor), serial(number) {}
    ~Watch() {
      if (descriptor.is_open()) (void)descriptor.release();
    }
    Descriptor descriptor;
    std::uint64_t serial;  // tells it from a later socket with the same number
    bool want_read = false, want_write = false;
    bool reading = false, writing = false;
  };

  CaresQuery(UpstreamContext& context, Deadline deadline, Done done);
  Result<void> open(dns::Transport transport);
  void send(std::span<const std::uint8_t> message);
  void on_socket(int fd, bool readable, bool writable);
  void on_answer(int status, int timeouts, std::span<const std::uint8_t> reply);
  void on_ready(int fd, std::uint64_t serial, bool readable);
  void on_time() noexcept;
  void watch(int fd, Watch& watch);
  void process(int readable, int writable);
  void arm_timer() noexcept;
  void finish(Reply reply);

  UpstreamContext& context_;
  Deadline deadline_;
  std::size_t first_server_;  // as this question was asked: both families of a name find out the same, once
  Done done_;
  ares_channel channel_ = nullptr;
  std::unordered_map<int, Watch> watches_;
  std::uint64_t next_serial_ = 0;
  bool finished_ = false;
  async::CallbackEntry timer_;
};

}  // namespace sallyport::resolver
