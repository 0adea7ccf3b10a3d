#include "sandbox-launcher/bwrap/arguments.h"

#include "sandbox-launcher/spec/spec.h"

namespace sallyport::launcher {

std::vector<std::string> bwrap_options(const BwrapRequest& request) {
  std::string id = std::to_string(kTaskId);
  std::vector<std::string> out = {"--unshare-all",
                                  "--unshare-user",
                                  "--unshare-cgroup",
                                  "--uid",
                                  id,
                                  "--gid",
                                  id,
                                  "--hostname",
                                  request.host_name,
                                  "--new-session",
                                  "--die-with-parent",
                                  "--as-pid-1",
                                  "--cap-drop",
                                  "ALL",
                                  "--seccomp",
                                  std::to_string(request.filter_fd),
                                  "--clearenv"};
  for (const auto& variable : request.environment) {
    std::size_t equals = variable.find('=');
    out.insert(out.end(), {"--setenv", variable.substr(0, equals), variable.substr(equals + 1)});
  }
  out.insert(out.end(), {"--bind", request.root, "/", "--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--size",
                         std::to_string(request.shm_size.value), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"});
  for (const auto& path : request.hidden) out.insert(out.end(), {"--ro-bind", "/dev/null", path});
  out.insert(out.end(), {"--chdir", "/"});
  return out;
}

}  // namespace sallyport::launcher
