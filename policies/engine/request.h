// What is decided: a connection, or one HTTP request.
#pragma once

#include <string_view>

#include "core/base/units.h"
#include "policies/engine/media_type.h"
#include "policies/engine/method_override.h"
#include "policies/engine/path.h"
#include "policies/engine/target.h"

namespace sallyport::policy {

struct ConnectionRequest {
  Target target;
  Port port;
};

// Borrows method, path and query for the length of the call. `target` and `port` are those of the connection, or of the
// absolute-form or CONNECT authority; that the Host field agrees is the caller's check.
struct HttpRequest {
  Target target;
  Port port;
  std::string_view method;  // as sent; compared byte for byte
  const CanonicalPath& path;
  std::string_view query;  // without '?'; empty when there is none
  MethodOverrides overrides = {};
  ContentType body = {};
};

}  // namespace sallyport::policy
