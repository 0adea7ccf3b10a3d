#include "core/base/escape.h"
#include "policies/review/diff.h"

namespace sallyport::policy::review {
namespace {

void render_changes(std::string& out, std::string_view head, const std::vector<Change>& changes, std::size_t untold,
                    const std::string& a, const std::string& b) {
  if (changes.empty()) return;
  out += std::string(head) + "\n";
  for (const Change& change : changes) {
    out += "  " + change.what + "\n";
    if (!change.witness) continue;
    out += "    for example  " + change.witness->text() + "\n";
    out += "      " + a + ": " + change.said_a + "\n";
    out += "      " + b + ": " + change.said_b + "\n";
  }
  if (untold != 0) out += "  and " + std::to_string(untold) + " more\n";
}

}  // namespace

std::string render(const Diff& difference, std::string_view name_a, std::string_view name_b) {
  std::string a = escape_text(name_a, 200), b = escape_text(name_b, 200), out;
  render_changes(out, "wider:", difference.wider, difference.wider_untold, a, b);
  render_changes(out, "narrower:", difference.narrower, difference.narrower_untold, a, b);
  for (const auto& what : difference.undecided) out += "cannot decide: " + what + "\n";
  if (difference.is_same())
    out += b + " allows what " + a + " allows\n";
  else if (!difference.is_wider())
    out += b + " allows nothing that " + a + " denies\n";
  return out;
}

}  // namespace sallyport::policy::review
