// HostPattern: whom a rule is about: one name, all names below one ("*.example.com": any depth, never the apex), or one
// address.
#pragma once

#include <string>
#include <utility>

#include "policies/engine/target.h"

namespace sallyport::policy {

class HostPattern {
 public:
  static HostPattern exactly(Target target) { return HostPattern(std::move(target), false); }
  static HostPattern below(HostName apex) { return HostPattern(Target(std::move(apex)), true); }

  bool is_wildcard() const noexcept { return wildcard_; }
  // The name or address itself, or the apex.
  const Target& target() const noexcept { return target_; }
  bool matches(const Target& target) const noexcept {
    if (!wildcard_) return target == target_;
    return target.host() != nullptr && target.host()->is_below(*target_.host());
  }
  // "api.example", "*.example", "[2001:db8::1]"
  std::string text() const {
    if (wildcard_) return "*." + target_.text();
    bool v6 = target_.address() != nullptr && !target_.address()->is_v4();
    return v6 ? "[" + target_.text() + "]" : target_.text();
  }

 private:
  HostPattern(Target target, bool wildcard) : target_(std::move(target)), wildcard_(wildcard) {}
  Target target_;
  bool wildcard_;
};

}  // namespace sallyport::policy
