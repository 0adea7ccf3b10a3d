// Decision: one verdict with all that is to be said of it in the audit log, to the client and in the task's own view.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/audit/ring.h"
#include "policies/engine/verdict.h"

namespace sallyport::proxy {

enum class Layer : std::uint8_t { kDns, kConnect, kTls, kHttp };
enum class ClientForm : std::uint8_t { kExplicit, kCaught };

std::string_view to_string(Layer layer) noexcept;
std::string_view to_string(ClientForm form) noexcept;

// Everything borrowed for the call that records it. Text is as the client sent it and hostile.
struct Decision {
  Layer layer = Layer::kConnect;
  ClientForm form = ClientForm::kExplicit;
  std::uint64_t connection = 0;
  policy::ReasonCode reason = policy::ReasonCode::kInternal;
  std::optional<policy::RuleRef> rule;
  std::optional<policy::RuleRef> nearest;
  std::string_view asked;                  // authority or name as written, where there is no target
  const policy::Target* target = nullptr;  // null: never got so far
  std::uint16_t port = 0;
  std::string_view destination;            // address a caught connection went to
  std::string_view method;
  std::string_view path;
  std::string_view sni;
  std::string_view detail;                 // one line more, escaped

  bool allowed() const noexcept { return reason == policy::ReasonCode::kAllowed; }
};

// What was asked for as a person would write it, escaped: an HTTP request by its URL ("GET http://denied.test/x"), a connection by its
// authority ("denied.test:443").
std::string asked_for(const Decision& decision);

struct RecordedDecision {
  std::string id;  // what the client is told
  audit::Sequence sequence;
};

}  // namespace sallyport::proxy
