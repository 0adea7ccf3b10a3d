// Lookup: one name, looked up. AddressLookup asks for both address families at once, RecordLookup for one other type.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "resolver/upstream/combine.h"
#include "resolver/upstream/exchange.h"

namespace sallyport::resolver {

// Once one family has addresses the other is waited for no longer than this: servers that drop AAAA questions are
// common.
inline constexpr std::chrono::milliseconds kSecondFamilyGrace{500};

// Destroying it ends the lookup silently. One thread.
class Lookup {
 public:
  using Done = std::function<void(Resolution)>;

  virtual ~Lookup() = default;
  Lookup(const Lookup&) = delete;
  Lookup& operator=(const Lookup&) = delete;

  // `done` is called once, from the executor or the wheel, within settings.total; it may destroy the lookup.
  static std::unique_ptr<Lookup> start(UpstreamContext& context, const net::AddressPolicy& policy, const Sought& sought,
                                       Done done);

 protected:
  Lookup() = default;
};

class AddressLookup final : public Lookup {
 public:
  AddressLookup(UpstreamContext& context, const net::AddressPolicy& policy, const HostName& name, Done done);

 private:
  void on_answer(FamilyAnswer& family, Result<dns::UpstreamAnswer> answer);
  void finish();

  UpstreamContext& context_;
  const net::AddressPolicy& policy_;
  Done done_;
  Deadline deadline_;
  FamilyAnswer v4_, v6_;
  async::CallbackEntry grace_;
  Exchange ask_v4_, ask_v6_;
};

class RecordLookup final : public Lookup {
 public:
  RecordLookup(UpstreamContext& context, const HostName& name, dns::Type type, Done done);

 private:
  Done done_;
  Exchange ask_;
};

}  // namespace sallyport::resolver
