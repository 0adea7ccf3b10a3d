#include "resolver/upstream/resolver.h"

namespace sallyport::resolver {
namespace {

Resolution overloaded(const char* why) { return {Resolution::Status::kOverloaded, {}, 0, why}; }

}  // namespace

Resolver::Resolver(UpstreamContext& context, net::AddressPolicy policy)
    : context_(context), policy_(std::move(policy)) {}

void Resolver::resolve(const Sought& sought, Answer answer) {
  if (const Resolution* kept = cache_.find(sought, Clock::now())) return answer(*kept);
  if (auto flight = flights_.find(sought); flight != flights_.end()) {
    if (flight->second.waiting.size() >= kMaxWaiting)
      return answer(overloaded("too many questions wait for this name"));
    flight->second.waiting.push_back(std::move(answer));
    return;
  }
  if (flights_.size() >= context_.settings.max_in_flight)
    return answer(overloaded("too many names are being resolved"));
  Flight& flight = flights_[sought];
  flight.waiting.push_back(std::move(answer));
  flight.lookup = Lookup::start(context_, policy_, sought,
                                [this, sought](const Resolution& resolution) { on_done(sought, resolution); });
}

void Resolver::on_done(const Sought& sought, const Resolution& resolution) {
  // The lookup, which is calling, stays alive until the end of this function.
  auto flight = flights_.extract(sought);
  if (flight.empty()) return;
  cache_.put(sought, resolution, Clock::now());
  for (Answer& answer : flight.mapped().waiting) answer(resolution);
}

}  // namespace sallyport::resolver
