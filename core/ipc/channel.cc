#include "core/ipc/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sallyport::ipc {
namespace {

// Room for as many descriptors as a frame may have; the kernel closes what does not fit and says so (MSG_CTRUNC).
struct alignas(cmsghdr) ControlBuffer {
  char bytes[CMSG_SPACE(sizeof(int) * kMaxFrameDescriptors)];
};

bool peer_is_gone(int code) { return code == EPIPE || code == ECONNRESET || code == ENOTCONN || code == ECONNREFUSED; }

Error closed() { return Error::make(ErrorKind::kDisconnected, "channel: the other side has closed"); }

// Takes every descriptor out of a message. False when there is other control data, too.
bool take_descriptors(msghdr& header, std::vector<UniqueFd>& out) {
  bool only_descriptors = true;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control; control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) {
      only_descriptors = false;
      continue;
    }
    std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof(int), sizeof fd);
      out.emplace_back(fd);
    }
  }
  return only_descriptors;
}

}  // namespace

Result<Channel> Channel::adopt(UniqueFd socket) {
  int domain = 0, type = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0) return fail_errno("channel: not a socket");
  size = sizeof type;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) != 0) return fail_errno("channel: not a socket");
  if (domain != AF_UNIX || type != SOCK_SEQPACKET)
    return fail(ErrorKind::kInvalid, "channel: not a Unix SEQPACKET socket");
  sockaddr_un peer{};
  size = sizeof peer;
  if (getpeername(socket.get(), reinterpret_cast<sockaddr*>(&peer), &size) != 0)
    return fail(ErrorKind::kInvalid, "channel: not connected");
  return Channel(std::move(socket));
}

Result<std::pair<Channel, Channel>> Channel::pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return fail_errno("socketpair");
  return std::pair(Channel(UniqueFd(ends[0])), Channel(UniqueFd(ends[1])));
}

Result<void> Channel::try_send(std::span<const std::uint8_t> bytes, std::span<const int> descriptors) {
  if (!socket_) return fail(closed());
  if (bytes.empty() || bytes.size() > kMaxFrameBytes)
    return fail(ErrorKind::kInvalid, "channel: a frame of this size is not sent");
  if (descriptors.size() > kMaxFrameDescriptors)
    return fail(ErrorKind::kInvalid, "channel: too many descriptors for a frame");

  iovec data{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (!descriptors.empty()) {
    header.msg_control = control.bytes;
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = sendmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return success();
  if (peer_is_gone(errno)) return fail(closed());
  if (errno == ETOOMANYREFS) return fail(ErrorKind::kOverloaded, "channel: too many descriptors in flight");
  return fail_errno("channel: sendmsg");
}

Result<Frame> Channel::try_receive(std::size_t max_descriptors) {
  if (!socket_) return fail(closed());
  buffer_.resize(kMaxFrameBytes);
  iovec data{buffer_.data(), buffer_.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof control.bytes;
  ssize_t got = 0;
  do {
    got = recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && peer_is_gone(errno)) return fail(closed());
  if (got < 0) return fail_errno("channel: recvmsg");

  Frame frame;
  bool proper = take_descriptors(header, frame.descriptors);
  if (!proper || (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || frame.descriptors.size() > max_descriptors) {
    close();
    return fail(ErrorKind::kDenied, (header.msg_flags & MSG_TRUNC) != 0 ? "channel: a frame that is too long"
                                    : proper                            ? "channel: unexpected descriptors"
                                                                        : "channel: unexpected control data");
  }
  if (got == 0) {
    close();
    return fail(closed());
  }
  frame.bytes.assign(buffer_.begin(), buffer_.begin() + got);
  return frame;
}

Result<void> Channel::wait(short events, Deadline deadline) {
  for (;;) {
    pollfd ready{socket_.get(), events, 0};
    int count = poll(&ready, 1, deadline.poll_timeout(Clock::now()));
    if (count > 0) return success();
    if (count == 0) return fail(ErrorKind::kTimedOut, "channel: the other side does not answer");
    if (errno != EINTR) return fail_errno("channel: poll");
  }
}

Result<void> Channel::send(std::span<const std::uint8_t> bytes, std::span<const int> descriptors, Deadline deadline) {
  for (;;) {
    auto sent = try_send(bytes, descriptors);
    if (sent || sent.error().kind != ErrorKind::kUnavailable) return sent;
    BOOST_OUTCOME_TRY(wait(POLLOUT, deadline));
  }
}

Result<Frame> Channel::receive(Deadline deadline, std::size_t max_descriptors) {
  for (;;) {
    auto frame = try_receive(max_descriptors);
    if (frame || frame.error().kind != ErrorKind::kUnavailable) return frame;
    BOOST_OUTCOME_TRY(wait(POLLIN, deadline));
  }
}

}  // namespace sallyport::ipc
