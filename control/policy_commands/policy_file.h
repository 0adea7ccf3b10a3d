// A policy file for the commands around it: read, loaded, and what is wrong with it told.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policies/engine/load.h"

namespace sallyport::control {

// Exit statuses of the policy commands: an answer of yes, an answer of no, and no answer.
inline constexpr int kYes = 0;
inline constexpr int kNo = 1;
inline constexpr int kNoAnswer = 2;

struct PolicyFile {
  std::string path;
  std::string text;
  policy::LoadOutcome loaded;  // with a policy
};

// Nothing when a file cannot be read or does not load; why was then written to standard error. `ceiling` is the file of
// the policy that this one has to be within; empty: none. `task` stands for {task} in both; see policy::LoadOptions.
std::optional<PolicyFile> open_policy(const std::string& path, const std::string& ceiling = {},
                                      std::string_view task = {});
// The ceiling alone: null when `path` is empty; nothing, and told, when it is no policy or none that can be a ceiling.
std::optional<policy::LoadOptions> open_ceiling(const std::string& path, std::string_view task = {});

// "sallyport: what" to standard error; returns kNoAnswer. `what` is escaped here.
int no_answer(const std::string& what);
void show_errors(const std::vector<policy::Diagnostic>& diagnostics);

}  // namespace sallyport::control
