// Resolver: names to checked addresses and to records, for all proxies of the process.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/net/address_policy.h"
#include "resolver/upstream/cache.h"
#include "resolver/upstream/lookup.h"

namespace sallyport::resolver {

// What is being looked up is not looked up twice at once. Past settings.max_in_flight lookups, and past
// kMaxWaiting questions for one, the answer is kOverloaded. One thread. Destroy it (ending all lookups silently)
// before the wheel and the io_context.
class Resolver {
 public:
  static constexpr std::size_t kCacheNames = 10'000;
  static constexpr std::size_t kMaxWaiting = 4096;
  using Answer = std::function<void(const Resolution&)>;

  // `context` is borrowed.
  Resolver(UpstreamContext& context, net::AddressPolicy policy);
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // `answer` is called exactly once, maybe before resolve() returns. It must not destroy the resolver.
  void resolve(const Sought& sought, Answer answer);

  std::size_t in_flight() const noexcept { return flights_.size(); }

 private:
  struct Flight {
    std::vector<Answer> waiting;
    std::unique_ptr<Lookup> lookup;
  };
  void on_done(const Sought& sought, const Resolution& resolution);

  UpstreamContext& context_;
  net::AddressPolicy policy_;
  Cache cache_{kCacheNames};
  std::unordered_map<Sought, Flight> flights_;
};

}  // namespace sallyport::resolver
