#include "policies/engine/advice.h"

#include "policies/engine/load.h"
#include "policies/engine/method.h"

namespace sallyport::policy {
namespace {

std::string in_rule(const Target& target) {
  bool v6 = target.address() != nullptr && !target.address()->is_v4();
  return v6 ? "[" + target.text() + "]" : target.text();
}

// A destination is offered only if the loader takes it. At the end of a plain value a colon would begin a map.
std::optional<std::string> checked(const std::string& destination) {
  std::string line = destination.ends_with(':') ? "- allow: \"" + destination + "\"" : "- allow: " + destination;
  if (!load("policy: advice/1\nrules:\n" + line + "\n", "advice").policy) return std::nullopt;
  return line;
}

}  // namespace

std::optional<std::string> rule_for(const ConnectionRequest& request) {
  std::string host = in_rule(request.target), port = ":" + std::to_string(request.port.value());
  if (request.target.is_literal()) return checked("tcp://" + host + port);
  if (request.port == Port::of(80)) return checked("http://" + host + "/**");
  return checked("tls://" + host + (request.port == Port::of(443) ? "" : port));
}

std::optional<std::string> rule_for(const HttpRequest& request) {
  if (!MethodSet::of(request.method)) return std::nullopt;
  std::string port = request.port == Port::of(80) ? "" : ":" + std::to_string(request.port.value());
  // A star in a request is an ordinary character; in a rule only its encoded form could stand for itself, and means
  // another path.
  if (request.path.text().find('*') != std::string_view::npos) return std::nullopt;
  std::string path = request.path.ambiguous() ? "/**" : std::string(request.path.text());
  return checked(std::string(request.method) + " http://" + in_rule(request.target) + port + path);
}

}  // namespace sallyport::policy
