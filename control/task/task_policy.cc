#include "control/task/task_policy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "core/base/unique_fd.h"
#include "policies/engine/load.h"

namespace sallyport::control {
namespace {

void show(const std::vector<policy::Diagnostic>& diagnostics) {
  for (const auto& diagnostic : diagnostics) {
    if (diagnostic.severity == policy::Severity::kNote) continue;
    std::fputs(policy::render(diagnostic).c_str(), stderr);
  }
}

Result<std::shared_ptr<const policy::CompiledPolicy>> load_ceiling(const std::string& text, const std::string& file, const TaskId& task) {
  auto outcome = policy::load(text, file, {nullptr, task.text()});
  if (outcome.policy) std::ranges::move(policy::ceiling_faults(*outcome.policy, file), std::back_inserter(outcome.diagnostics));
  show(outcome.diagnostics);
  bool fine = outcome.policy && std::ranges::none_of(outcome.diagnostics, [](const auto& d) { return d.severity == policy::Severity::kError; });
  if (!fine) return fail(ErrorKind::kInvalid, "the policy " + file + ", which stands above all others, does not load");
  return std::move(outcome.policy);
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t bound) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno(path);
  struct stat about {};
  if (::fstat(file.get(), &about) != 0) return fail_errno(path);
  if (S_ISDIR(about.st_mode)) return fail(ErrorKind::kInvalid, path + " is a directory");
  std::string text;
  char buffer[65536];
  for (;;) {
    auto got = ::read(file.get(), buffer, sizeof buffer);
    if (got < 0) return fail_errno(path);
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > bound) return fail(ErrorKind::kInvalid, path + " is larger than " + std::to_string(bound) + " bytes");
  }
}

Result<TaskPolicy> read_task_policy(const std::optional<std::string>& path, const ApplianceConfig& config, const TaskId& task) {
  if (!path) return TaskPolicy{policy::deny_all(), {}, {}};
  policy::LoadOptions options{nullptr, task.text()};
  std::string ceiling_text;
  if (config.within) {
    BOOST_OUTCOME_TRY(ceiling_text, read_file(*config.within, policy::kMaxPolicyBytes));
    BOOST_OUTCOME_TRY(options.ceiling, load_ceiling(ceiling_text, *config.within, task));
  }
  BOOST_OUTCOME_TRY(auto text, read_file(*path, policy::kMaxPolicyBytes));
  auto outcome = policy::load(text, *path, options);
  show(outcome.diagnostics);
  if (!outcome.policy) return fail(ErrorKind::kInvalid, "the policy " + *path + " does not load");
  return TaskPolicy{std::move(outcome.policy), std::move(text), *path, std::move(ceiling_text), config.within.value_or("")};
}

Result<ApplianceConfig> read_appliance_config(const std::optional<std::string>& path) {
  if (!path) return ApplianceConfig{};
  BOOST_OUTCOME_TRY(auto text, read_file(*path, kMaxConfigBytes));
  auto outcome = load_appliance_config(text, *path);
  show(outcome.diagnostics);
  if (!outcome.config) return fail(ErrorKind::kInvalid, "the configuration " + *path + " does not load");
  return std::move(*outcome.config);
}

}  // namespace sallyport::control
