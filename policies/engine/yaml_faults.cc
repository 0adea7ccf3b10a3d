#include "policies/engine/yaml_faults.h"

#include <algorithm>

#include "core/base/escape.h"

namespace sallyport::policy {
namespace {

std::string_view line_of(std::string_view text, std::uint32_t line) {
  for (std::uint32_t i = 1; i < line; ++i) {
    auto end = text.find('\n');
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// What follows "allow:" or "deny:" in a line, if it has one.
std::string_view destination_in(std::string_view line) {
  for (std::string_view key : {"allow:", "deny:"})
    if (auto at = line.find(key); at != std::string_view::npos) return trimmed(line.substr(at + key.size()));
  return {};
}

struct Saying {
  std::string message;
  std::string advice;
};

Saying about_alias(std::string_view line) {
  auto destination = destination_in(line);
  if (!destination.starts_with("*."))
    return {"* at the beginning of a value is an alias in YAML", "the value in single quotes: '*...'"};
  std::string host = escape_text(destination.substr(0, destination.find_first_of("/ ,}")), 80);
  return {"a destination begins with its scheme (and * at the beginning of a value is an alias in YAML)",
          "tls://" + host + ", or http://" + host + "/**"};
}

bool has_bracketed_methods(std::string_view line) { return destination_in(line).starts_with('['); }

bool has_flow_braces(std::string_view line) {
  auto open = line.find('{');
  return open != std::string_view::npos && line.find('{', open + 1) != std::string_view::npos;
}

Saying about(std::string_view problem, std::string_view context, std::string_view line) {
  auto says = [&](std::string_view part) { return problem.find(part) != std::string_view::npos; };
  if (context.find("an alias") != std::string_view::npos) return about_alias(line);
  if (context.find("an anchor") != std::string_view::npos)
    return {"& at the beginning of a value is an anchor in YAML", "the value in single quotes"};
  if (has_bracketed_methods(line))
    return {"methods stand before the destination without brackets",
            "GET,HEAD http://... (commas, no spaces between methods)"};
  if (says("escape character") || says("hexdecimal number"))
    return {"in double quotes a back-slash begins an escape", "single quotes, where a back-slash is itself"};
  if (context.find("quoted scalar") != std::string_view::npos)
    return {"a quote is opened here and never closed", "the closing quote"};
  if (has_flow_braces(line) && context.find("flow mapping") != std::string_view::npos)
    return {"inside braces a further { or , ends the value",
            "the value in single quotes, or the keys on lines of their own"};
  if (context.find("flow mapping") != std::string_view::npos)
    return {"a { is not closed by a }, or a comma is missing", "the missing } or comma"};
  if (context.find("flow sequence") != std::string_view::npos || context.find("flow node") != std::string_view::npos)
    return {"a [ is not closed by a ], or a comma is missing", "the missing ] or comma"};
  if (says("cannot start any token"))
    return {"a value cannot begin with this character in YAML", "the value in single quotes"};
  if (says("mapping values are not allowed"))
    return {"a colon and a space where no key can stand: the line is indented too far, or the value holds ': '",
            "the key in line with its neighbours, or the value in single quotes"};
  if (says("could not find expected ':'")) return {"a key without a colon", "key: value"};
  if (says("did not find expected key") || says("expected '-' indicator") || says("block sequence entries"))
    return {"this line is not in line with those above it", "the same number of spaces as the line it belongs to"};
  return {"this is not YAML: " + escape_text(problem, 120), {}};
}

}  // namespace

void report_yaml_fault(std::string_view text, const char* problem, const char* context, Position problem_at,
                       Position context_at, Reporter& reporter) {
  std::string_view why = problem == nullptr ? "unreadable" : problem;
  std::string_view where = context == nullptr ? "" : context;
  // An unclosed quote or brace is seen at the end of the file; it was made where it began.
  bool begun_before =
      where.find("quoted scalar") != std::string_view::npos && why.find("escape") == std::string_view::npos;
  Position at = begun_before ? context_at : problem_at;
  std::string_view line = line_of(text, at.line);
  if (trimmed(line).empty() && context != nullptr) {
    at = context_at;
    line = line_of(text, at.line);
  }
  Saying saying = about(why, where, line);
  reporter.error(at, std::move(saying.message), trimmed(line), std::move(saying.advice));
}

}  // namespace sallyport::policy
