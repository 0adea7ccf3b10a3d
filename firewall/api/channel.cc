#include "firewall/api/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace sallyport::firewall {

namespace {

Result<void> wait_for(int socket, short events, Deadline deadline) {
  for (;;) {
    pollfd entry{socket, events, 0};
    int ready = ::poll(&entry, 1, deadline.poll_timeout(Clock::now()));
    if (ready > 0) return success();
    if (ready == 0) return fail(ErrorKind::kTimedOut, "attach channel: no answer in time");
    if (errno != EINTR) return fail_errno("attach channel: poll");
  }
}

std::vector<UniqueFd> take_descriptors(msghdr& message) {
  std::vector<UniqueFd> taken;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof fd);
      taken.emplace_back(fd);
    }
  }
  return taken;
}

}  // namespace

Result<void> send_frame(int socket, std::span<const std::byte> frame, std::span<const int> descriptors,
                        Deadline deadline) {
  if (descriptors.size() > kMaxDescriptors) return fail(ErrorKind::kInvalid, "attach channel: too many descriptors");
  iovec part{const_cast<std::byte*>(frame.data()), frame.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(head), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent == static_cast<ssize_t>(frame.size())) return success();
    if (sent >= 0) return fail(ErrorKind::kInternal, "attach channel: short frame");
    if (errno == EINTR) continue;
    if (errno == EPIPE) return fail(ErrorKind::kDisconnected, "attach channel: the other side has ended");
    if (errno != EAGAIN) return fail_errno("attach channel: send");
    BOOST_OUTCOME_TRY(wait_for(socket, POLLOUT, deadline));
  }
}

Result<std::vector<UniqueFd>> receive_frame(int socket, std::span<std::byte> frame, std::size_t descriptors,
                                            Deadline deadline) {
  for (;;) {
    BOOST_OUTCOME_TRY(wait_for(socket, POLLIN, deadline));
    iovec part{frame.data(), frame.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0 && errno == ECONNRESET)
      return fail(ErrorKind::kDisconnected, "attach channel: the other side has ended");
    if (got < 0) return fail_errno("attach channel: receive");
    std::vector<UniqueFd> taken = take_descriptors(message);
    if (got == 0) return fail(ErrorKind::kDisconnected, "attach channel: the other side has ended");
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || static_cast<std::size_t>(got) != frame.size()) {
      return fail(ErrorKind::kInvalid, "attach channel: a frame of another size");
    }
    if (taken.size() != descriptors) return fail(ErrorKind::kInvalid, "attach channel: another number of descriptors");
    return taken;
  }
}

}  // namespace sallyport::firewall
