#include "resolver/upstream/combine.h"

#include <algorithm>

namespace sallyport::resolver {
namespace {

using Kind = dns::UpstreamAnswer::Kind;
using Status = Resolution::Status;

bool is_answer(const FamilyAnswer& answer) {
  return answer && answer->has_value() && answer->value().kind != Kind::kServerFailure;
}

const std::vector<IpAddress>& addresses_of(const FamilyAnswer& answer) {
  static const std::vector<IpAddress> kNone;
  return is_answer(answer) ? answer->value().addresses : kNone;
}

std::optional<Error> first_refusal(const FamilyAnswer& answer, const net::AddressPolicy& policy) {
  for (const IpAddress& address : addresses_of(answer))
    if (auto checked = policy.check_address(address); !checked) return std::move(checked).error();
  return std::nullopt;
}

// By turns, IPv6 first (RFC 8305 section 4), so that a cap leaves both.
std::vector<IpAddress> by_turns(const std::vector<IpAddress>& v6, const std::vector<IpAddress>& v4) {
  std::vector<IpAddress> out;
  for (std::size_t i = 0; i < std::max(v6.size(), v4.size()) && out.size() < kMaxAddresses; ++i) {
    if (i < v6.size()) out.push_back(v6[i]);
    if (i < v4.size() && out.size() < kMaxAddresses) out.push_back(v4[i]);
  }
  return out;
}

Resolution failed(const FamilyAnswer& answer) {
  if (!answer) return {Status::kTimedOut, {}, kFailureTtl, "no DNS server answered in time"};
  if (answer->has_value())
    return {Status::kServFail, {}, kFailureTtl, "the DNS servers answer " + dns::to_string(answer->value().rcode)};
  const Error& error = answer->error();
  Status status = error.kind == ErrorKind::kTimedOut     ? Status::kTimedOut
                  : error.kind == ErrorKind::kOverloaded ? Status::kOverloaded
                                                         : Status::kServFail;
  return {status, {}, kFailureTtl, error.detail};
}

}  // namespace

Resolution combine(const FamilyAnswer& v4, const FamilyAnswer& v6, const net::AddressPolicy& policy) {
  bool both = is_answer(v4) && is_answer(v6);
  std::uint32_t ttl = both ? std::min(v4->value().ttl, v6->value().ttl) : 0;
  for (const FamilyAnswer* answer : {&v4, &v6})
    if (auto refusal = first_refusal(*answer, policy))
      return {Status::kRefusedAddress, {}, std::min(ttl, kMaxNegativeTtl), refusal->detail};

  auto addresses = by_turns(addresses_of(v6), addresses_of(v4));
  if (!addresses.empty()) {
    // A family without addresses must not shorten what the other says of itself.
    if (both && addresses_of(v4).empty()) ttl = v6->value().ttl;
    if (both && addresses_of(v6).empty()) ttl = v4->value().ttl;
    return {Status::kOk, std::move(addresses), std::min(ttl, kMaxTtl), {}};
  }
  if (!is_answer(v4)) return failed(v4);
  if (!is_answer(v6)) return failed(v6);
  bool missing = v4->value().kind == Kind::kNxDomain || v6->value().kind == Kind::kNxDomain;
  return {missing ? Status::kNxDomain : Status::kNoData, {}, std::min(ttl, kMaxNegativeTtl), {}};
}

Resolution judge_records(const FamilyAnswer& answer) {
  if (!is_answer(answer)) return failed(answer);
  const dns::UpstreamAnswer& found = answer->value();
  if (!found.records.empty()) return {Status::kOk, {}, std::min(found.ttl, kMaxTtl), {}, found.records};
  return {found.kind == Kind::kNxDomain ? Status::kNxDomain : Status::kNoData, {}, std::min(found.ttl, kMaxNegativeTtl), {}};
}

}  // namespace sallyport::resolver
