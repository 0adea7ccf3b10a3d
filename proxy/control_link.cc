#include "proxy/control_link.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <tuple>

#include "core/ipc/message.h"
#include "core/ipc/request_table.h"
#include "policies/engine/load.h"

namespace sallyport::proxy {
namespace {

using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;

enum class LinkState { kServing };
constexpr auto kRequests = ipc::request_table<LinkState, api::ToProxy::KindCase>({
    {LinkState::kServing, api::ToProxy::kAddTask, ipc::kMaxFrameDescriptors},
    {LinkState::kServing, api::ToProxy::kExpectProbes},
    {LinkState::kServing, api::ToProxy::kRunTask},
    {LinkState::kServing, api::ToProxy::kEndTask},
    {LinkState::kServing, api::ToProxy::kLease},
});

api::Resource to_api(Resource resource) {
  switch (resource) {
    case Resource::kRequests: return api::REQUESTS;
    case Resource::kConnections: return api::CONNECTIONS;
    case Resource::kUpload: return api::UPLOAD;
    case Resource::kDownload: return api::DOWNLOAD;
  }
  return api::RESOURCE_UNSPECIFIED;
}

std::optional<Resource> from_api(api::Resource resource) {
  switch (resource) {
    case api::REQUESTS: return Resource::kRequests;
    case api::CONNECTIONS: return Resource::kConnections;
    case api::UPLOAD: return Resource::kUpload;
    case api::DOWNLOAD: return Resource::kDownload;
    default: return std::nullopt;
  }
}

// The policy's text out of its memfd; bounded.
Result<std::string> read_policy(const UniqueFd& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return fail_errno("policy");
  auto size = static_cast<std::size_t>(about.st_size);
  if (size > policy::kMaxPolicyBytes) return fail(ErrorKind::kInvalid, "the policy is too large");
  std::string text(size, '\0');
  for (std::size_t at = 0; at < size;) {
    auto got = ::pread(file.get(), text.data() + at, size - at, static_cast<off_t>(at));
    if (got <= 0) return fail(ErrorKind::kInvalid, "the policy could not be read");
    at += static_cast<std::size_t>(got);
  }
  return text;
}

Result<std::shared_ptr<const policy::CompiledPolicy>> load_policy(const UniqueFd& file, const std::string& name,
                                                                  const policy::LoadOptions& options) {
  BOOST_OUTCOME_TRY(auto text, read_policy(file));
  if (text.empty()) return policy::deny_all();
  auto outcome = policy::load(text, name, options);
  if (outcome.policy) return outcome.policy;
  std::string why = outcome.diagnostics.empty() ? "no reason given" : policy::render(outcome.diagnostics.front());
  return fail(ErrorKind::kInvalid, "policy: " + why);
}

Result<std::vector<TaskListener>> listeners_of(const api::AddTask& request, std::vector<UniqueFd> descriptors) {
  if (descriptors.size() != static_cast<std::size_t>(request.listeners_size()) + 1)
    return fail(ErrorKind::kInvalid, "the descriptors do not go with the listeners");
  std::vector<TaskListener> out;
  for (int i = 0; i < request.listeners_size(); ++i) {
    auto kind = request.listeners(i) == api::PROXY     ? ListenerKind::kProxy
                : request.listeners(i) == api::CAUGHT  ? ListenerKind::kCaught
                : request.listeners(i) == api::DNS_TCP ? ListenerKind::kDnsTcp
                                                       : ListenerKind::kDns;
    if (request.listeners(i) == api::LISTENER_UNSPECIFIED) return fail(ErrorKind::kInvalid, "a listener of no kind");
    out.push_back({kind, std::move(descriptors[static_cast<std::size_t>(i) + 1])});
  }
  return out;
}

void fill_destination(api::Destination& out, const std::string& authority, const DestinationUse& use) {
  auto colon = authority.rfind(':');
  out.set_name(authority.substr(0, colon));
  out.set_port(static_cast<std::uint32_t>(std::stoul(authority.substr(colon + 1))));
  out.set_connections(use.connections);
  out.set_requests(use.requests);
  out.set_denied(use.denied);
  out.set_bytes_up(use.bytes_up);
  out.set_bytes_down(use.bytes_down);
}

// A whole message must fit into a frame, and the names are as long as the task likes.
constexpr std::size_t kDestinationBytes = 32 * 1024;

// The busiest that fit; used ones before those that were only refused.
void fill_destinations(api::TaskEnded& out, const Destinations& seen) {
  std::vector<const std::pair<const std::string, DestinationUse>*> order;
  for (const auto& entry : seen.named()) order.push_back(&entry);
  auto weight = [](const auto* entry) {
    const DestinationUse& use = entry->second;
    return std::tuple(use.connections + use.requests, use.bytes_up + use.bytes_down, use.denied);
  };
  std::ranges::sort(order, std::ranges::greater(), weight);
  std::size_t bytes = 0;
  for (const auto* entry : order) {
    auto& destination = *out.add_destinations();
    fill_destination(destination, entry->first, entry->second);
    bytes += destination.ByteSizeLong() + 4;
    if (bytes <= kDestinationBytes) continue;
    out.mutable_destinations()->RemoveLast();
    break;
  }
  out.set_other_destinations(order.size() - static_cast<std::size_t>(out.destinations_size()));
}

}  // namespace

// A task, and its leases asked for over the link.
struct ControlLink::Entry final : LeaseSource {
  Entry(ControlLink& link_, std::string id_) : link(link_), id(std::move(id_)) {}

