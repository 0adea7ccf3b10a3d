#include "proxy/tunnel/tunnel.h"

namespace sallyport::proxy {

using policy::ReasonCode;

namespace {

std::string used_up(bool rule_limit) {
  return std::string("the ") + (rule_limit ? "rule's" : "task's") + " connections in total are used up";
}

}  // namespace

Awaitable<OpenedUpstream> open_upstream(ClientConnection& client, const policy::ApprovedDestination& destination) {
  Task& task = client.task();
  const HostName* name = destination.target().host();
  if (name != nullptr && !task.admit_name(*name)) co_return OpenedUpstream{nullptr, {ReasonCode::kBudgetNames, ""}, false};
  auto slot = task.open_slot(destination.rule());
  if (!slot) {
    co_return OpenedUpstream{nullptr, {ReasonCode::kBudgetConcurrent, slot.error().detail}, false};
  }
  auto limits = task.limits(destination.rule());
  auto taking = limits.take(Resource::kConnections, 1);
  auto taken = co_await std::move(taking);
  if (taken.amount == 0) {
    task.limit_reached("connections.total", taken.rule_limit ? static_cast<int>(destination.rule().index) : -1);
    co_return OpenedUpstream{nullptr, {ReasonCode::kBudgetConnections, used_up(taken.rule_limit)}, taken.rule_limit};
  }
  auto& dialer = task.services().dialer;
  auto deadline = Deadline::after(Dialer::kConnectTimeout);
  const auto& only = client.dial_only();
  auto dialling = only ? dialer.dial_at(*only, destination, task.scope(), deadline)
                       : dialer.dial(destination, task.dial_share, task.scope(), deadline);
  auto outcome = co_await std::move(dialling);
  if (!outcome) co_return OpenedUpstream{nullptr, std::move(outcome.failure), false};
  if (task.phase() == Task::Phase::kEnded) co_return OpenedUpstream{nullptr, {ReasonCode::kTaskEnded, ""}, false};
  auto connection = std::make_unique<UpstreamConnection>();
  connection->target = destination.target();
  connection->port = destination.port();
  connection->rule = destination.rule().index;
  connection->stream = std::move(outcome.dialled.stream);
  connection->endpoint = outcome.dialled.endpoint;
  connection->address = connection->endpoint.text();
  connection->dialled_at = Clock::now();
  connection->slot = std::move(slot).value();
  ++task.destinations().of(destination.target(), destination.port()).connections;
  co_return OpenedUpstream{std::move(connection), {}, false};
}

}  // namespace sallyport::proxy
