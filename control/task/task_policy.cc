#include "control/task/task_policy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

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

Result<TaskPolicy> read_task_policy(const std::optional<std::string>& path) {
  if (!path) return TaskPolicy{policy::deny_all(), {}, {}};
  BOOST_OUTCOME_TRY(auto text, read_file(*path, policy::kMaxPolicyBytes));
  auto outcome = policy::load(text, *path);
  show(outcome.diagnostics);
  if (!outcome.policy) return fail(ErrorKind::kInvalid, "the policy " + *path + " does not load");
  return TaskPolicy{std::move(outcome.policy), std::move(text), *path};
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
