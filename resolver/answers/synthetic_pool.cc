#include "resolver/answers/synthetic_pool.h"

#include <algorithm>
#include <array>
#include <optional>

namespace sallyport::resolver {
namespace {

// `base` with `offset` added to its last four bytes, which lie after the prefix.
IpAddress plus(const IpAddress& base, std::size_t offset) noexcept {
  std::array<std::uint8_t, 16> b{};
  std::ranges::copy(base.bytes(), b.begin());
  for (std::size_t i = base.bytes().size(); i-- > 0 && offset != 0;) {
    offset += b[i];
    b[i] = static_cast<std::uint8_t>(offset & 0xff);
    offset >>= 8;
  }
  return base.is_v4() ? IpAddress::v4({b[0], b[1], b[2], b[3]}) : IpAddress::v6(b);
}

// The number of an address of `range` counted from its base; nothing if that is above 2^32.
std::optional<std::size_t> offset_in(const IpPrefix& range, const IpAddress& address) noexcept {
  auto b = address.bytes();
  std::size_t host_bytes = (b.size() * 8 - range.length() + 7) / 8;
  std::size_t offset = 0;
  for (std::size_t i = b.size() - host_bytes; i < b.size(); ++i) {
    if (offset >> 24 != 0) return std::nullopt;
    offset = offset << 8 | static_cast<std::uint8_t>(b[i] ^ range.base().bytes()[i]);
  }
  return offset;
}

}  // namespace

Result<SyntheticPool> SyntheticPool::make(IpPrefix v4, IpPrefix v6, std::size_t max_names) {
  if (!v4.base().is_v4() || v4.length() < 16 || v4.length() > 27)
    return fail(ErrorKind::kInvalid, "synthetic pool: the IPv4 range must have a length of 16 to 27: " + v4.text());
  if (v6.base().is_v4() || v6.length() < 64 || v6.length() > 112)
    return fail(ErrorKind::kInvalid, "synthetic pool: the IPv6 range must have a length of 64 to 112: " + v6.text());
  std::size_t room = (std::size_t{1} << (32 - v4.length())) - kReserved;
  return SyntheticPool(v4, v6, std::min(room, max_names));
}

SyntheticPair SyntheticPool::pair_at(std::size_t offset) const noexcept {
  return {plus(v4_.base(), offset), plus(v6_.base(), offset)};
}

Result<SyntheticPair> SyntheticPool::assign(const HostName& name) {
  if (auto known = offsets_.find(name); known != offsets_.end()) return pair_at(known->second);
  if (names_.size() >= capacity_)
    return fail(ErrorKind::kOverloaded, "all " + std::to_string(capacity_) + " names of this task are in use");
  std::size_t offset = kReserved + names_.size();
  names_.push_back(name);
  offsets_.emplace(name, offset);
  return pair_at(offset);
}

Result<SyntheticPair> SyntheticPool::assign_denied(const HostName& name) {
  bool known = offsets_.contains(name);
  if (!known && denied_ >= capacity_ / 4) return fail(ErrorKind::kOverloaded, "too many denied names have an address");
  BOOST_OUTCOME_TRY(auto pair, assign(name));
  if (!known) ++denied_;
  return pair;
}

SyntheticPool::Meaning SyntheticPool::lookup(const IpAddress& address) const noexcept {
  using Kind = Meaning::Kind;
  if (!contains(address)) return {Kind::kForeign, nullptr};
  auto offset = offset_in(address.is_v4() ? v4_ : v6_, address);
  if (!offset) return {Kind::kUnassigned, nullptr};
  if (*offset == kResolverOffset) return {Kind::kResolver, nullptr};
  if (*offset == kInternalOffset) return {Kind::kInternal, nullptr};
  if (*offset < kReserved || *offset - kReserved >= names_.size()) return {Kind::kUnassigned, nullptr};
  return {Kind::kName, &names_[*offset - kReserved]};
}

}  // namespace sallyport::resolver
