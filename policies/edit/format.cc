#include "policies/edit/format.h"

#include <algorithm>

#include "policies/edit/layout.h"

namespace sallyport::policy::edit {
namespace {

constexpr int kMostPasses = 8;

std::optional<YamlNode> tree_of(std::string_view text) {
  Reporter silent("");
  return read_yaml(text, silent);
}

bool same_comments(const Comments& a, const Comments& b) {
  return std::ranges::equal(a.all, b.all, [](const Comment& x, const Comment& y) { return x.text == y.text; });
}

// Formatting is refused rather than wrong.
Formatted refuse(std::string_view file_name, std::string message, std::string advice) {
  return {std::nullopt, {{std::string(file_name), 1, 1, Severity::kError, std::move(message), {}, std::move(advice)}}};
}

}  // namespace

Formatted format(std::string_view text, std::string_view file_name, const LoadOptions& options) {
  auto loaded = load(text, file_name, options);
  if (!loaded.policy) {
    std::erase_if(loaded.diagnostics, [](const Diagnostic& d) { return d.severity != Severity::kError; });
    return {std::nullopt, std::move(loaded.diagnostics)};
  }
  auto root = tree_of(text);
  if (!root) return refuse(file_name, "the file could not be read a second time", "the file anew");
  auto comments = comments_of(text, *root);
  std::string out = lay_out(*root, comments);
  auto again = tree_of(out);
  // A comment that moves to the end of another line can let a map stand in one line that could not before.
  for (int i = 0; again; ++i) {
    std::string next = lay_out(*again, comments_of(out, *again));
    if (next == out) break;
    if (i == kMostPasses)
      return refuse(file_name, "laying this file out comes to no end", "comments on lines of their own");
    out = std::move(next);
    again = tree_of(out);
  }
  bool kept = again && same_tree(*root, *again) && same_comments(comments, comments_of(out, *again)) &&
              load(out, file_name, options).policy;
  if (!kept)
    return refuse(file_name, "this file cannot be laid out anew without changing it",
                  "values in quotes on one line, comments on lines of their own");
  return {std::move(out), {}};
}

}  // namespace sallyport::policy::edit
