// Recorder: the proxy thread's end of its audit ring, for coroutines.
//
// Appending never waits. A response's last byte waits in accepted() until the audit process has taken and written its record:
// an audit process that is dead, stopped or out of disk stops traffic.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "core/async/deadline_wheel.h"
#include "core/async/event.h"
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
  audit::AuditRing ring_;
  boost::asio::posix::basic_stream_descriptor<Executor> ack_;
  async::Event acknowledged_;
  bool stopped_ = false;
};

}  // namespace sallyport::proxy
