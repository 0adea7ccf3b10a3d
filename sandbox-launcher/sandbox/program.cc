#include "sandbox-launcher/sandbox/program.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "core/base/escape.h"
#include "core/base/unique_fd.h"
#include "core/sys/child_process.h"
#include "core/sys/spawn.h"

namespace sallyport::launcher {
namespace {

constexpr std::size_t kMaxOutput = 64 * 1024;

// Reads until end of file or the deadline; what goes beyond the maximum is read and dropped.
Result<std::string> read_all(int fd, Deadline deadline) {
  std::string text;
  std::array<char, 4096> part{};
  for (;;) {
    pollfd polled{fd, POLLIN, 0};
    int ready = poll(&polled, 1, deadline.poll_timeout(Clock::now()));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail_errno("poll");
    if (ready == 0) return fail(ErrorKind::kTimedOut, "no end of its output in time");
    ssize_t n = read(fd, part.data(), part.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("read");
    if (n == 0) return text;
    text.append(part.data(), std::min(static_cast<std::size_t>(n), kMaxOutput - text.size()));
  }
}

}  // namespace

Result<std::string> find_program(const std::string& name) {
  for (const char* directory : {"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}) {
    std::string path = std::string(directory) + "/" + name;
    struct stat facts{};
    if (stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) && access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(ErrorKind::kUnavailable,
              name + " is not installed: apt-get install " + (name == "bwrap" ? "bubblewrap" : name));
}

Result<ProgramAnswer> run_program(const std::vector<std::string>& argv, Deadline deadline) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("pipe");
  UniqueFd reader(ends[0]), writer(ends[1]);
  sys::SpawnOptions options;
  options.path = argv.at(0);
  options.argv = argv;
  options.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"};
  options.descriptors = {{STDOUT_FILENO, writer.get()}, {STDERR_FILENO, writer.get()}};
  BOOST_OUTCOME_TRY(auto child, sys::ChildProcess::start(options));
  writer.reset();
  auto text = read_all(reader.get(), deadline);
  if (!text)
    return fail(Error{text.error().kind, text.error().code, escape_text(argv[0]) + ": " + text.error().detail});
  BOOST_OUTCOME_TRY(auto status, child.wait(deadline));
  return ProgramAnswer{status.succeeded(), std::move(text).value()};
}

Result<std::string> program_version(const std::string& path, Deadline deadline) {
  BOOST_OUTCOME_TRY(auto answer, run_program({path, "--version"}, deadline));
  if (!answer.succeeded)
    return fail(ErrorKind::kUnavailable, escape_text(path) + " --version fails: " + escape_text(answer.output, 200));
  return escape_text(answer.output.substr(0, answer.output.find('\n')), 120);
}

}  // namespace sallyport::launcher
