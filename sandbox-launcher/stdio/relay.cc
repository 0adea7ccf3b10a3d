#include "sandbox-launcher/stdio/relay.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "sandbox-launcher/stdio/flow.h"
#include "sandbox-launcher/stdio/stream.h"
#include "sandbox-launcher/stdio/terminal.h"

namespace sallyport::launcher {
namespace {

// How often a terminal's size, and whether we are in its foreground, is looked at.
constexpr int kLookMilliseconds = 200;
// With a last word to a terminal that has ended: what its line discipline takes for end of file.
constexpr char kEndOfInput = 4;

Flow::Source from_fd(int fd) {
  return [fd](char* to, std::size_t size) { return read(fd, to, size); };
}
Flow::Sink to_fd(int fd) {
  return [fd](const char* from, std::size_t size) { return write(fd, from, size); };
}
Flow::Source from_stream(const SharedStream& stream) {
  return [&stream](char* to, std::size_t size) { return stream.read(to, size); };
}
Flow::Sink to_stream(const SharedStream& stream) {
  if (stream.poll_fd() < 0) return {};
  return [&stream](const char* from, std::size_t size) { return stream.write({from, size}); };
}

}  // namespace

class StdioRelay::Impl {
 public:
  Impl(StdioEnds ends, CallerStreams caller, UniqueFd wake)
      : ends_(std::move(ends)),
        in_(SharedStream::reader(caller.input)),
        out_(SharedStream::writer(caller.output)),
        error_(SharedStream::writer(caller.error)),
        caller_(caller),
        wake_(std::move(wake)),
        input_(in_.poll_fd(), from_stream(in_), input_fd(), to_fd(input_fd())),
        output_(output_fd(), from_fd(output_fd()), out_.poll_fd(), to_stream(out_)),
        errors_(ends_.error.get(), from_fd(ends_.error.get()), error_.poll_fd(), to_stream(error_)) {
    // These are ours alone: the task has the other ends.
    for (int fd : {ends_.input.get(), ends_.output.get(), ends_.error.get(), ends_.terminal.get()})
      if (fd >= 0) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    if (in_.poll_fd() < 0) input_.stop_reading();
    if (ends_.terminal) errors_.stop_reading();
  }

  ~Impl() { finish(Deadline::after(std::chrono::seconds(0))); }

  Result<void> start() {
    if (ends_.terminal && isatty(caller_.input) == 1) {
      BOOST_OUTCOME_TRY(auto raw, RawTerminal::enter(caller_.input));
      raw_.emplace(std::move(raw));
    }
    // Before the command can look at it.
    if (ends_.terminal) copy_window_size(caller_.input, ends_.terminal.get(), size_);
    // Signals are for the thread that handles them; a broken pipe is an error here.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { loop(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return success();
  }

  RelayTotals finish(Deadline deadline) {
    if (thread_.joinable()) {
      deadline_ = deadline.is_never() ? Clock::time_point::max() : deadline.at();
      std::uint64_t one = 1;
      finishing_.store(true, std::memory_order_release);
      if (write(wake_.get(), &one, sizeof one) < 0) finishing_ = true;
      thread_.join();
      totals_ = {input_.bytes(), output_.bytes(), errors_.bytes(), cut_short(output_) || cut_short(errors_)};
    }
    raw_.reset();
    ends_ = StdioEnds{};
    return totals_;
  }

 private:
  static bool cut_short(const Flow& flow) { return !flow.over() || flow.pending(); }
  int input_fd() const { return ends_.terminal ? ends_.terminal.get() : ends_.input.get(); }
  int output_fd() const { return ends_.terminal ? ends_.terminal.get() : ends_.output.get(); }

  void loop() {
    for (;;) {
      bool finishing = finishing_.load(std::memory_order_acquire);
      if (finishing && output_.over() && errors_.over()) return;
      Deadline deadline = finishing ? Deadline(deadline_) : Deadline::never();
      if (deadline.passed(Clock::now())) return;
      if (ends_.terminal) copy_window_size(caller_.input, ends_.terminal.get(), size_);
      close_what_is_over();
      once(finishing, deadline);
    }
  }

  void once(bool finishing, Deadline deadline) {
    pollfd polled[5] = {finishing ? pollfd{-1, 0, 0} : input_.wants(),
                        output_.wants(),
                        errors_.wants(),
                        {finishing ? -1 : wake_.get(), POLLIN, 0},
                        watched_sink()};
    bool held_back = polled[0].fd >= 0 && !input_.pending() && !in_.may_read();
    if (held_back) polled[0].fd = -1;
    int timeout = deadline.poll_timeout(Clock::now());
    if ((held_back || ends_.terminal) && (timeout < 0 || timeout > kLookMilliseconds)) timeout = kLookMilliseconds;
    if (poll(polled, 5, timeout) <= 0) return;
    if (!finishing) input_.on_ready(polled[0].revents);
    output_.on_ready(polled[1].revents);
    errors_.on_ready(polled[2].revents);
    if ((polled[4].revents & (POLLERR | POLLHUP)) != 0) input_.stop_reading();
  }

  // While the caller is silent: whether the task has closed its standard input, so that the caller's writer learns of
  // it.
  pollfd watched_sink() const {
    bool idle = ends_.input && input_.source_open() && !input_.pending();
    return {idle ? ends_.input.get() : -1, 0, 0};
  }

  void close_what_is_over() {
    if (input_.over() && !input_closed_) {
      input_closed_ = true;
      ends_.input.reset();
      if (ends_.terminal && write(ends_.terminal.get(), &kEndOfInput, 1) < 0) input_.stop_reading();
    }
    // A caller that reads no more: the task learns it by a broken pipe.
    if (!output_.sink_open() && ends_.output) ends_.output.reset();
    if (!errors_.sink_open() && ends_.error) ends_.error.reset();
  }

  StdioEnds ends_;
  SharedStream in_, out_, error_;
  CallerStreams caller_;
  UniqueFd wake_;
  Flow input_, output_, errors_;
  winsize size_{};
  bool input_closed_ = false;
  std::optional<RawTerminal> raw_;
  std::atomic<bool> finishing_{false};
  Clock::time_point deadline_{};  // written before finishing_
  RelayTotals totals_;
  std::thread thread_;
};

StdioRelay::StdioRelay(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StdioRelay::~StdioRelay() = default;

Result<std::unique_ptr<StdioRelay>> StdioRelay::start(StdioEnds ends, CallerStreams caller) {
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return fail_errno("eventfd");
  auto impl = std::make_unique<Impl>(std::move(ends), caller, std::move(wake));
  BOOST_OUTCOME_TRY(impl->start());
  return std::unique_ptr<StdioRelay>(new StdioRelay(std::move(impl)));
}

RelayTotals StdioRelay::finish(Deadline deadline) { return impl_->finish(deadline); }

}  // namespace sallyport::launcher
