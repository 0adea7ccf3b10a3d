#include "sandbox-launcher/workspace/idmap.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace sallyport::launcher {
namespace {

// A child in a new user namespace that does nothing; ended and reaped with this object.
class Holder {
 public:
  Holder() : pid_(static_cast<pid_t>(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr))) {
    if (pid_ == 0)
      for (;;) pause();
  }
  ~Holder() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

Result<void> write_map(const std::string& path, const std::string& text) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno("write " + path);
  return success();
}

}  // namespace

Result<UniqueFd> make_idmap(uid_t owner, gid_t group, std::uint32_t host_id) {
  Holder holder;
  if (holder.pid() < 0) return fail_errno("make a user namespace for the workspace");
  std::string process = "/proc/" + std::to_string(holder.pid());
  std::string tail = " " + std::to_string(host_id) + " 1";
  BOOST_OUTCOME_TRY(write_map(process + "/uid_map", std::to_string(owner) + tail));
  BOOST_OUTCOME_TRY(write_map(process + "/gid_map", std::to_string(group) + tail));
  UniqueFd space(open((process + "/ns/user").c_str(), O_RDONLY | O_CLOEXEC));
  if (!space) return fail_errno("open the workspace's user namespace");
  return space;
}

}  // namespace sallyport::launcher
