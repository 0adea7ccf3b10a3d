#include "proxy/limits/limit_set.h"

namespace sallyport::proxy {

AllowanceSet::AllowanceSet(Executor executor) {
  for (auto& allowance : each) allowance = std::make_unique<Allowance>(executor);
}

void AllowanceSet::limit(Resource resource, int rule, LeaseSource& source, Executor executor) {
  each[static_cast<std::size_t>(resource)] = std::make_unique<Allowance>(executor, source, resource, rule);
}

void AllowanceSet::close() noexcept {
  for (auto& allowance : each) allowance->close();
}

Awaitable<Taken> LimitSet::take(Resource resource, std::uint64_t want) {
  auto& own = task_->of(resource);
  auto taking = own.take(want);
  auto from_task = co_await std::move(taking);
  if (from_task == 0) co_return Taken{0, false};
  if (rule_ == nullptr) co_return Taken{from_task, false};
  auto& of_rule = rule_->of(resource);
  auto taking_rule = of_rule.take(from_task);
  auto from_rule = co_await std::move(taking_rule);
  if (from_rule < from_task) own.put_back(from_task - from_rule);
  co_return Taken{from_rule, from_rule == 0};
}

Awaitable<Taken> LimitSet::take_all(Resource resource, std::uint64_t want) {
  std::uint64_t have = 0;
  while (have < want) {
    auto taking = take(resource, want - have);
    auto taken = co_await std::move(taking);
    if (taken.amount == 0) {
      put_back(resource, have);
      co_return taken;
    }
    have += taken.amount;
  }
  co_return Taken{have, false};
}

void LimitSet::put_back(Resource resource, std::uint64_t amount) noexcept {
  task_->of(resource).put_back(amount);
  if (rule_ != nullptr) rule_->of(resource).put_back(amount);
}

}  // namespace sallyport::proxy
