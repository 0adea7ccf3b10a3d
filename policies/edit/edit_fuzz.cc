// Any bytes as a policy file that is laid out anew and added to: what comes out loads, means the same, and is done
// after once; a rule that is added is in there beside everything else. The same bytes are imported from every tool.
#include <cstdint>
#include <cstdlib>

#include "policies/edit/add.h"
#include "policies/edit/format.h"
#include "policies/edit/import.h"
#include "policies/review/inquiry.h"

using namespace sallyport;
using namespace sallyport::policy;

namespace {

void expect(bool fact) {
  if (!fact) std::abort();
}

void expect_printable(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& d : diagnostics)
    for (char c : render(d)) expect(c == '\n' || (c >= 0x20 && c < 0x7f));
}

void same_rules(const CompiledPolicy& a, const CompiledPolicy& b) {
  expect(a.rules().size() == b.rules().size() && a.budgets() == b.budgets() && a.label() == b.label());
  for (std::size_t i = 0; i < a.rules().size(); ++i) {
    const Rule &x = a.rules()[i], &y = b.rules()[i];
    expect(x.id == y.id && x.text == y.text && x.action == y.action && x.limits == y.limits && x.ech == y.ech &&
           x.dns == y.dns);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto loaded = load(text, "fuzz.yaml");
  auto once = edit::format(text, "fuzz.yaml");
  expect_printable(once.diagnostics);
  if (!loaded.policy) expect(!once.text);
  if (once.text) {
    auto again = edit::format(*once.text, "fuzz.yaml");
    expect(again.text && *again.text == *once.text);
    same_rules(*loaded.policy, *load(*once.text, "fuzz.yaml").policy);
  }
  auto added = edit::add(text, "fuzz.yaml", "GET http://added.example/x", "");
  expect_printable(added.diagnostics);
  if (added.kind == edit::Added::Kind::kAdded) {
    auto policy = load(added.text, "fuzz.yaml").policy;
    expect(policy != nullptr);
    expect(review::ask(*policy, review::Inquiry::parse("GET http://added.example/x").value()).allowed());
  }
  for (auto source : {edit::Source::kSmokescreen, edit::Source::kSandboxRuntime, edit::Source::kSquid}) {
    auto imported = edit::import_policy(source, text, "fuzz", {});
    expect_printable(imported.diagnostics);
    if (imported.text) expect(load(*imported.text, "made").policy != nullptr);
  }
  return 0;
}
