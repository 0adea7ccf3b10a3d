// For tests: an audit process as a child, its log file, and the control side of its channel. Every wait is bounded.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/audit/api/audit.pb.h"
#include "control/audit/daemon.h"
#include "control/audit_log/verify.h"
#include "core/audit/ring.h"
#include "core/audit/ring_reader.h"
#include "core/ipc/channel.h"
#include "core/ipc/message.h"

namespace sallyport::audit_writer::testing {

using audit::api::FromAudit;
using audit::api::Start;
using audit::api::ToAudit;

inline Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }

// A directory that is removed with its contents.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = ::testing::TempDir() + "sallyport-audit-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Starts `body` as a child that dies with this process.
template <class Body>
pid_t fork_body(Body body) {
  pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(60);
    ::_exit(body());
  }
  return pid;
}

// Waits at most ten seconds, then kills. The wait status; nullopt when it had to be killed.
inline std::optional<int> wait_bounded(pid_t pid) {
  Deadline deadline = soon();
  int status = 0;
  while (!deadline.passed(Clock::now())) {
    if (::waitpid(pid, &status, WNOHANG) == pid) return status;
    ::usleep(500);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, &status, 0);
  return std::nullopt;
}

class AuditUnderTest {
 public:
  explicit AuditUnderTest(std::filesystem::path log) : log_(std::move(log)) {
    start_.set_owner("tester");
    start_.set_reserve_bytes(1u << 20);
  }
  ~AuditUnderTest() { kill(); }

  Start& settings() { return start_; }
  pid_t pid() const { return pid_; }
  ipc::Channel& channel() { return control_; }

  // Starts a process on the log and waits for its Ready; nullopt when it ends instead.
  std::optional<audit::api::Ready> start() {
    auto [ours, theirs] = ipc::Channel::pair().value();
    // The child of the test must not hold this end open.
    pid_ = fork_body([&, &mine = ours, &its = theirs] {
      mine.close();
      auto done = run_daemon(std::move(its), [](const Start&) -> Result<void> { return success(); });
      if (done.has_error()) std::fprintf(stderr, "audit under test: %s\n", done.error().to_string().c_str());
      return done.has_value() ? 0 : 1;
    });
    theirs.close();
    control_ = std::move(ours);
    return begin();
  }

  // The same with the real program, in its confinement.
  std::optional<audit::api::Ready> exec(const std::string& program) {
    auto [ours, theirs] = ipc::Channel::pair().value();
    int fd = theirs.fd();
    pid_ = fork_body([&, &mine = ours] {
      mine.close();
      ::dup2(fd, 3);
      ::close_range(4, ~0u, 0);
      char* argv[] = {const_cast<char*>("sallyport-audit"), nullptr};
      char* env[] = {nullptr};
      ::execve(program.c_str(), argv, env);
      return 127;
    });
    theirs.close();
    control_ = std::move(ours);
    return begin();
  }

  bool send(const ToAudit& message, const std::vector<int>& descriptors = {}) {
    return ipc::send_message(control_, message, descriptors, soon()).has_value();
  }
  // The next message of audit; nullopt when the channel ended or nothing came.
  std::optional<FromAudit> receive(Deadline deadline = soon()) {
    auto received = ipc::receive_message<FromAudit>(control_, deadline);
    if (received.has_error()) return std::nullopt;
    return received.value().message;
  }

  // Empty: registered.
  std::string register_ring(std::uint64_t id, const audit::RingDescriptors& ring, const std::vector<std::string>& tasks) {
    ToAudit message;
    message.mutable_register_ring()->set_ring(id);
    for (const std::string& task : tasks) message.mutable_register_ring()->add_tasks(task);
    if (!send(message, {ring.memory.get(), ring.doorbell.get(), ring.ack.get()})) return "not sent";
    auto answer = receive();
    if (!answer || !answer->has_ring_registered()) return "no answer";
    return answer->ring_registered().error();
  }
  std::optional<audit::api::Flushed> flush() {
    ToAudit message;
    message.mutable_flush()->set_id(++flushes_);
    if (!send(message)) return std::nullopt;
    while (auto answer = receive()) {
      if (answer->has_flushed() && answer->flushed().id() == flushes_) return answer->flushed();
      told_.push_back(*answer);
    }
    return std::nullopt;
  }
  std::optional<audit::api::TaskEnded> end_task(const std::string& task) {
    ToAudit message;
    message.mutable_end_task()->set_task(task);
    if (!send(message)) return std::nullopt;
    while (auto answer = receive()) {
      if (answer->has_task_ended()) return answer->task_ended();
      told_.push_back(*answer);
    }
    return std::nullopt;
  }
  // Messages that came while an answer was waited for.
  std::vector<FromAudit>& told() { return told_; }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(std::exchange(pid_, -1), nullptr, 0);
    control_.close();
  }
  // Ends the channel and waits: exit status 0 is a whole log.
  std::optional<int> stop() {
    control_.close();
    return wait_bounded(std::exchange(pid_, -1));
  }
  std::optional<int> wait() { return wait_bounded(std::exchange(pid_, -1)); }

  audit_log::VerifyReport verify() const { return audit_log::verify(log_.string()).value(); }
  // Every line, parsed by a reader that is not ours.
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::ifstream in(log_);
    for (std::string line; std::getline(in, line);) {
      auto parsed = nlohmann::json::parse(line, nullptr, false);
      if (!parsed.is_discarded()) all.push_back(std::move(parsed));
    }
    return all;
  }
  std::vector<nlohmann::json> lines(const std::string& kind) const {
    auto all = lines();
    std::erase_if(all, [&](const nlohmann::json& line) { return line["kind"] != kind; });
    return all;
  }

 private:
  std::optional<audit::api::Ready> begin() {
    UniqueFd file(::open(log_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
    ToAudit message;
    *message.mutable_start() = start_;
    if (!send(message, {file.get()})) return std::nullopt;
    auto answer = receive();
    if (!answer || !answer->has_ready()) return std::nullopt;
    return answer->ready();
  }

  std::filesystem::path log_;
  Start start_;
  pid_t pid_ = -1;
  ipc::Channel control_;
  std::uint64_t flushes_ = 0;
  std::vector<FromAudit> told_;
};

inline TaskId task_id(const std::string& text) { return TaskId::parse(text).value(); }

// Waits until everything appended is accepted.
inline bool accepted(audit::AuditRing& ring, std::chrono::milliseconds wait = std::chrono::seconds(10)) {
  Deadline deadline = Deadline::after(wait);
  while (ring.accepted() < ring.appended()) {
    if (deadline.passed(Clock::now())) return false;
    ::usleep(100);
  }
  return true;
}

}  // namespace sallyport::audit_writer::testing
