#include "firewall/probes/answered_probe.h"

#include <poll.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "core/base/random.h"
#include "core/base/unique_fd.h"
#include "firewall/api/probe_line.h"
#include "firewall/probes/dns_probe.h"
#include "firewall/probes/socket_address.h"

namespace sallyport::firewall {

namespace {

// One probe under way. Each step either waits for the socket or ends with an outcome.
class Conversation {
 public:
  Conversation(Probe probe, const ProbeContext& context)
      : probe_(probe), is_dns_(info_of(probe).kind == ProbeKind::kDns) {
    ProbeCall call{context.nonce, probe};
    said_ = is_dns_ ? dns_query(static_cast<std::uint16_t>(random_u64()), probe_query_name(call)) : probe_line(call);
    begin(context);
  }

  Probe probe() const noexcept { return probe_; }
  const std::optional<ProbeOutcome>& outcome() const noexcept { return outcome_; }
  pollfd waiting_for() const noexcept { return {socket_.get(), static_cast<short>(is_said_ ? POLLIN : POLLOUT), 0}; }

  void on_ready() {
    if (is_said_) return hear();
    int code = 0;
    socklen_t size = sizeof code;
    if (::getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
    if (code != 0) return fail("connect", code);
    say();
  }
  void on_deadline() { fail(is_said_ ? "no answer in time" : "no connection in time", 0); }

 private:
  void begin(const ProbeContext& context) {
    const ProbeInfo& info = info_of(probe_);
    IpAddress to = context.resolver4;
    if (!info.destination.empty()) {
      auto parsed = IpAddress::parse(info.destination);
      if (!parsed) return fail("no destination", 0);
      to = parsed.value();
    }
    socket_.reset(::socket(to.is_v4() ? AF_INET : AF_INET6,
                           (is_dns_ ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) return fail("socket", errno);
    SocketAddress address = socket_address(to, info.port);
    // A connected datagram socket hears only the address it asked: an answer from another source is no answer.
    if (::connect(socket_.get(), address.get(), address.size) == 0) return say();
    if (errno != EINPROGRESS) fail("connect", errno);
  }
  void say() {
    ssize_t sent = ::send(socket_.get(), said_.data(), said_.size(), MSG_NOSIGNAL);
    if (sent != static_cast<ssize_t>(said_.size())) return fail("send", sent < 0 ? errno : 0);
    is_said_ = true;
  }
  void hear() {
    std::array<char, 512> buffer;
    ssize_t got = ::recv(socket_.get(), buffer.data(), buffer.size(), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got < 0) return fail("receive", errno);
    if (got == 0 && !is_dns_) return fail("closed without an answer", 0);
    std::string_view part(buffer.data(), static_cast<std::size_t>(got));
    if (is_dns_) return is_nxdomain_for(said_, part) ? pass() : fail("another answer than the proxy gives", 0);
    heard_ += part;
    if (heard_ == kProbeAnswer) return pass();
    if (!kProbeAnswer.starts_with(heard_)) fail("another answer than the proxy gives", 0);
  }
  void pass() { outcome_ = ProbeOutcome{probe_, ProbeStatus::kAnswered, 0, ""}; }
  void fail(std::string_view step, int code) {
    outcome_ = ProbeOutcome{probe_, ProbeStatus::kFailed, code,
                            std::string(step) + (code == 0 ? "" : std::string(": ") + std::strerror(code))};
  }

  Probe probe_;
  bool is_dns_;
  bool is_said_ = false;
  std::string said_, heard_;
  UniqueFd socket_;
  std::optional<ProbeOutcome> outcome_;
};

// One round of waiting; false when nobody is left to wait for or the deadline has passed.
bool wait_once(std::vector<Conversation>& conversations, Deadline deadline) {
  std::vector<pollfd> entries;
  std::vector<Conversation*> waiting;
  for (Conversation& one : conversations) {
    if (one.outcome()) continue;
    entries.push_back(one.waiting_for());
    waiting.push_back(&one);
  }
  if (waiting.empty()) return false;
  int ready = ::poll(entries.data(), entries.size(), deadline.poll_timeout(Clock::now()));
  if (ready < 0 && errno == EINTR) return true;
  if (ready <= 0) return false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents != 0) waiting[i]->on_ready();
  }
  // A socket that is for ever ready must not outrun the deadline.
  return !deadline.passed(Clock::now());
}

}  // namespace

std::vector<ProbeOutcome> probe_answered(std::span<const Probe> probes, const ProbeContext& context) {
  std::vector<Conversation> conversations;
  conversations.reserve(probes.size());
  for (Probe probe : probes) conversations.emplace_back(probe, context);
  while (wait_once(conversations, context.deadline)) {
  }
  std::vector<ProbeOutcome> outcomes;
  for (Conversation& one : conversations) {
    if (!one.outcome()) one.on_deadline();
    outcomes.push_back(*one.outcome());
  }
  return outcomes;
}

}  // namespace sallyport::firewall
