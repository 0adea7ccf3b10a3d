// Any bytes as a policy file: loading ends, refuses with a reason or gives a policy, and what it says is printable.
// What loads is asked a few questions.
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "policies/engine/decide.h"
#include "policies/engine/load.h"
#include "policies/engine/notes.h"
#include "policies/engine/question.h"

using namespace sallyport;
using namespace sallyport::policy;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto outcome = load({reinterpret_cast<const char*>(data), size}, "fuzz.yaml");
  bool failed = false;
  for (const Diagnostic& d : outcome.diagnostics) {
    failed |= d.severity == Severity::kError;
    for (char c : render(d))
      if (c != '\n' && (c < 0x20 || c >= 0x7f)) std::abort();
  }
  if (failed == (outcome.policy != nullptr)) std::abort();
  if (!outcome.policy) return 0;
  if (outcome.document == nullptr) std::abort();
  for (const Diagnostic& d : notes(*outcome.policy, *outcome.document, "fuzz.yaml"))
    for (char c : render(d))
      if (c != '\n' && (c < 0x20 || c >= 0x7f)) std::abort();
  // A question means the same once it is written anew, and a record is granted only for a name that may be known.
  for (const PolicyTest& test : outcome.document->policy_tests) {
    auto again = Question::parse(test.question.text());
    if (!again || ask(*outcome.policy, again.value()).allowed() != ask(*outcome.policy, test.question).allowed()) {
      if (test.question.content_type.empty()) std::abort();
    }
    if (test.question.kind == Question::Kind::kRecord && ask(*outcome.policy, test.question).allowed() &&
        !decide_name(*outcome.policy, *test.question.target.host()).allowed())
      std::abort();
  }
  // Within itself a policy allows what it allows, unless it cannot be a ceiling.
  auto within = load({reinterpret_cast<const char*>(data), size}, "fuzz.yaml", {outcome.policy});
  bool can = ceiling_faults(*outcome.policy, "fuzz.yaml").empty() && !outcome.document->within;
  if (can && within.policy == nullptr) std::abort();
  auto path = CanonicalPath::parse("/v1/a").value();
  for (auto host : {"a.example", "b.a.example", "metadata.google.internal"}) {
    auto name = HostName::parse(host).value();
    auto known = decide_name(*outcome.policy, name);
    for (std::uint16_t port : std::initializer_list<std::uint16_t>{80, 443, 5432}) {
      auto connection = decide_connection(*outcome.policy, {Target(name), Port::of(port)});
      auto http = decide_http(*outcome.policy, {Target(name), Port::of(port), "GET", path, ""});
      if ((connection.allowed() || http.allowed()) && !known.allowed()) std::abort();
      if (http.allowed() && connection.treatment != Treatment::kHttp) std::abort();
    }
  }
  return 0;
}
