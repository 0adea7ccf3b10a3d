#include "resolver/upstream/lookup.h"

namespace sallyport::resolver {

Lookup::Lookup(UpstreamContext& context, const net::AddressPolicy& policy, const HostName& name, Done done)
    : context_(context),
      policy_(policy),
      done_(std::move(done)),
      deadline_(Deadline::after(context.settings.total)),
      grace_([](void* self) noexcept { static_cast<Lookup*>(self)->finish(); }, this),
      ask_v4_(context, name, dns::Type::kA, deadline_, [this](auto answer) { on_answer(v4_, std::move(answer)); }),
      ask_v6_(context, name, dns::Type::kAaaa, deadline_, [this](auto answer) { on_answer(v6_, std::move(answer)); }) {}

void Lookup::on_answer(FamilyAnswer& family, Result<dns::UpstreamAnswer> answer) {
  family.emplace(std::move(answer));
  if (v4_ && v6_) return finish();
  bool has_addresses = family->has_value() && !family->value().addresses.empty();
  if (has_addresses) context_.wheel.arm(grace_, Deadline::after(kSecondFamilyGrace));
}

void Lookup::finish() {
  auto done = std::move(done_);
  done(combine(v4_, v6_, policy_));  // may destroy this
}

}  // namespace sallyport::resolver
