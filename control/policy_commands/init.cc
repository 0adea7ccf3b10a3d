#include "policies/edit/init.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "control/policy_commands/edit.h"
#include "control/policy_commands/policy_file.h"
#include "control/policy_commands/write_file.h"
#include "core/base/escape.h"
#include "policies/catalogue/catalogue.h"

namespace sallyport::control {
namespace {

namespace edit = policy::edit;

// One line; nothing at the end of input.
std::optional<std::string> ask(const std::string& question) {
  std::fprintf(stderr, "%s ", question.c_str());
  std::string line;
  if (!std::getline(std::cin, line) || line.size() > 4096) return std::nullopt;
  return line;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> out(1);
  for (char c : line) {
    if (c != ' ' && c != ',')
      out.back() += c;
    else if (!out.back().empty())
      out.emplace_back();
  }
  if (out.back().empty()) out.pop_back();
  return out;
}

std::string grants_there_are() {
  std::string out;
  std::string_view last;
  for (const auto& entry : policy::catalogue()) {
    if (entry.name != last) out += (out.empty() ? "" : ", ") + std::string(entry.name);
    last = entry.name;
  }
  return out;
}

bool ask_for(edit::Wishes& wishes) {
  auto grants = ask("Ready-made grants to use (" + grants_there_are() + "; empty: none):");
  if (!grants) return false;
  wishes.grants = words_of(*grants);
  auto apis =
      ask("Hosts or URLs the task has to reach (such as api.example or http://api.example/v1/**; empty: none):");
  if (!apis) return false;
  wishes.apis = words_of(*apis);
  bool clear = false;
  for (const auto& api : wishes.apis) clear = clear || api.starts_with("http://");
  if (!clear) return true;
  auto reading = ask("Only to read from them, by GET and HEAD? [y/n]");
  if (!reading) return false;
  wishes.read_only = reading->starts_with('y') || reading->starts_with('Y');
  return true;
}

}  // namespace

int init_policy(const InitOptions& options) {
  edit::Wishes wishes{options.name, options.grants, options.apis, options.read_only};
  bool none = wishes.grants.empty() && wishes.apis.empty();
  if (none && ::isatty(STDIN_FILENO) == 1 && !ask_for(wishes)) return no_answer("no answer, so no policy");
  auto text = edit::initial_policy(wishes);
  if (!text) return no_answer(text.error().detail);
  if (!options.file) {
    std::fputs(text.value().c_str(), stdout);
    return kYes;
  }
  if (auto written = create_file(*options.file, text.value()); !written) return no_answer(written.error().detail);
  std::string name = escape_text(*options.file);
  std::printf("%s: written; next: sallyport policy explain %s 'GET http://host/path'\n", name.c_str(), name.c_str());
  return kYes;
}

}  // namespace sallyport::control
