#include "proxy/limits/limit_set.h"

#include <algorithm>

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

std::uint64_t LimitSet::on_hand(Resource resource) const noexcept {
  auto of_task = task_->of(resource).on_hand();
  return rule_ == nullptr ? of_task : std::min(of_task, rule_->of(resource).on_hand());
}

std::uint64_t LimitSet::take_now(Resource resource, std::uint64_t want) noexcept {
  auto amount = std::min(want, on_hand(resource));
  if (amount == 0) return 0;
  if (rule_ != nullptr) (void)rule_->of(resource).take_now(amount);
  return task_->of(resource).take_now(amount);
}

Awaitable<Taken> LimitSet::wait_for_some(Resource resource, std::uint64_t want) {
  auto& own = task_->of(resource);
  while (on_hand(resource) == 0) {
    bool of_rule = own.on_hand() > 0;
    auto waiting = of_rule ? rule_->of(resource).wait_for_some(want) : own.wait_for_some(want);
    if (!co_await std::move(waiting)) co_return Taken{0, of_rule};
  }
  co_return Taken{on_hand(resource), false};
}

Awaitable<Taken> LimitSet::take(Resource resource, std::uint64_t want) {
  if (on_hand(resource) == 0 && want > 0) {
    auto waiting = wait_for_some(resource, want);
    auto some = co_await std::move(waiting);
    if (some.amount == 0) co_return some;
  }
  co_return Taken{take_now(resource, want), false};
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
