#include "firewall/testing/sleeping_task.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sallyport::firewall {

SleepingTask::SleepingTask() {
  int ready[2] = {-1, -1};
  if (::pipe(ready) != 0) return;
  pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char ok = ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0 ? 1 : 0;
    if (::write(ready[1], &ok, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char ok = 0;
  bool answered = child > 0 && ::read(ready[0], &ok, 1) == 1;
  ::close(ready[0]);
  ::close(ready[1]);
  pid_ = child;
  if (answered && ok == 1) return;
  if (child > 0) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
  pid_ = -1;
}

SleepingTask::~SleepingTask() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace sallyport::firewall
