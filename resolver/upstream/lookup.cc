#include "resolver/upstream/lookup.h"

namespace sallyport::resolver {

AddressLookup::AddressLookup(UpstreamContext& context, const net::AddressPolicy& policy, const HostName& name, Done done)
    : context_(context),
      policy_(policy),
      done_(std::move(done)),
      deadline_(Deadline::after(context.settings.total)),
      grace_([](void* self) noexcept { static_cast<AddressLookup*>(self)->finish(); }, this),
      ask_v4_(context, name, dns::Type::kA, deadline_, [this](auto answer) { on_answer(v4_, std::move(answer)); }),
      ask_v6_(context, name, dns::Type::kAaaa, deadline_, [this](auto answer) { on_answer(v6_, std::move(answer)); }) {}

void AddressLookup::on_answer(FamilyAnswer& family, Result<dns::UpstreamAnswer> answer) {
  family.emplace(std::move(answer));
  if (v4_ && v6_) return finish();
  bool has_addresses = family->has_value() && !family->value().addresses.empty();
  if (has_addresses) context_.wheel.arm(grace_, Deadline::after(kSecondFamilyGrace));
}

void AddressLookup::finish() {
  auto done = std::move(done_);
  done(combine(v4_, v6_, policy_));  // may destroy this
}

RecordLookup::RecordLookup(UpstreamContext& context, const HostName& name, dns::Type type, Done done)
    : done_(std::move(done)),
      ask_(context, name, type, Deadline::after(context.settings.total), [this](Result<dns::UpstreamAnswer> answer) {
        auto call = std::move(done_);
        call(judge_records(FamilyAnswer(std::move(answer))));  // may destroy this
      }) {}

std::unique_ptr<Lookup> Lookup::start(UpstreamContext& context, const net::AddressPolicy& policy, const Sought& sought,
                                      Done done) {
  if (sought.records) return std::make_unique<RecordLookup>(context, sought.name, *sought.records, std::move(done));
  return std::make_unique<AddressLookup>(context, policy, sought.name, std::move(done));
}

}  // namespace sallyport::resolver
