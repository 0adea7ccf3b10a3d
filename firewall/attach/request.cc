#include "firewall/attach/request.h"

#include "firewall/api/plan.h"

namespace sallyport::firewall {

namespace {

constexpr unsigned kLongestPool4 = 28;  // room for the reserved first sixteen addresses
constexpr unsigned kLongestPool6 = 120;

Result<IpPrefix> pool_of(IpAddress base, unsigned length, unsigned longest, std::string_view own) {
  if (length == 0 || length > longest) return fail(ErrorKind::kInvalid, "the task's pool has no usable length");
  IpPrefix pool = IpPrefix::of(base, length);
  if (pool.base() != base) return fail(ErrorKind::kInvalid, "the task's pool has host bits");
  BOOST_OUTCOME_TRY(IpAddress own_address, IpAddress::parse(own));
  IpAddress loopback =
      base.is_v4() ? IpAddress::v4({127, 0, 0, 1}) : IpAddress::v6({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  if (pool.contains(own_address) || pool.contains(loopback) || (base.is_v4() && base.bytes()[0] == 127)) {
    return fail(ErrorKind::kInvalid, "the task's pool covers its own addresses");
  }
  return pool;
}

}  // namespace

Result<CheckedRequest> check_request(const AttachRequest& request, UniqueFd netns) {
  if (request.head.protocol != kAttachProtocol || request.head.kind != MessageKind::kAttachRequest) {
    return fail(ErrorKind::kInvalid, "control speaks another protocol: is it of the same version?");
  }
  if (request.flags != 0 || request.pid < 0)
    return fail(ErrorKind::kInvalid, "a request that this version does not know");
  BOOST_OUTCOME_TRY(IpPrefix pool4,
                    pool_of(IpAddress::v4(request.pool4), request.pool4_length, kLongestPool4, kOwnAddress4));
  BOOST_OUTCOME_TRY(pool_of(IpAddress::v6(request.pool6), request.pool6_length, kLongestPool6, kOwnAddress6));
  auto octets = request.pool4;
  octets[3] = static_cast<std::uint8_t>(octets[3] + 1);  // the base is even: no carry
  (void)pool4;
  return CheckedRequest{std::move(netns), request.pid, IpAddress::v4(octets)};
}

}  // namespace sallyport::firewall
