#include "policies/engine/method_reader.h"

#include <algorithm>

#include "policies/engine/did_you_mean.h"

namespace sallyport::policy {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return out;
}

void report_unknown(std::string_view word, Position at, Reporter& reporter) {
  std::string big = upper(word);
  if (word.empty()) return reporter.error(at, "a method is missing beside a comma", {}, "GET,HEAD");
  if (big == "*" || big == "ANY" || big == "ALL")
    return reporter.error(at, "every method is written by leaving the methods out", word, "the destination alone");
  if (big == "CONNECT" || big == "TRACE" || big == "PRI")
    return reporter.error(at, big + " is never allowed by a rule", word, "the other methods");
  if (MethodSet::of(big)) return reporter.error(at, "methods are written in upper case", word, big);
  if (word.starts_with('[') || word.ends_with(']'))
    return reporter.error(at, "methods stand without brackets", word, "GET,HEAD http://...");
  auto meant = did_you_mean(big, known_methods());
  reporter.error(at,
                 "unknown method " + quoted(word) + (meant.empty() ? "" : ": did you mean " + std::string(meant) + "?"),
                 word, meant.empty() ? "a registered method, such as GET" : std::string(meant));
}

}  // namespace

std::optional<MethodSet> read_methods(std::string_view text, Position at, Reporter& reporter) {
  MethodSet methods;
  bool fine = true;
  for (;;) {
    auto comma = text.find(',');
    auto word = text.substr(0, comma);
    if (auto method = MethodSet::of(word); !method) {
      report_unknown(word, at, reporter);
      fine = false;
    } else if (methods.holds(*method)) {
      reporter.error(at, "the method " + std::string(word) + " stands twice", word, "it once");
      fine = false;
    } else {
      methods.add(*method);
    }
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return fine ? std::optional(methods) : std::nullopt;
}

}  // namespace sallyport::policy