  void request_lease(Resource resource, int rule, std::uint64_t want) noexcept override {
    api::FromProxy message;
    auto& lease = *message.mutable_lease();
    lease.mutable_counter()->set_task(id);
    lease.mutable_counter()->set_resource(to_api(resource));
    lease.mutable_counter()->set_rule(rule);
    lease.set_want(want);
    link.send(message);
  }

  Allowance* find(const api::CounterKey& key) {
    auto resource = from_api(key.resource());
    if (!resource) return nullptr;
    auto& task = served->task();
    if (key.rule() < 0) return &task.allowances().of(*resource);
    auto* set = task.rule_allowances(static_cast<std::uint32_t>(key.rule()));
    return set ? &set->of(*resource) : nullptr;
  }

  void summarise(api::TaskEnded& out) {
    auto& task = served->task();
    auto total = task.destinations().total();
    out.set_task(id);
    out.set_requests(total.requests);
    out.set_denied(task.denials().total());
    out.set_connections(total.connections);
    out.set_bytes_up(total.bytes_up);
    out.set_bytes_down(total.bytes_down);
    out.set_dns_queries(task.dns_queries);
    fill_destinations(out, task.destinations());
    give_back(out, task.allowances(), -1);
    for (const auto& rule : task.policy().rules())
      if (auto* set = task.rule_allowances(rule.index); set != nullptr && out.unused_size() < 256) give_back(out, *set, static_cast<int>(rule.index));
  }

  void give_back(api::TaskEnded& out, const AllowanceSet& set, int rule) {
    for (std::size_t i = 0; i < kResources; ++i) {
      const auto& allowance = *set.each[i];
      if (allowance.available() == 0) continue;
      auto& unused = *out.add_unused();
      unused.mutable_counter()->set_task(id);
      unused.mutable_counter()->set_resource(to_api(static_cast<Resource>(i)));
      unused.mutable_counter()->set_rule(rule);
      unused.set_amount(allowance.available());
    }
  }

