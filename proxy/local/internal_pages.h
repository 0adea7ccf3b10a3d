// http://sallyport.internal/: what a task may know of itself: its policy, what is left of its budgets, its recent denials.
#pragma once

#include <string>
#include <string_view>

#include "core/http/request_head.h"
#include "proxy/client/connection.h"

namespace sallyport::proxy {

inline constexpr std::string_view kInternalHost = "sallyport.internal";

// Answers one request for it. Paths: "/" (text), "/policy", "/budgets", "/denials" (JSON). Only GET and HEAD; counts against nothing.
// False: the connection is of no further use.
Awaitable<bool> answer_internal(ClientConnection& client, const http::RequestHead& head);

}  // namespace sallyport::proxy
