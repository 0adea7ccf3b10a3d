#include "control/audit/daemon.h"

#include <poll.h>
#include <signal.h>

#include <cerrno>
#include <ctime>
#include <memory>
#include <optional>
#include <vector>

#include "control/audit/pace.h"
#include "control/audit/service.h"
#include "core/ipc/message.h"
#include "core/ipc/request_table.h"
#include "core/ipc/send_queue.h"

namespace sallyport::audit_writer {
namespace {

using audit::api::FromAudit;
using audit::api::ToAudit;
using Wakefulness = audit::RingReader::Wakefulness;

enum class State { kFresh, kRunning };

constexpr auto kRequests = ipc::request_table<State, ToAudit::MessageCase>({
    {State::kFresh, ToAudit::kStart, 1},
    {State::kRunning, ToAudit::kRegisterRing, 3},
    {State::kRunning, ToAudit::kAllowTask},
    {State::kRunning, ToAudit::kEndTask},
    {State::kRunning, ToAudit::kCloseRing},
    {State::kRunning, ToAudit::kAppend},
    {State::kRunning, ToAudit::kFlush},
});

constexpr std::chrono::seconds kStartWithin{30};
constexpr ByteCount kDefaultReserve{16u << 20};
constexpr ByteCount kLeastReserve{1u << 20};
constexpr ByteCount kMostReserve{std::uint64_t{1} << 40};

class Daemon {
 public:
  Daemon(ipc::Channel control, const Confine& confine)
      : control_(std::move(control)), outgoing_(control_), confine_(confine) {}

  Result<void> run() {
    BOOST_OUTCOME_TRY(start());
    while (!ended_) {
      BOOST_OUTCOME_TRY(turn());
    }
    return service_->close(Clock::now());
  }

 private:
  Result<void> start() {
    auto received = ipc::receive_message<ToAudit>(control_, Deadline::after(kStartWithin), 1);
    if (received.has_error()) return fail(std::move(received).error());
    auto& [message, descriptors] = received.value();
    BOOST_OUTCOME_TRY(kRequests.admit(control_, State::kFresh, message.message_case(), descriptors.size()));
    if (descriptors.size() != 1) return fail(ErrorKind::kInvalid, "Start: no log file");
    const audit::api::Start& start = message.start();
    ByteCount reserve{start.reserve_bytes() == 0 ? kDefaultReserve.value : start.reserve_bytes()};
    if (reserve < kLeastReserve || reserve > kMostReserve) return fail(ErrorKind::kInvalid, "Start: reserve of an odd size");
    BOOST_OUTCOME_TRY(auto file, LogFile::adopt(std::move(descriptors[0]), reserve));
    BOOST_OUTCOME_TRY(auto end, read_log_end(file.fd()));
    Settings settings;
    settings.owner = start.owner();
    settings.strict = start.durability() == audit::api::Start::STRICT;
    if (start.task_bytes() != 0) settings.task_bytes = ByteCount{start.task_bytes()};
    audit_log::Anchor last = end.last;
    // Made before confinement: the journal fetches its hash algorithm.
    service_ = std::make_unique<Service>(Journal(std::move(file), last), std::move(end), std::move(settings),
                                         [this](const FromAudit& told) { send(told); });
    BOOST_OUTCOME_TRY(confine_(start));
    return service_->open();
  }

  void send(const FromAudit& message) {
    auto bytes = ipc::serialize(message);
    auto sent = bytes.has_value() ? outgoing_.push(bytes.value()) : Result<void>(fail(std::move(bytes).error()));
    // Gone is the same as ended. Control that does not read any more cannot be told that it must act: the same.
    if (sent.has_error()) ended_ = true;
  }

  // One look at the rings and one wait.
  Result<void> turn() {
    Clock::time_point now = Clock::now();
    BOOST_OUTCOME_TRY(auto taken, service_->drain(now));
    pace_.looked(taken, woken_, now);
    woken_ = false;
    now = Clock::now();
    BOOST_OUTCOME_TRY(service_->tick(now));
    Deadline until = service_->next_timer();
    // A record may come after the look: the writer is told how this side waits, and the look repeated if it came before that.
    bool more = service_->announce(pace_.collecting() ? Wakefulness::kCollecting : Wakefulness::kAsleep);
    if (pace_.collecting() || pace_.deaf()) until = until.earlier(Deadline(pace_.next()));
    if ((more && !pace_.deaf()) || service_->hurried()) until = Deadline(now);
    return wait(until, now);
  }

  Result<void> wait(Deadline until, Clock::time_point now) {
    polled_.clear();
    short events = outgoing_.empty() ? POLLIN : POLLIN | POLLOUT;
    polled_.push_back({control_.fd(), events, 0});
    if (!pace_.deaf()) {
      for (int fd : service_->doorbells()) polled_.push_back({fd, POLLIN, 0});
    }
    timespec left{};
    if (!until.is_never() && !until.passed(now)) {
      auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(until.at() - now).count();
      left.tv_sec = nanoseconds / 1'000'000'000;
      left.tv_nsec = nanoseconds % 1'000'000'000;
    }
    int ready = ::ppoll(polled_.data(), polled_.size(), until.is_never() ? nullptr : &left, nullptr);
    if (ready < 0 && errno != EINTR) return fail_errno("audit: ppoll");
    if (ready <= 0) return success();
    for (std::size_t i = 1; i < polled_.size(); ++i) woken_ |= polled_[i].revents != 0;
    if (woken_) service_->take_doorbells();
    if ((polled_[0].revents & POLLOUT) != 0 && outgoing_.flush().has_error()) ended_ = true;
    if ((polled_[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) return hear();
    return success();
  }

  Result<void> hear() {
    // A bounded number, so that the rings get their turn.
    for (int i = 0; i < 16 && !ended_; ++i) {
      auto received = ipc::try_receive_message<ToAudit>(control_, kRequests.max_descriptors(State::kRunning));
      if (received.has_error()) {
        ErrorKind kind = received.error().kind;
        if (kind == ErrorKind::kUnavailable) return success();
        if (kind != ErrorKind::kDisconnected) return fail(std::move(received).error());
        ended_ = true;
        return success();
      }
      auto& [message, descriptors] = received.value();
      BOOST_OUTCOME_TRY(kRequests.admit(control_, State::kRunning, message.message_case(), descriptors.size()));
      BOOST_OUTCOME_TRY(service_->handle(message, std::move(descriptors), Clock::now()));
    }
    return success();
  }

  ipc::Channel control_;
  ipc::SendQueue outgoing_;
  const Confine& confine_;
  std::unique_ptr<Service> service_;
  Pace pace_;
  bool woken_ = false;
  bool ended_ = false;
  std::vector<pollfd> polled_;
};

}  // namespace

Result<void> run_daemon(ipc::Channel control, const Confine& confine) {
  ::signal(SIGXFSZ, SIG_IGN);  // a limit on the file's size is a full disk, not the end of the process
  return Daemon(std::move(control), confine).run();
}

}  // namespace sallyport::audit_writer
