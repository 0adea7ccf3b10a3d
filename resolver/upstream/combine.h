// Pure part of a lookup: the two answers, judged together.
#pragma once

#include <optional>

#include "core/base/result.h"
#include "core/dns/upstream_message.h"
#include "core/net/address_policy.h"
#include "resolver/upstream/resolution.h"

namespace sallyport::resolver {

// An answer for one family; nothing while it is outstanding.
using FamilyAnswer = std::optional<Result<dns::UpstreamAnswer>>;

// A name with one refused address in either family is refused whole (dns-011, dns-012). Otherwise the addresses of
// both; with none, the worse of the two failures. A family that failed or is outstanding makes the result good for one
// use only.
Resolution combine(const FamilyAnswer& v4, const FamilyAnswer& v6, const net::AddressPolicy& policy);

// The answer to a question for records of another type.
Resolution judge_records(const FamilyAnswer& answer);

}  // namespace sallyport::resolver
