#include "policies/edit/import.h"

#include <algorithm>

#include "core/base/escape.h"
#include "policies/edit/importers.h"
#include "policies/engine/load.h"
#include "policies/engine/text_check.h"

namespace sallyport::policy::edit {
namespace {

// What other tools take and a policy file does not: a byte order mark, lines that end in CR LF, tabs between values.
std::string plain(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
    out += text[i] == '\t' ? ' ' : text[i];
  }
  return out;
}

std::string_view name_of(Source source) {
  switch (source) {
    case Source::kSmokescreen:
      return "smokescreen";
    case Source::kSandboxRuntime:
      return "sandbox-runtime";
    case Source::kSquid:
      return "squid";
  }
  return "";
}

void read(Source source, const std::string& text, const ImportWishes& wishes, ImportedRules& rules, Reporter& reporter,
          std::vector<std::string>& head) {
  if (!check_text(text, reporter)) return;
  if (source == Source::kSquid) return import_squid(text, rules, reporter);
  auto root = read_yaml(text, reporter);
  if (!root) return;
  source == Source::kSmokescreen ? import_smokescreen(*root, wishes, rules, reporter, head)
                                 : import_sandbox_runtime(*root, rules, reporter);
}

}  // namespace

std::optional<Source> source_of(std::string_view name) {
  for (Source source : {Source::kSmokescreen, Source::kSandboxRuntime, Source::kSquid})
    if (name_of(source) == name) return source;
  return std::nullopt;
}

Imported import_policy(Source source, std::string_view text, std::string_view file_name, const ImportWishes& wishes) {
  Reporter reporter(file_name);
  ImportedRules rules(file_name, reporter);
  std::vector<std::string> head{"Imported from " + std::string(file_name) + " (" + std::string(name_of(source)) + ")."};
  read(source, plain(text), wishes, rules, reporter, head);
  Imported out;
  if (!reporter.failed()) out = rules.finish(wishes, head);
  out.diagnostics = reporter.take();
  return out;
}

}  // namespace sallyport::policy::edit
