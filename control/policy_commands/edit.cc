#include "control/policy_commands/edit.h"

#include <cstdio>

#include "control/policy_commands/policy_file.h"
#include "control/policy_commands/write_file.h"
#include "control/task/task_policy.h"
#include "core/base/escape.h"
#include "policies/edit/add.h"
#include "policies/edit/format.h"
#include "policies/edit/import.h"

namespace sallyport::control {

namespace edit = policy::edit;

int format_policy(const std::string& file, bool check, const std::string& ceiling) {
  auto options = open_ceiling(ceiling);
  if (!options) return kNoAnswer;
  auto text = read_file(file, policy::kMaxPolicyBytes);
  if (!text) return no_answer(text.error().detail);
  auto formatted = edit::format(text.value(), file, *options);
  if (!formatted.text) {
    show_errors(formatted.diagnostics);
    return no_answer(file + " is left as it is");
  }
  if (*formatted.text == text.value()) return kYes;
  if (check) {
    std::printf("%s is not in the canonical layout: run 'sallyport policy fmt %s'\n", escape_text(file).c_str(),
                escape_text(file).c_str());
    return kNo;
  }
  if (auto written = replace_file(file, *formatted.text); !written) return no_answer(written.error().detail);
  std::printf("%s: laid out anew\n", escape_text(file).c_str());
  return kYes;
}

int add_rule(const std::string& file, const std::string& wanted, const std::string& id, const std::string& ceiling) {
  auto options = open_ceiling(ceiling);
  if (!options) return kNoAnswer;
  auto text = read_file(file, policy::kMaxPolicyBytes);
  if (!text) return no_answer(text.error().detail);
  auto added = edit::add(text.value(), file, wanted, id, *options);
  std::string name = escape_text(file);
  switch (added.kind) {
    case edit::Added::Kind::kAlready:
      std::printf("%s: %s; nothing was changed\n", name.c_str(), added.why.c_str());
      return kNo;
    case edit::Added::Kind::kRefused:
      show_errors(added.diagnostics);
      std::fprintf(stderr, "sallyport: %s: %s; nothing was changed\n", name.c_str(), added.why.c_str());
      return kNo;
    case edit::Added::Kind::kAdded:
      break;
  }
  if (auto written = replace_file(file, added.text); !written) return no_answer(written.error().detail);
  std::printf("%s:%u: added  %s\n", name.c_str(), added.line, escape_text(added.rule, 1000).c_str());
  return kYes;
}

int import_policy(const ImportOptions& options) {
  auto source = edit::source_of(options.from);
  if (!source) return no_answer("--from takes smokescreen, sandbox-runtime or squid, not '" + options.from + "'");
  auto text = read_file(options.file, policy::kMaxPolicyBytes);
  if (!text) return no_answer(text.error().detail);
  auto imported = edit::import_policy(*source, text.value(), options.file, {options.name, options.role});
  for (const auto& diagnostic : imported.diagnostics) std::fputs(policy::render(diagnostic).c_str(), stderr);
  if (!imported.text) return no_answer("nothing was imported");
  if (!options.output) {
    std::fputs(imported.text->c_str(), stdout);
  } else if (auto written = create_file(*options.output, *imported.text); !written) {
    return no_answer(written.error().detail);
  }
  return imported.diagnostics.empty() ? kYes : kNo;
}

}  // namespace sallyport::control
