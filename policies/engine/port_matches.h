// PortMatches: the rules that are about one target and one port, gathered for one decision.
#pragma once

#include <array>
#include <span>

#include "policies/engine/rule_index.h"

namespace sallyport::policy {

class PortMatches {
 public:
  PortMatches(const RuleIndex& index, const HostMatches& hosts, Port port) noexcept;

  bool empty() const noexcept { return size_ == 0; }
  std::span<const PortRules* const> all() const noexcept { return {found_.data(), size_}; }

  // The first rule of its kind in the order of the file, or kNoRuleIndex.
  std::uint32_t whole_deny() const noexcept;
  std::uint32_t opaque_allow() const noexcept;
  bool has_http_allow() const noexcept;
  // Any denial that looks at methods or paths. A tunnel is not read: with such a denial there is none.
  std::uint32_t partial_deny() const noexcept;

  // An http allow rule that some request could pass by, and if there is none, a denial that lies over one.
  struct Open {
    std::uint32_t allow = kNoRuleIndex;
    std::uint32_t deny = kNoRuleIndex;
  };
  Open first_open() const;
  // A denial over everything that this allow rule matches, or kNoRuleIndex.
  std::uint32_t deny_covering(const RuleTerms& allow) const;

 private:
  const RuleIndex& index_;
  std::array<const PortRules*, 128> found_;
  std::size_t size_ = 0;
};

}  // namespace sallyport::policy
