#include "policies/engine/relay_check.h"

#include <algorithm>
#include <array>
#include <string>

namespace sallyport::policy {
namespace {

constexpr std::array<std::string_view, 14> kRelays{"proxy",   "fetch",  "relay",  "redirect", "forward", "redir",     "unfurl",
                                                   "oembed",  "import", "render", "download-url", "screenshot", "url", "cors"};

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

}  // namespace

void check_relay(const Rule& rule, const RuleTerms& terms, Position at, Reporter& reporter) {
  if (rule.action == Action::kDeny || !terms.path || (terms.request && terms.request->query)) return;
  for (const std::string& segment : terms.path->segments()) {
    // "proxy.php" is as telling as "proxy".
    std::string word = lower(std::string_view(segment).substr(0, segment.find('.')));
    if (std::ranges::find(kRelays, word) == kRelays.end()) continue;
    return reporter.warning(at, "paths like this often fetch other addresses for whoever asks, and any query is allowed", rule.text,
                            "query: with the keys that are needed, or query: none");
  }
}

}  // namespace sallyport::policy
