// sandbox_driver: one sandbox from a shell, without a network and without a policy.
//
//   sandbox_driver --state DIR [--task ID] [--runtime runc|bwrap] [--rootfs DIR] [--workspace DIR] [--ro DIR]… [--env
//   NAME[=V]]…
//                  [--memory BYTES] [--processes N] [--directory DIR] [--held PROGRAM] [--kill-after SECONDS]
//                  [--report FILE] [--checks] -- COMMAND…
//
// --held runs PROGRAM with init's pid while the sandbox is held. --report writes facts, end and clean-up as JSON.
// Exits with the command's own status, 122 when interrupted or killed after its time, 125 on failure.
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "sandbox-launcher/sandbox/checks.h"
#include "sandbox-launcher/sandbox/sandbox.h"

namespace sallyport::launcher {
namespace {

struct Arguments {
  SandboxSpec spec;
  std::string held;
  std::string report;
  double kill_after = 0;
  bool checks = false;
};

bool read_arguments(int argc, char** argv, Arguments& out) {
  out.spec.runtime = default_runtime(geteuid());
  for (int i = 1; i < argc; ++i) {
    std::string name = argv[i];
    if (name == "--") {
      out.spec.argv.assign(argv + i + 1, argv + argc);
      return true;
    }
    if (name == "--checks") {
      out.checks = true;
      continue;
    }
    if (i + 1 >= argc) return false;
    std::string value = argv[++i];
    if (name == "--task")
      out.spec.task = TaskId::parse(value).value();
    else if (name == "--state")
      out.spec.state_dir = value;
    else if (name == "--runtime")
      out.spec.runtime = parse_runtime(value).value();
    else if (name == "--rootfs")
      out.spec.rootfs = value;
    else if (name == "--workspace")
      out.spec.workspace = value;
    else if (name == "--ro")
      out.spec.read_only.push_back(value);
    else if (name == "--env")
      out.spec.environment.push_back(value);
    else if (name == "--memory")
      out.spec.memory = ByteCount{std::stoull(value)};
    else if (name == "--processes")
      out.spec.processes = static_cast<std::uint32_t>(std::stoul(value));
    else if (name == "--directory")
      out.spec.working_directory = value;
    else if (name == "--held")
      out.held = value;
    else if (name == "--kill-after")
      out.kill_after = std::stod(value);
    else if (name == "--report")
      out.report = value;
    else
      return false;
  }
  return out.checks;
}

int print_checks() {
  for (const auto& check : sandbox_checks())
    std::cout << (check.state == Check::State::kOk        ? "ok      "
                  : check.state == Check::State::kWarning ? "warning "
                                                          : "failed  ")
              << check.name << ": " << check.detail << "\n";
  return 0;
}

// True when the sandbox ended by itself.
bool await_end(const Sandbox& sandbox, int signals, double kill_after) {
  Deadline deadline =
      kill_after > 0
          ? Deadline::after(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kill_after)))
          : Deadline::never();
  for (;;) {
    pollfd polled[2] = {{sandbox.exit_fd(), POLLIN, 0}, {signals, POLLIN, 0}};
    int ready = poll(polled, 2, deadline.poll_timeout(Clock::now()));
    if (ready < 0) continue;
    return ready > 0 && polled[0].revents != 0;
  }
}

void write_report(const std::string& path, const Sandbox& sandbox, const ExitStatus& status, const RelayTotals& totals,
                  const CleanupReport& cleanup) {
  nlohmann::json report;
  for (const auto& step : cleanup.steps)
    report["cleanup"].push_back({{"name", step.name}, {"completed", step.completed}, {"error", step.error}});
  for (const auto& limit : sandbox.facts().limits)
    report["limits"].push_back({{"name", limit.name}, {"enforced_by", limit.enforced_by}});
  report["warnings"] = sandbox.warnings();
  report["version"] = sandbox.facts().version;
  report["host_uid"] = sandbox.facts().host_uid;
  report["environment"] = sandbox.facts().environment_names;
  report["how"] = static_cast<int>(status.how);
  report["code"] = status.code;
  report["oom_killed"] = status.oom_killed;
  report["process_limit_hits"] = status.process_limit_hits;
  report["output_bytes"] = totals.output_bytes;
  report["error_bytes"] = totals.error_bytes;
  report["input_bytes"] = totals.input_bytes;
  report["truncated"] = totals.truncated;
  std::ofstream(path) << report.dump() << "\n";
}

int failed(const Error& error) {
  std::fprintf(stderr, "sandbox_driver: %s\n", error.to_string().c_str());
  return 125;
}

int run(Arguments& arguments) {
  sigset_t handled;
  sigemptyset(&handled);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&handled, number);
  sigprocmask(SIG_BLOCK, &handled, nullptr);
  int signals = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
  arguments.spec.stdio = stdio_kind_of_caller();
  auto sandbox = Sandbox::create(arguments.spec, Deadline::after(std::chrono::seconds(20)));
  if (!sandbox) return failed(sandbox.error());
  Sandbox& made = *sandbox.value();
  if (!arguments.held.empty() && std::system((arguments.held + " " + std::to_string(made.init_pid())).c_str()) != 0)
    return 125;
  auto relay = StdioRelay::start(made.take_stdio(), CallerStreams{});
  if (!relay) return failed(relay.error());
  if (auto started = made.start(); !started) return failed(started.error());
  bool by_itself = await_end(made, signals, arguments.kill_after);
  if (!by_itself) (void)made.kill_tree(Deadline::after(std::chrono::seconds(5)));
  auto status = made.wait(Deadline::after(std::chrono::seconds(5)));
  RelayTotals totals = relay.value()->finish(Deadline::after(std::chrono::seconds(5)));
  if (!status) return failed(status.error());
  CleanupReport cleanup = made.destroy(Deadline::after(std::chrono::seconds(10)));
  if (!arguments.report.empty()) write_report(arguments.report, made, status.value(), totals, cleanup);
  return !by_itself ? 122 : cleanup.complete() ? status.value().shell_code() : 125;
}

}  // namespace
}  // namespace sallyport::launcher

int main(int argc, char** argv) {
  sallyport::launcher::Arguments arguments;
  if (!sallyport::launcher::read_arguments(argc, argv, arguments)) {
    std::fprintf(stderr, "sandbox_driver: see the head of its main.cc\n");
    return 125;
  }
  return arguments.checks ? sallyport::launcher::print_checks() : sallyport::launcher::run(arguments);
}
