// Recorder: the proxy thread's end of its audit ring, for coroutines.
//
// Appending never waits. A response's last byte waits in accepted() until the audit process has taken and written its record:
// an audit process that is dead, stopped or out of disk stops traffic.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <deque>

#include "core/async/awaitable.h"
#include "core/audit/ring.h"

namespace sallyport::proxy {

class Recorder {
 public:
  // `ring` is this thread's.
  Recorder(Executor executor, audit::AuditRing ring);

  // kOverloaded: the ring is full and what was to be recorded must not happen.
  Result<audit::Sequence> append(const audit::RecordBuilder& record) noexcept { return ring_.append(record.record()); }

  // Waits until the record is on file. kUnavailable once the recorder is stopped or audit refused the ring.
  Awaitable<Result<void>> accepted(audit::Sequence sequence);

  // Watches for acknowledgements until stop(); spawn once.
  Awaitable<void> run();
  void stop() noexcept;

 private:
  using Token = boost::asio::use_awaitable_t<Executor>;
  using Handler = boost::asio::async_result<Token, void()>::handler_type;
  struct Waiter {
    audit::Sequence target;
    Handler handler;
  };
  // Completes when `target` is on file, or when there is nothing more to wait for.
  Awaitable<void> wait_for(audit::Sequence target);
  void resume_served();
  void resume_all();

  Executor executor_;
  audit::AuditRing ring_;
  boost::asio::posix::basic_stream_descriptor<Executor> ack_;
  // In the order of their records, which is the order in which these get on file: one signal, for the first, is asked for at a time.
  std::deque<Waiter> waiters_;
  bool stopped_ = false;
};

}  // namespace sallyport::proxy
