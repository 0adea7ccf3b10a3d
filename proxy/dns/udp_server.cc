#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "proxy/dns/task_dns.h"

namespace sallyport::proxy {
namespace {

constexpr std::size_t kBatch = 32;
constexpr std::size_t kQueryBytes = 2048;  // longer datagrams are cut and then malformed
constexpr std::size_t kControlBytes = 64;

using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;

// The address a datagram was sent to; nullopt without packet information.
std::optional<IpAddress> destination_of(msghdr& header) {
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      std::array<std::uint8_t, 4> octets{};
      std::memcpy(octets.data(), &info.ipi_addr, octets.size());
      return IpAddress::v4(octets);
    }
    if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(c), sizeof info);
      std::array<std::uint8_t, 16> octets{};
      std::memcpy(octets.data(), &info.ipi6_addr, octets.size());
      return IpAddress::v6(octets);
    }
  }
  return std::nullopt;
}

// Packet information for a reply that leaves from `source`. Returns the control length.
std::size_t put_source(msghdr& header, const IpAddress& source) {
  cmsghdr* c = CMSG_FIRSTHDR(&header);
  if (source.is_v4()) {
    in_pktinfo info{};
    std::memcpy(&info.ipi_spec_dst, source.bytes().data(), 4);
    c->cmsg_level = IPPROTO_IP;
    c->cmsg_type = IP_PKTINFO;
    c->cmsg_len = CMSG_LEN(sizeof info);
    std::memcpy(CMSG_DATA(c), &info, sizeof info);
    return CMSG_SPACE(sizeof info);
  }
  in6_pktinfo info{};
  std::memcpy(&info.ipi6_addr, source.bytes().data(), 16);
  c->cmsg_level = IPPROTO_IPV6;
  c->cmsg_type = IPV6_PKTINFO;
  c->cmsg_len = CMSG_LEN(sizeof info);
  std::memcpy(CMSG_DATA(c), &info, sizeof info);
  return CMSG_SPACE(sizeof info);
}

}  // namespace

// Whom a late answer is for.
struct UdpDnsServer::Asker {
  sockaddr_storage peer;
  socklen_t length;
  IpAddress asked_at;
};

struct UdpBatch {
  struct Slot {
    sockaddr_storage peer;
    alignas(cmsghdr) std::array<char, kControlBytes> control;
    std::array<std::uint8_t, kQueryBytes> query;
    std::array<std::uint8_t, dns::kResponseBuffer> reply;
    iovec in, out;
  };
  std::array<Slot, kBatch> slots;
  std::array<mmsghdr, kBatch> received, replies;

  void prepare() noexcept {
    for (std::size_t i = 0; i < kBatch; ++i) {
      Slot& slot = slots[i];
      slot.in = {slot.query.data(), slot.query.size()};
      received[i].msg_hdr = {&slot.peer, sizeof slot.peer, &slot.in, 1, slot.control.data(), slot.control.size(), 0};
    }
  }
};

UdpDnsServer::UdpDnsServer(Task& task, TaskDns& dns, UniqueFd socket)
    : task_(task), dns_(dns), socket_(task.services().executor, socket.release()), batch_(std::make_unique<UdpBatch>()) {
  task.scope().enlist(*this);
}

UdpDnsServer::~UdpDnsServer() = default;

void UdpDnsServer::abort(async::CancelReason) noexcept {
  boost::system::error_code ignored;
  socket_.close(ignored);
}

// False: nothing more to read now.
bool UdpDnsServer::serve_batch() {
  UdpBatch& b = *batch_;
  b.prepare();
  int count = ::recvmmsg(socket_.native_handle(), b.received.data(), kBatch, MSG_DONTWAIT, nullptr);
  if (count <= 0) return false;
  unsigned replies = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    auto& slot = b.slots[i];
    auto& header = b.received[i].msg_hdr;
    auto to = destination_of(header);
    if (!to || (header.msg_flags & MSG_TRUNC) != 0) continue;
    auto answered = dns_.answer({slot.query.data(), b.received[i].msg_len}, dns::Transport::kUdp, {*to, 53}, slot.reply);
    if (answered.pending) {
      // Without room for its coroutine it is lost like any datagram.
      (void)task_.scope().spawn(answer_late({slot.peer, header.msg_namelen, *to}, std::move(*answered.pending)));
      continue;
    }
    auto reply = answered.bytes;
    if (reply.empty()) continue;
    slot.out = {slot.reply.data(), reply.size()};
    auto& out = b.replies[replies++].msg_hdr;
    out = {&slot.peer, header.msg_namelen, &slot.out, 1, slot.control.data(), slot.control.size(), 0};
    out.msg_controllen = put_source(out, *to);
  }
  // A reply that cannot be sent is lost like any datagram; the client asks again.
  if (replies > 0) (void)::sendmmsg(socket_.native_handle(), b.replies.data(), replies, MSG_DONTWAIT | MSG_NOSIGNAL);
  return static_cast<std::size_t>(count) == kBatch;
}

Awaitable<void> UdpDnsServer::answer_late(Asker asker, resolver::PendingLookup pending) {
  std::vector<std::uint8_t> space(dns::kTcpResponseBuffer);
  auto looking_up = dns_.look_up(std::move(pending), dns::Transport::kUdp, space);
  auto reply = co_await std::move(looking_up);
  if (reply.empty() || !socket_.is_open()) co_return;
  alignas(cmsghdr) std::array<char, kControlBytes> control{};
  iovec bytes{space.data(), reply.size()};
  msghdr out{&asker.peer, asker.length, &bytes, 1, control.data(), control.size(), 0};
  out.msg_controllen = put_source(out, asker.asked_at);
  (void)::sendmsg(socket_.native_handle(), &out, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Awaitable<void> UdpDnsServer::run() {
  while (socket_.is_open()) {
    auto waiting = socket_.async_wait(Descriptor::wait_read, kAwait);
    auto [error] = co_await std::move(waiting);
    if (error) co_return;
    // Bounded, so that a flood of questions does not starve connections.
    for (int rounds = 0; rounds < 4 && serve_batch(); ++rounds) {
    }
  }
}

}  // namespace sallyport::proxy
