#include "firewall/inspect/netlink.h"

#include <linux/netlink.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace sallyport::firewall {

namespace {

constexpr std::size_t kBuffer = 32768;  // what the kernel's dumps use at most for one read

// What one received batch came to.
enum class Batch { kMore, kEnd };

Result<Batch> handle(const nlmsghdr& message, std::uint32_t sequence, const Netlink::OnMessage& on_message) {
  if (message.nlmsg_seq != sequence) return Batch::kMore;
  // A dump during which something changed shows neither what was nor what is.
  if ((message.nlmsg_flags & NLM_F_DUMP_INTR) != 0)
    return fail(ErrorKind::kUnavailable, "netlink: the namespace changed while it was read");
  if (message.nlmsg_type == NLMSG_DONE || message.nlmsg_type == NLMSG_ERROR) {
    int code = 0;
    if (mnl_nlmsg_get_payload_len(&message) >= sizeof code)
      std::memcpy(&code, mnl_nlmsg_get_payload(&message), sizeof code);
    if (code < 0) return fail(Error::from_errno("netlink", -code));
    return Batch::kEnd;
  }
  BOOST_OUTCOME_TRY(on_message(message));
  return Batch::kMore;
}

// One datagram of the kernel. Whoever holds CAP_NET_ADMIN in the namespace can send to this socket too: that is passed
// over.
Result<std::size_t> receive_from_kernel(int socket, std::span<char> buffer) {
  for (;;) {
    sockaddr_nl sender{};
    socklen_t size = sizeof sender;
    ssize_t got =
        ::recvfrom(socket, buffer.data(), buffer.size(), MSG_TRUNC, reinterpret_cast<sockaddr*>(&sender), &size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("netlink receive");
    if (size != sizeof sender || sender.nl_pid != 0) continue;
    if (static_cast<std::size_t>(got) > buffer.size())
      return fail(ErrorKind::kInternal, "netlink: an answer longer than the kernel makes them");
    return static_cast<std::size_t>(got);
  }
}

int left_from(const void* at, const void* end) noexcept {
  return static_cast<int>(static_cast<const char*>(end) - static_cast<const char*>(at));
}

}  // namespace

Result<Netlink> Netlink::open(int bus) {
  Netlink netlink(mnl_socket_open2(bus, SOCK_CLOEXEC));
  if (!netlink.socket_) return fail_errno("netlink socket");
  if (mnl_socket_bind(netlink.socket_.get(), 0, MNL_SOCKET_AUTOPID) < 0) return fail_errno("netlink bind");
  // The kernel answers within the call; a limit all the same, for every wait has one.
  timeval limit{2, 0};
  if (::setsockopt(mnl_socket_get_fd(netlink.socket_.get()), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) != 0) {
    return fail_errno("netlink timeout");
  }
  return netlink;
}

Result<void> Netlink::ask(nlmsghdr& request, const OnMessage& on_message) {
  request.nlmsg_seq = ++sequence_;
  request.nlmsg_flags = static_cast<std::uint16_t>(request.nlmsg_flags | NLM_F_REQUEST);
  if (mnl_socket_sendto(socket_.get(), &request, request.nlmsg_len) < 0) return fail_errno("netlink send");
  alignas(nlmsghdr) std::array<char, kBuffer> buffer;
  for (;;) {
    BOOST_OUTCOME_TRY(std::size_t got, receive_from_kernel(mnl_socket_get_fd(socket_.get()), buffer));
    int left = static_cast<int>(got);
    for (auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data()); mnl_nlmsg_ok(message, left);
         message = mnl_nlmsg_next(message, &left)) {
      BOOST_OUTCOME_TRY(Batch batch, handle(*message, sequence_, on_message));
      if (batch == Batch::kEnd) return success();
    }
  }
}

Result<void> Netlink::dump(std::uint16_t type, std::uint8_t family, std::size_t header_size,
                           const OnMessage& on_message) {
  alignas(nlmsghdr) std::array<char, 256> buffer{};
  nlmsghdr* request = mnl_nlmsg_put_header(buffer.data());
  request->nlmsg_type = type;
  request->nlmsg_flags = NLM_F_DUMP;
  auto* header = static_cast<std::uint8_t*>(mnl_nlmsg_put_extra_header(request, header_size));
  header[0] = family;
  return ask(*request, on_message);
}

void each_attribute(const nlmsghdr& message, std::size_t offset,
                    const std::function<void(std::uint16_t, const nlattr&)>& on_attribute) {
  auto* attribute = static_cast<const nlattr*>(mnl_nlmsg_get_payload_offset(&message, offset));
  for (; mnl_attr_ok(attribute, left_from(attribute, mnl_nlmsg_get_payload_tail(&message)));
       attribute = mnl_attr_next(attribute)) {
    on_attribute(mnl_attr_get_type(attribute), *attribute);
  }
}

void each_nested(const nlattr& outer, const std::function<void(std::uint16_t, const nlattr&)>& on_attribute) {
  auto* attribute = static_cast<const nlattr*>(mnl_attr_get_payload(&outer));
  const char* end = static_cast<const char*>(mnl_attr_get_payload(&outer)) + mnl_attr_get_payload_len(&outer);
  for (; mnl_attr_ok(attribute, left_from(attribute, end)); attribute = mnl_attr_next(attribute)) {
    on_attribute(mnl_attr_get_type(attribute), *attribute);
  }
}

std::uint32_t number_of(const nlattr& attribute) noexcept {
  return mnl_attr_get_payload_len(&attribute) == 4 ? mnl_attr_get_u32(&attribute) : 0;
}

}  // namespace sallyport::firewall
