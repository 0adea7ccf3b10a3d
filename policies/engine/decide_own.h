// What a policy says by its own rules, before its ceiling is asked. For decide*.cc only: the verdicts hold no destination.
#pragma once

#include "core/base/host_name.h"
#include "policies/engine/policy.h"
#include "policies/engine/verdict.h"

namespace sallyport::policy::own {

NameVerdict name(const CompiledPolicy& policy, const HostName& name);
NameVerdict record(const CompiledPolicy& policy, const HostName& name, RecordType type);
ConnectionVerdict connection(const CompiledPolicy& policy, const ConnectionRequest& request);
HttpVerdict http(const CompiledPolicy& policy, const HttpRequest& request);

}  // namespace sallyport::policy::own
