// A listening socket on a loopback address of this machine.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/base/unique_fd.h"

namespace sallyport::control {

enum class ListenerProtocol { kTcp, kUdp };

struct LoopbackListener {
  UniqueFd socket;   // non-blocking, bound and, for TCP, listening; for UDP with packet information
  std::string text;  // "127.0.0.1:3128"
};

// `text`: "127.0.0.1:PORT" or "[::1]:PORT". kInvalid for anything else: only loopback is served without containment.
Result<LoopbackListener> loopback_listener(std::string_view text, ListenerProtocol protocol);

}  // namespace sallyport::control
