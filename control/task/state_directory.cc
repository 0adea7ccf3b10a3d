#include "control/task/state_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace sallyport::control {
namespace {

Result<std::string> default_parent() {
  if (::geteuid() == 0) return std::string("/var/lib/sallyport");
  if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') return std::string(state) + "/sallyport";
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') return std::string(home) + "/.local/state/sallyport";
  return fail(ErrorKind::kUnavailable, "there is no home directory for the task's state; give one by --state DIR");
}

Result<std::string> absolute(const std::string& path) {
  std::error_code code;
  auto full = std::filesystem::absolute(path, code).lexically_normal();
  if (code) return fail(ErrorKind::kInvalid, path + ": " + code.message());
  std::string text = full.string();
  if (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

Result<sys::PrivateDirectory> state_directory(const std::optional<std::string>& asked, const TaskId& task) {
  if (asked) {
    BOOST_OUTCOME_TRY(auto path, absolute(*asked));
    return sys::PrivateDirectory::open_or_create(path);
  }
  BOOST_OUTCOME_TRY(auto parent, default_parent());
  std::error_code code;
  std::filesystem::create_directories(std::filesystem::path(parent).parent_path(), code);
  BOOST_OUTCOME_TRY(auto root, sys::PrivateDirectory::open_or_create(parent));
  return sys::PrivateDirectory::open_or_create(parent + "/" + std::string(task.text()));
}

}  // namespace sallyport::control
