#include "firewall/testing/fake_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "firewall/api/probe_line.h"

namespace sallyport::firewall {

namespace {

ProbeRecord record_of(const ProbeCall& call, const sockaddr_storage& at) {
  ProbeRecord record;
  record.nonce = call.nonce;
  record.probe = call.probe;
  if (at.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    std::array<std::uint8_t, 4> bytes;
    std::memcpy(bytes.data(), &v4.sin_addr, 4);
    record.destination = IpAddress::v4(bytes);
    record.port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
    std::array<std::uint8_t, 16> bytes;
    std::memcpy(bytes.data(), &v6.sin6_addr, 16);
    record.destination = IpAddress::v6(bytes);
    record.port = ntohs(v6.sin6_port);
  }
  return record;
}

std::string name_in(const std::string& query) {
  std::string name;
  for (std::size_t at = 12; at < query.size() && query[at] != 0;) {
    auto length = static_cast<std::size_t>(static_cast<unsigned char>(query[at]));
    if (!name.empty()) name += '.';
    name += query.substr(at + 1, length);
    at += length + 1;
  }
  return name;
}

// The destination of a received datagram, and the same as a source for the answer.
std::optional<sockaddr_storage> destination_of(msghdr& message) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control; control = CMSG_NXTHDR(&message, control)) {
    sockaddr_storage at{};
    if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
      auto* info = reinterpret_cast<in_pktinfo*>(CMSG_DATA(control));
      info->ipi_spec_dst = info->ipi_addr;
      auto& v4 = reinterpret_cast<sockaddr_in&>(at);
      v4.sin_family = AF_INET;
      v4.sin_addr = info->ipi_addr;
      v4.sin_port = htons(53);
      return at;
    }
    if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
      auto& v6 = reinterpret_cast<sockaddr_in6&>(at);
      v6.sin6_family = AF_INET6;
      v6.sin6_addr = reinterpret_cast<in6_pktinfo*>(CMSG_DATA(control))->ipi6_addr;
      v6.sin6_port = htons(53);
      return at;
    }
  }
  return std::nullopt;
}

}  // namespace

FakeProxy::FakeProxy(const ListenerSet& set)
    : streams_{set.proxy4.get(), set.proxy6.get(), set.caught4.get(), set.caught6.get()},
      datagrams_{set.dns4.get(), set.dns6.get()},
      stop_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { serve(); }) {}

FakeProxy::~FakeProxy() {
  std::uint64_t one = 1;
  if (::write(stop_.get(), &one, sizeof one) == sizeof one) thread_.join();
}

std::vector<ProbeRecord> FakeProxy::records() const {
  std::lock_guard lock(mutex_);
  return records_;
}

void FakeProxy::serve() {
  for (;;) {
    std::vector<pollfd> entries{{stop_.get(), POLLIN, 0}};
    for (int fd : streams_) entries.push_back({fd, POLLIN, 0});
    for (int fd : datagrams_) entries.push_back({fd, POLLIN, 0});
    if (::poll(entries.data(), entries.size(), -1) < 0 || entries[0].revents != 0) return;
    for (std::size_t i = 1; i < entries.size(); ++i) {
      if (entries[i].revents == 0) continue;
      i <= streams_.size() ? accept_from(entries[i].fd) : answer_query(entries[i].fd);
    }
  }
}

void FakeProxy::accept_from(int listener) {
  UniqueFd accepted(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!accepted) return;
  timeval limit{1, 0};
  ::setsockopt(accepted.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::array<char, kMaxProbeLine> buffer;
  ssize_t got = ::recv(accepted.get(), buffer.data(), buffer.size(), 0);
  if (got <= 0) return;
  auto call = parse_probe_line({buffer.data(), static_cast<std::size_t>(got)});
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (!call || ::getsockname(accepted.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0) return;
  {
    std::lock_guard lock(mutex_);
    records_.push_back(record_of(call.value(), at));
  }
  (void)::send(accepted.get(), kProbeAnswer.data(), kProbeAnswer.size(), MSG_NOSIGNAL);
}

void FakeProxy::answer_query(int socket) {
  std::string query(512, '\0');
  sockaddr_storage from{};
  alignas(cmsghdr) std::array<char, 128> control{};
  iovec part{query.data(), query.size()};
  msghdr message{};
  message.msg_name = &from;
  message.msg_namelen = sizeof from;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT);
  if (got <= 12) return;
  query.resize(static_cast<std::size_t>(got));
  auto at = destination_of(message);
  auto call = parse_probe_query_name(name_in(query));
  if (!at || !call) return;
  {
    std::lock_guard lock(mutex_);
    records_.push_back(record_of(call.value(), *at));
  }
  query[2] = static_cast<char>(0x81);  // response, recursion desired
  query[3] = 3;                        // NXDOMAIN
  part = {query.data(), query.size()};
  message.msg_flags = 0;
  (void)::sendmsg(socket, &message, MSG_DONTWAIT);  // the control message that came names the answer's source
}

}  // namespace sallyport::firewall