  ControlLink& link;
  std::string id;
  std::unique_ptr<ServedTask> served;
  std::string expected_nonce;
};

ControlLink::ControlLink(const ThreadServices& services, ipc::Channel channel)
    : services_(services), channel_(std::move(channel)), queue_(channel_),
      watch_(services.executor, ::fcntl(channel_.fd(), F_DUPFD_CLOEXEC, 3)), scope_(services.executor, 64) {}

ControlLink::~ControlLink() = default;

void ControlLink::lost() noexcept {
  boost::system::error_code ignored;
  channel_.close();
  watch_.close(ignored);
}

// A control that does not read its messages is as good as gone: past the queue's bound the proxy ends.
void ControlLink::send(const api::FromProxy& message) {
  auto bytes = ipc::serialize(message);
  if (!bytes || !queue_.push(bytes.value())) lost();
}

ControlLink::Entry* ControlLink::find(const std::string& id) {
  auto found = tasks_.find(id);
  return found == tasks_.end() ? nullptr : found->second.get();
}

Awaitable<void> ControlLink::run() {
  while (channel_.is_open()) {
    auto waiting = watch_.async_wait(Descriptor::wait_read, kAwait);
    auto [error] = co_await std::move(waiting);
    if (error) break;
    while (channel_.is_open()) {
      auto received = ipc::try_receive_message<api::ToProxy>(channel_, kRequests.max_descriptors(LinkState::kServing));
      if (!received) {
        if (received.error().kind != ErrorKind::kUnavailable) lost();
        break;
      }
      auto request = std::move(received).value();
      if (!kRequests.admit(channel_, LinkState::kServing, request.message.kind_case(), request.descriptors.size())) break;
      auto handling = handle(std::move(request.message), std::move(request.descriptors));
      if (!co_await std::move(handling)) break;
    }
    if (!queue_.empty()) (void)queue_.flush();
  }
  lost();
  auto ending = end_all();
  co_await std::move(ending);
}

Awaitable<void> ControlLink::end_all() {
  // What waits for an audit process that has stopped would never end.
  services_.recorder.stop();
  for (auto& [id, entry] : tasks_) entry->served->task().begin_end(async::CancelReason::kShutdown);
  // Tasks whose end was under way first: each is destroyed by the coroutine that ends it.
  auto closing = scope_.close(async::CancelReason::kShutdown);
  co_await std::move(closing);
  for (auto& [id, entry] : tasks_) {
    auto ending = entry->served->task().end(async::CancelReason::kShutdown);
    co_await std::move(ending);
  }
  tasks_.clear();
}

Awaitable<bool> ControlLink::handle(api::ToProxy message, std::vector<UniqueFd> descriptors) {
  switch (message.kind_case()) {
    case api::ToProxy::kAddTask:
      add_task(message.add_task(), std::move(descriptors));
      co_return true;
    case api::ToProxy::kExpectProbes:
      if (auto* entry = find(message.expect_probes().task())) entry->expected_nonce = message.expect_probes().nonce();
      co_return true;
    case api::ToProxy::kRunTask:
      if (auto* entry = find(message.run_task().task())) entry->served->task().run();
      co_return true;
    case api::ToProxy::kLease:
      if (auto* entry = find(message.lease().counter().task()))
        if (auto* allowance = entry->find(message.lease().counter())) allowance->granted(message.lease().granted(), message.lease().final());
      co_return true;
    case api::ToProxy::kEndTask:
      // A coroutine of its own: ending one task must not hold up another's leases.
      co_return scope_.spawn(end_task(message.end_task().task())).has_value();
    default:
      co_return false;
  }
}

void ControlLink::add_task(const api::AddTask& request, std::vector<UniqueFd> descriptors) {
  api::FromProxy answer;
  answer.mutable_task_added()->set_task(request.task());
  if (auto added = try_add(request, std::move(descriptors)); !added) answer.mutable_task_added()->set_error(added.error().detail);
  send(answer);
}

Result<void> ControlLink::try_add(const api::AddTask& request, std::vector<UniqueFd> descriptors) {
  BOOST_OUTCOME_TRY(auto id, TaskId::parse(request.task()));
  if (find(request.task())) return fail(ErrorKind::kInvalid, "there is a task of this name already");
  if (descriptors.empty()) return fail(ErrorKind::kInvalid, "the policy is missing");
  policy::LoadOptions options{nullptr, id.text()};
  if (!request.ceiling_file().empty()) {
    if (descriptors.size() < 2) return fail(ErrorKind::kInvalid, "the policy above the task's is missing");
    BOOST_OUTCOME_TRY(options.ceiling, load_policy(descriptors[1], request.ceiling_file(), {nullptr, id.text()}));
    descriptors.erase(descriptors.begin() + 1);
  }
  BOOST_OUTCOME_TRY(auto policy, load_policy(descriptors.front(), request.policy_file(), options));
  BOOST_OUTCOME_TRY(auto pool4, IpPrefix::parse(request.pool4()));
  BOOST_OUTCOME_TRY(auto pool6, IpPrefix::parse(request.pool6()));
  BOOST_OUTCOME_TRY(auto names, resolver::SyntheticPool::make(pool4, pool6));
  BOOST_OUTCOME_TRY(auto listeners, listeners_of(request, std::move(descriptors)));

  auto entry = std::make_unique<Entry>(*this, request.task());
  auto* e = entry.get();
  TaskSettings settings{id, std::move(policy), std::move(names), *entry, [this, e](std::string_view limit, int rule) {
                          api::FromProxy message;
                          message.mutable_limit()->set_task(e->id);
                          message.mutable_limit()->set_limit(std::string(limit));
                          message.mutable_limit()->set_rule(rule);
                          send(message);
                        }};
  ServedTask::Callbacks callbacks;
  callbacks.probe = [this, e](const SeenProbe& seen) {
    if (seen.call.nonce.hex() != e->expected_nonce) return;
    api::FromProxy message;
    auto& probe = *message.mutable_probe_seen();
    probe.set_task(e->id);
    probe.set_nonce(e->expected_nonce);
    probe.set_probe(std::string(firewall::info_of(seen.call.probe).name));
    probe.set_destination(seen.destination.address.text());
    probe.set_port(seen.destination.port);
    send(message);
  };
  callbacks.listener_lost = [this, e](std::string_view listener) {
    api::FromProxy message;
    message.mutable_listener_lost()->set_task(e->id);
    message.mutable_listener_lost()->set_listener(std::string(listener));
    send(message);
  };
  entry->served = std::make_unique<ServedTask>(services_, std::move(settings), std::move(listeners), std::move(callbacks));
  auto serving = entry->served->serve();
  tasks_.emplace(request.task(), std::move(entry));
  return serving;
}

Awaitable<void> ControlLink::end_task(std::string id) {
  auto found = tasks_.find(id);
  if (found == tasks_.end()) {
    // Control ends what may never have been handed over (its attach failed): answered, so that it need not wait.
    api::FromProxy nothing;
    nothing.mutable_task_ended()->set_task(id);
    send(nothing);
    co_return;
  }
  if (found->second->served->task().phase() == Task::Phase::kEnded) co_return;
  auto* entry = found->second.get();
  auto ending = entry->served->task().end(async::CancelReason::kTaskEnded);
  co_await std::move(ending);
  api::FromProxy answer;
  entry->summarise(*answer.mutable_task_ended());
  send(answer);
  tasks_.erase(id);
}

}  // namespace sallyport::proxy
