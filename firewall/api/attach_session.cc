#include "firewall/api/attach_session.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/base/escape.h"
#include "firewall/api/channel.h"
#include "firewall/api/messages.h"

namespace sallyport::firewall {

namespace {

constexpr auto kSendLimit = std::chrono::seconds(2);  // a frame to a fresh socket pair never waits this long
constexpr std::chrono::milliseconds kProbeLimit{2000};
constexpr std::chrono::milliseconds kAnswerMargin{50};  // between attach's own end of the probes and ours

template <std::size_t N>
void copy_address(const IpAddress& from, std::array<std::uint8_t, N>& to) {
  std::ranges::copy(from.bytes(), to.begin());
}

Result<AttachRequest> request_for(const AttachOptions& options, pid_t pid) {
  if (!options.pool4.base().is_v4() || options.pool6.base().is_v4()) {
    return fail(ErrorKind::kInvalid, "attach: the task's pools must be one IPv4 and one IPv6 range");
  }
  AttachRequest request;
  request.pid = pid;
  copy_address(options.pool4.base(), request.pool4);
  copy_address(options.pool6.base(), request.pool6);
  request.pool4_length = static_cast<std::uint8_t>(options.pool4.length());
  request.pool6_length = static_cast<std::uint8_t>(options.pool6.length());
  return request;
}

// The text up to its NUL; attach has escaped it, and it is escaped for what attach should not be: trusted with
// terminals.
template <std::size_t N>
std::string text_of(const std::array<char, N>& field) {
  std::string_view text(field.data(), ::strnlen(field.data(), N));
  bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  return plain ? std::string(text) : escape_text(text);
}

Result<void> check_head(const MessageHead& head, MessageKind kind) {
  if (head.protocol == kAttachProtocol && head.kind == kind) return success();
  return fail(ErrorKind::kInvalid, "sallyport-attach answers another protocol: is it of the same version?");
}

// A refusal comes without descriptors, so the number to expect is known only after the frame has been seen.
Result<std::size_t> descriptors_to_expect(int socket, Deadline deadline) {
  pollfd entry{socket, POLLIN, 0};
  int ready = 0;
  do ready = ::poll(&entry, 1, deadline.poll_timeout(Clock::now()));
  while (ready < 0 && errno == EINTR);
  if (ready == 0) return fail(ErrorKind::kTimedOut, "sallyport-attach gives no answer in time");
  if (ready < 0) return fail_errno("poll");
  AttachReply reply;
  ssize_t got = ::recv(socket, &reply, sizeof reply, MSG_PEEK | MSG_DONTWAIT);
  return got == static_cast<ssize_t>(sizeof reply) && reply.status == AttachStatus::kOk ? std::size_t{6}
                                                                                        : std::size_t{0};
}

// That attach is right about the namespace, and that each listener is in it.
Result<void> check_place(const AttachReply& reply, const sys::NamespaceId& target,
                         std::span<const UniqueFd> listeners) {
  bool is_right = reply.netns_device == target.device && reply.netns_inode == target.inode;
  for (const UniqueFd& listener : listeners) {
    std::uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    if (::getsockopt(listener.get(), SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0)
      return fail_errno("SO_NETNS_COOKIE");
    is_right = is_right && cookie == reply.netns_cookie;
  }
  if (is_right) return success();
  return fail(ErrorKind::kInvalid, "sallyport-attach answers with listeners of another namespace");
}

Result<ProbeOutcome> outcome_of(const ProbeReport& report) {
  bool known = std::ranges::any_of(
      all_probes(), [&](const ProbeInfo& info) { return static_cast<std::uint8_t>(info.probe) == report.probe; });
  if (!known || report.status < 1 || report.status > static_cast<std::uint8_t>(ProbeStatus::kFailed)) {
    return fail(ErrorKind::kInvalid, "sallyport-attach reports an unknown probe");
  }
  return ProbeOutcome{static_cast<Probe>(report.probe), static_cast<ProbeStatus>(report.status), report.error,
                      text_of(report.detail)};
}

}  // namespace

Result<AttachSession> AttachSession::start(const AttachOptions& options, AttachTarget target) {
  BOOST_OUTCOME_TRY(AttachRequest request, request_for(options, target.pid));
  int pair[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return fail_errno("socketpair");
  UniqueFd ours(pair[0]), theirs(pair[1]);
  sys::SpawnOptions spawn;
  spawn.path = options.program;
  spawn.argv = {"sallyport-attach"};
  spawn.environment = options.environment;
  spawn.descriptors = {{2, 2}, {3, theirs.get()}};
  BOOST_OUTCOME_TRY(sys::ChildProcess child, sys::ChildProcess::start(spawn));
  AttachSession session(std::move(ours), std::move(child), target.netns.id());
  theirs.reset();
  const int netns = target.netns.fd();
  BOOST_OUTCOME_TRY(send_message(session.channel_.get(), request, std::span(&netns, 1), Deadline::after(kSendLimit)));
  return session;
}

Result<ListenerSet> AttachSession::receive_listeners(Deadline deadline) {
  BOOST_OUTCOME_TRY(std::size_t count, descriptors_to_expect(channel_.get(), deadline));
  AttachReply reply;
  auto received = receive_frame(channel_.get(), std::as_writable_bytes(std::span(&reply, 1)), count, deadline);
  if (!received) {
    if (received.error().kind != ErrorKind::kDisconnected) return fail(std::move(received).error());
    return fail(ErrorKind::kDisconnected, "sallyport-attach ended without an answer");
  }
  BOOST_OUTCOME_TRY(check_head(reply.head, MessageKind::kAttachReply));
  if (reply.status == AttachStatus::kRefused)
    return fail(Error{ErrorKind::kDenied, reply.error, text_of(reply.detail)});
  if (reply.status != AttachStatus::kOk)
    return fail(Error{ErrorKind::kUnavailable, reply.error, text_of(reply.detail)});
  std::vector<UniqueFd>& fds = received.value();
  BOOST_OUTCOME_TRY(check_place(reply, target_, fds));
  return ListenerSet{{reply.netns_device, reply.netns_inode, reply.netns_cookie},
                     std::move(fds[0]),
                     std::move(fds[1]),
                     std::move(fds[2]),
                     std::move(fds[3]),
                     std::move(fds[4]),
                     std::move(fds[5])};
}

Result<std::vector<ProbeOutcome>> AttachSession::run_probes(const Nonce& nonce, Deadline deadline) {
  ProbeRequest request;
  request.nonce = nonce.bytes;
  auto left = std::chrono::floor<std::chrono::milliseconds>(deadline.at() - Clock::now());
  if (!deadline.is_never() && left <= kAnswerMargin) return fail(ErrorKind::kTimedOut, "self-test: no time left");
  auto limit = deadline.is_never() ? kProbeLimit : std::min(left - kAnswerMargin, kProbeLimit);
  request.timeout_ms = static_cast<std::uint32_t>(limit.count());
  BOOST_OUTCOME_TRY(send_message(channel_.get(), request, {}, deadline));
  ProbeReply reply;
  BOOST_OUTCOME_TRY(receive_frame(channel_.get(), std::as_writable_bytes(std::span(&reply, 1)), 0, deadline));
  BOOST_OUTCOME_TRY(check_head(reply.head, MessageKind::kProbeReply));
  if (reply.count > reply.reports.size()) return fail(ErrorKind::kInvalid, "sallyport-attach reports too many probes");
  std::vector<ProbeOutcome> outcomes;
  for (const ProbeReport& report : std::span(reply.reports).first(reply.count)) {
    BOOST_OUTCOME_TRY(ProbeOutcome outcome, outcome_of(report));
    outcomes.push_back(std::move(outcome));
  }
  channel_.reset();
  BOOST_OUTCOME_TRY(child_.wait(deadline));
  return outcomes;
}

}  // namespace sallyport::firewall
