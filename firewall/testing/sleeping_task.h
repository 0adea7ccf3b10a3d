// For tests: a process that sleeps in a fresh user and network namespace, as the task of a sandbox before it starts.
#pragma once

#include <sys/types.h>

namespace sallyport::firewall {

class SleepingTask {
 public:
  SleepingTask();
  SleepingTask(const SleepingTask&) = delete;
  SleepingTask& operator=(const SleepingTask&) = delete;
  ~SleepingTask();

  // -1 where the machine gives no such namespace.
  pid_t pid() const noexcept { return pid_; }

 private:
  pid_t pid_ = -1;
};

}  // namespace sallyport::firewall
