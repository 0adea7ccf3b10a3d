#include "policies/engine/rule.h"

namespace sallyport::policy {

std::string_view to_string(Action action) noexcept { return action == Action::kAllow ? "allow" : "deny"; }

std::string_view to_string(Scheme scheme) noexcept {
  switch (scheme) {
    case Scheme::kHttp:
      return "http";
    case Scheme::kTls:
      return "tls";
    case Scheme::kTcp:
      return "tcp";
  }
  return "?";
}

std::string_view to_string(Treatment treatment) noexcept {
  switch (treatment) {
    case Treatment::kHttp:
      return "http";
    case Treatment::kTlsTunnel:
      return "tls_tunnel";
    case Treatment::kTcpTunnel:
      return "tcp_tunnel";
  }
  return "?";
}

std::optional<Port> default_port(Scheme scheme) noexcept {
  switch (scheme) {
    case Scheme::kHttp:
      return Port::of(80);
    case Scheme::kTls:
      return Port::of(443);
    case Scheme::kTcp:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace sallyport::policy
