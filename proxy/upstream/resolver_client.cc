#include "proxy/upstream/resolver_client.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>

#include "core/ipc/message.h"
#include "resolver/api/resolver.pb.h"

namespace sallyport::proxy {
namespace {

namespace api = resolver::api;

ResolveStatus status_of(api::ResolveReply::Status status) {
  switch (status) {
    case api::ResolveReply::OK: return ResolveStatus::kOk;
    case api::ResolveReply::NXDOMAIN: return ResolveStatus::kNotFound;
    case api::ResolveReply::NODATA: return ResolveStatus::kNoAddress;
    case api::ResolveReply::TIMEOUT: return ResolveStatus::kTimedOut;
    case api::ResolveReply::REFUSED_ADDRESS: return ResolveStatus::kRefusedAddress;
    case api::ResolveReply::OVERLOADED: return ResolveStatus::kOverloaded;
    default: return ResolveStatus::kFailed;
  }
}

// nullopt when the bytes are no address: the whole answer is then refused.
std::optional<IpAddress> address_of(const std::string& bytes) {
  auto octet = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  if (bytes.size() == 4) return IpAddress::v4({octet(0), octet(1), octet(2), octet(3)});
  if (bytes.size() != 16) return std::nullopt;
  std::array<std::uint8_t, 16> octets{};
  for (std::size_t i = 0; i < 16; ++i) octets[i] = octet(i);
  return IpAddress::v6(octets);
}

Resolved read_reply(const api::ResolveReply& reply) {
  Resolved out{status_of(reply.status()), {}, reply.detail(), std::chrono::seconds(reply.ttl())};
  if (out.status != ResolveStatus::kOk) return out;
  for (const auto& bytes : reply.records()) out.records.emplace_back(bytes.begin(), bytes.end());
  for (const auto& bytes : reply.addresses()) {
    auto address = address_of(bytes);
    if (!address) return {ResolveStatus::kFailed, {}, "the resolver sent something that is no address", {}};
    out.addresses.push_back(*address);
  }
  if (out.addresses.empty() && out.records.empty()) out.status = ResolveStatus::kNoAddress;
  return out;
}

}  // namespace

ResolverClient::ResolverClient(Executor executor, async::DeadlineWheel& wheel, ipc::Channel channel)
    : executor_(executor), wheel_(wheel), channel_(std::move(channel)),
      watch_(executor, ::fcntl(channel_.fd(), F_DUPFD_CLOEXEC, 3)) {}

const Resolved* ResolverClient::kept(const HostName& name) const {
  auto found = kept_.find(name);
  return found != kept_.end() && Clock::now() < found->second.until ? &found->second.result : nullptr;
}

// Only what has addresses: a name that failed is asked again.
void ResolverClient::keep(const HostName& name, const Resolved& result) {
  if (result.status != ResolveStatus::kOk || result.ttl <= std::chrono::seconds(0)) return;
  auto now = Clock::now();
  if (kept_.size() >= kMaxKept) std::erase_if(kept_, [&](const auto& entry) { return entry.second.until <= now; });
  if (kept_.size() >= kMaxKept) kept_.clear();
  kept_.insert_or_assign(name, Kept{result, now + std::min(result.ttl, std::chrono::seconds(60))});
}

Awaitable<Resolved> ResolverClient::resolve(const HostName& name, async::TaskScope& scope, Deadline deadline) {
  if (const Resolved* known = kept(name)) co_return *known;
  auto asking = ask(name, 0, scope, deadline);
  auto result = co_await std::move(asking);
  keep(name, result);
  co_return result;
}

Awaitable<Resolved> ResolverClient::resolve_records(const HostName& name, std::uint16_t type, async::TaskScope& scope, Deadline deadline) {
  auto asking = ask(name, type, scope, deadline);
  co_return co_await std::move(asking);
}

Awaitable<Resolved> ResolverClient::ask(const HostName& name, std::uint16_t record_type, async::TaskScope& scope, Deadline deadline) {
  if (!alive_) co_return Resolved{ResolveStatus::kUnavailable, {}, "the resolver is gone", {}};
  if (waiting_.size() >= kMaxInFlight) co_return Resolved{ResolveStatus::kOverloaded, {}, "too many names are being resolved", {}};
  api::ResolveRequest request;
  request.set_id(next_id_++);
  request.set_name(std::string(name.text()));
  request.set_want_v4(record_type == 0);
  request.set_want_v6(record_type == 0);
  request.set_record_type(record_type);
  Waiting waiting(executor_);
  waiting_.emplace(request.id(), &waiting);
  auto sent = ipc::try_send_message(channel_, request);
  if (!sent) {
    waiting_.erase(request.id());
    if (sent.error().kind == ErrorKind::kUnavailable) co_return Resolved{ResolveStatus::kOverloaded, {}, "the resolver does not take more", {}};
    co_return Resolved{ResolveStatus::kUnavailable, {}, "the resolver is gone", {}};
  }
  async::CallbackEntry timeout([](void* event) noexcept { static_cast<async::Event*>(event)->notify_all(); }, &waiting.answered);
  wheel_.arm(timeout, deadline);
  scope.enlist(waiting);
  if (!waiting.done && !scope.closing()) {
    auto wait = waiting.answered.wait();
    co_await std::move(wait);
  }
  waiting_.erase(request.id());
  if (scope.closing()) co_return Resolved{ResolveStatus::kUnavailable, {}, "the task has ended", {}};
  if (!waiting.done) co_return Resolved{ResolveStatus::kTimedOut, {}, "the resolver did not answer in time", {}};
  co_return std::move(waiting.result);
}

void ResolverClient::take_answers() {
  for (;;) {
    auto received = ipc::try_receive_message<api::ResolveReply>(channel_);
    if (!received) {
      if (received.error().kind != ErrorKind::kUnavailable) lose();
      return;
    }
    auto& reply = received.value().message;
    auto found = waiting_.find(reply.id());
    if (found == waiting_.end()) continue;  // its asker gave up
    found->second->result = read_reply(reply);
    found->second->done = true;
    found->second->answered.notify_all();
  }
}

void ResolverClient::lose() noexcept {
  alive_ = false;
  channel_.close();
  for (auto& [id, waiting] : waiting_) {
    waiting->result = {ResolveStatus::kUnavailable, {}, "the resolver is gone", {}};
    waiting->done = true;
    waiting->answered.notify_all();
  }
}

Awaitable<void> ResolverClient::run() {
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;
  while (alive_) {
    auto wait = watch_.async_wait(Descriptor::wait_read, kAwait);
    auto [error] = co_await std::move(wait);
    if (error) break;
    take_answers();
  }
  lose();
}

void ResolverClient::stop() noexcept {
  boost::system::error_code ignored;
  watch_.close(ignored);
}

}  // namespace sallyport::proxy
