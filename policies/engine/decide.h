// decide: the one matcher for DNS, CONNECT, TLS and HTTP. Pure and total: every question has an answer, no I/O, no
// clock.
//
// A deny wins wherever it stands; among allows the first that matches decides. What no allow matches is denied.
// The cost does not grow with the number of rules. Any thread.
#pragma once

#include "core/base/host_name.h"
#include "policies/engine/policy.h"
#include "policies/engine/verdict.h"

namespace sallyport::policy {

// Allowed if some connection or request to the name could be allowed, on some port.
NameVerdict decide_name(const CompiledPolicy& policy, const HostName& name);

// Whether a record of another type than an address may be looked up for the name: some rule that the name could be used by
// grants the type. The types of addresses (A, AAAA) are answered as decide_name does.
NameVerdict decide_record(const CompiledPolicy& policy, const HostName& name, RecordType type);

// Allowed with a destination for opaque rules; with Treatment::kHttp, "speak HTTP and have each request decided".
ConnectionVerdict decide_connection(const CompiledPolicy& policy, const ConnectionRequest& request);

// One request in clear HTTP.
HttpVerdict decide_http(const CompiledPolicy& policy, const HttpRequest& request);

}  // namespace sallyport::policy
