#include "sandbox-launcher/sandbox/init_channel.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace sallyport::launcher {
namespace {

struct Received {
  InitMessage message;
  pid_t pid = -1;
  UniqueFd passed;
};

// One message with what the kernel attached to it. kDisconnected at the end, kInvalid for another form; descriptors
// beyond one are closed.
Result<Received> receive(int fd, int flags) {
  Received result;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(4 * sizeof(int))] = {};
  iovec part{&result.message, sizeof result.message};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got = 0;
  do {
    got = recvmsg(fd, &header, flags | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return fail_errno("receive from the sandbox's init");
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      memcpy(&sender, CMSG_DATA(c), sizeof sender);
      result.pid = sender.pid;
    }
    if (c->cmsg_type == SCM_RIGHTS)
      for (std::size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
        int one = -1;
        memcpy(&one, CMSG_DATA(c) + i * sizeof(int), sizeof one);
        result.passed = UniqueFd(one);
      }
  }
  if (got == 0) return fail(ErrorKind::kDisconnected, "the sandbox's init is gone");
  if (got != static_cast<ssize_t>(sizeof result.message) || result.message.magic != InitMessage::kMagic ||
      (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
    return fail(ErrorKind::kInvalid, "the sandbox's init sent something else than its messages");
  return result;
}

}  // namespace

Result<InitChannel> InitChannel::make(UniqueFd& inside) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) return fail_errno("socketpair");
  InitChannel channel{UniqueFd(ends[0])};
  inside = UniqueFd(ends[1]);
  int on = 1;
  if (setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) return fail_errno("SO_PASSCRED");
  return channel;
}

Result<InitHello> InitChannel::hello() {
  BOOST_OUTCOME_TRY(auto received, receive(fd_.get(), MSG_DONTWAIT));
  if (received.message.type == InitMessageType::kFailed)
    return fail(Error{ErrorKind::kUnavailable, received.message.value,
                      std::string("the sandbox's init cannot start: ") + strerror(received.message.value)});
  if (received.message.type != InitMessageType::kHello || received.pid <= 0)
    return fail(ErrorKind::kInvalid, "the sandbox's init began with another message");
  return InitHello{received.pid, std::move(received.passed)};
}

Result<void> InitChannel::send(InitMessageType type, int value) {
  InitMessage message;
  message.type = type;
  message.value = value;
  if (::send(fd_.get(), &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(sizeof message))
    return fail_errno("tell the sandbox's init");
  return success();
}

Result<void> InitChannel::start() { return send(InitMessageType::kStart, 0); }
Result<void> InitChannel::signal(int number) { return send(InitMessageType::kSignal, number); }

std::optional<InitMessage> InitChannel::ended() {
  std::optional<InitMessage> last;
  if (!fd_) return last;
  // A task that fills the channel with messages of its own is cut off after a thousand.
  for (int i = 0; i < 1000; ++i) {
    auto received = receive(fd_.get(), MSG_DONTWAIT);
    if (!received && received.error().kind != ErrorKind::kInvalid) break;
    if (!received) continue;
    auto type = received.value().message.type;
    if (type == InitMessageType::kExited || type == InitMessageType::kKilledBySignal ||
        type == InitMessageType::kFailed)
      last = received.value().message;
  }
  return last;
}

}  // namespace sallyport::launcher
