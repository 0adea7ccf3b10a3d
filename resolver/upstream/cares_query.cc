#include "resolver/upstream/cares_query.h"

#include <netinet/in.h>
#include <sys/time.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstring>
#include <string>

namespace sallyport::resolver {
namespace {

constexpr int kTries = 2;

// The servers as c-ares takes them, the preferred one first.
std::vector<ares_addr_port_node> server_nodes(const UpstreamContext& context) {
  const auto& servers = context.settings.servers;
  std::vector<ares_addr_port_node> nodes(servers.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const net::Endpoint& server = servers[(context.first_server + i) % servers.size()];
    ares_addr_port_node& node = nodes[i];
    node.next = i + 1 < nodes.size() ? &nodes[i + 1] : nullptr;
    node.family = server.address.is_v4() ? AF_INET : AF_INET6;
    std::memcpy(&node.addr, server.address.bytes().data(), server.address.bytes().size());
    node.udp_port = node.tcp_port = server.port;
  }
  return nodes;
}

Error failure(int status) {
  switch (status) {
    case ARES_ETIMEOUT:
      return Error::make(ErrorKind::kTimedOut, "no DNS server answered in time");
    case ARES_ENOMEM:
      return Error::make(ErrorKind::kOverloaded, "out of memory for a DNS question");
    default:
      return Error{ErrorKind::kUnavailable, status,
                   std::string("no DNS server gave an answer: ") + ares_strerror(status)};
  }
}

}  // namespace

CaresQuery::CaresQuery(UpstreamContext& context, Deadline deadline, Done done)
    : context_(context),
      deadline_(deadline),
      first_server_(context.first_server),
      done_(std::move(done)),
      timer_([](void* self) noexcept { static_cast<CaresQuery*>(self)->on_time(); }, this) {}

CaresQuery::~CaresQuery() {
  finished_ = true;
  // Calls back for the open question and each socket, then closes the sockets.
  if (channel_ != nullptr) ares_destroy(channel_);
}

std::shared_ptr<CaresQuery> CaresQuery::start(UpstreamContext& context, std::span<const std::uint8_t> message,
                                              dns::Transport transport, Deadline deadline, Done done) {
  std::shared_ptr<CaresQuery> query(new CaresQuery(context, deadline, std::move(done)));
  if (auto opened = query->open(transport); !opened)
    query->finish(fail(std::move(opened).error()));
  else
    query->send(message);
  return query;
}

Result<void> CaresQuery::open(dns::Transport transport) {
  // Everything is set, so that c-ares has no reason to look into files or the environment.
  char lookups[] = "b";
  ares_options options{};
  options.flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS |
                  (transport == dns::Transport::kTcp ? ARES_FLAG_USEVC : 0);
  options.timeout = static_cast<int>(context_.settings.attempt.count());
  options.tries = kTries;
  options.lookups = lookups;
  options.ednspsz = dns::kUdpPayload;
  options.sock_state_cb_data = this;
  options.sock_state_cb = [](void* self, ares_socket_t fd, int readable, int writable) {
    static_cast<CaresQuery*>(self)->on_socket(fd, readable != 0, writable != 0);
  };
  int set = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_NDOTS | ARES_OPT_SERVERS |
            ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST | ARES_OPT_SOCK_STATE_CB | ARES_OPT_EDNSPSZ |
            ARES_OPT_NOROTATE;
  if (int status = ares_init_options(&channel_, &options, set); status != ARES_SUCCESS) {
    channel_ = nullptr;
    return fail(failure(status));
  }
  auto nodes = server_nodes(context_);
  if (int status = ares_set_servers_ports(channel_, nodes.data()); status != ARES_SUCCESS) return fail(failure(status));
  return success();
}

void CaresQuery::send(std::span<const std::uint8_t> message) {
  ares_send(
      channel_, message.data(), static_cast<int>(message.size()),
      [](void* self, int status, int timeouts, unsigned char* reply, int size) {
        std::span<const std::uint8_t> bytes;
        if (reply != nullptr && size > 0) bytes = {reply, static_cast<std::size_t>(size)};
        static_cast<CaresQuery*>(self)->on_answer(status, timeouts, bytes);
      },
      this);
  arm_timer();
}

void CaresQuery::on_socket(int fd, bool readable, bool writable) {
  if (!readable && !writable) {
    watches_.erase(fd);  // releases: c-ares closes the socket right after this
    return;
  }
  if (finished_) return;
  auto [found, fresh] = watches_.try_emplace(fd, context_.executor, next_serial_);
  if (fresh) {
    ++next_serial_;
    boost::system::error_code error;
    found->second.descriptor.assign(fd, error);
    if (error) {
      finish(fail(Error::from_errno("watch a socket to a DNS server", error.value())));
      return;
    }
  }
  found->second.want_read = readable;
  found->second.want_write = writable;
  watch(fd, found->second);
}

void CaresQuery::watch(int fd, Watch& watch) {
  auto wait = [&](Descriptor::wait_type type, bool readable) {
    watch.descriptor.async_wait(
        type, [weak = weak_from_this(), fd, serial = watch.serial, readable](boost::system::error_code error) {
          auto self = weak.lock();
          if (self && !error) self->on_ready(fd, serial, readable);
        });
  };
  if (watch.want_read && !watch.reading) {
    watch.reading = true;
    wait(Descriptor::wait_read, true);
  }
  if (watch.want_write && !watch.writing) {
    watch.writing = true;
    wait(Descriptor::wait_write, false);
  }
}

void CaresQuery::on_ready(int fd, std::uint64_t serial, bool readable) {
  auto find = [&] {
    auto found = watches_.find(fd);
    return found != watches_.end() && found->second.serial == serial ? found : watches_.end();
  };
  auto found = find();
  if (found == watches_.end() || finished_) return;
  (readable ? found->second.reading : found->second.writing) = false;
  bool wanted = readable ? found->second.want_read : found->second.want_write;
  if (wanted) process(readable ? fd : ARES_SOCKET_BAD, readable ? ARES_SOCKET_BAD : fd);
  found = find();  // processing may have closed it
  if (found != watches_.end() && !finished_) watch(fd, found->second);
}

void CaresQuery::process(int readable, int writable) {
  ares_process_fd(channel_, readable, writable);
  arm_timer();
}

void CaresQuery::arm_timer() noexcept {
  if (finished_) return;
  timeval storage{};
  const timeval* wait = ares_timeout(channel_, nullptr, &storage);
  Deadline next = deadline_;
  if (wait != nullptr)
    next = next.earlier(Deadline::after(std::chrono::seconds(wait->tv_sec) + std::chrono::microseconds(wait->tv_usec)));
  context_.wheel.arm(timer_, next);
}

void CaresQuery::on_time() noexcept {
  if (finished_) return;
  if (deadline_.passed(Clock::now())) {
    finish(fail(failure(ARES_ETIMEOUT)));
    return;
  }
  process(ARES_SOCKET_BAD, ARES_SOCKET_BAD);
}

void CaresQuery::on_answer(int status, int timeouts, std::span<const std::uint8_t> reply) {
  if (finished_) return;
  if (status != ARES_SUCCESS) {
    finish(fail(failure(status)));
    return;
  }
  // Another server answered than the first one asked: begin with that next time.
  std::size_t servers = context_.settings.servers.size();
  if (timeouts > 0 && servers > 1)
    context_.first_server = (first_server_ + static_cast<std::size_t>(timeouts)) % servers;
  finish(std::vector<std::uint8_t>(reply.begin(), reply.end()));
}

void CaresQuery::finish(Reply reply) {
  if (finished_) return;
  finished_ = true;
  context_.wheel.disarm(timer_);
  // Later, because a channel must not be destroyed from within its own callbacks.
  boost::asio::post(context_.executor, [weak = weak_from_this(), reply = std::move(reply)]() mutable {
    auto self = weak.lock();
    if (!self) return;
    auto done = std::move(self->done_);
    done(std::move(reply));
  });
}

}  // namespace sallyport::resolver
