#include "control/task/run.h"

#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "control/recorded_decisions/audit_decisions.h"
#include "control/recorded_decisions/refusals.h"
#include "control/task/attach.h"
#include "control/task/exit_code.h"
#include "control/task/observe.h"
#include "control/task/state_directory.h"
#include "core/sys/namespaces.h"
#include "core/sys/signals.h"
#include "sandbox-launcher/receipt/receipt.h"
#include "sandbox-launcher/sandbox/sandbox.h"

namespace sallyport::control {
namespace {

using launcher::Outcome;
using std::chrono::seconds;

constexpr auto kStartTime = seconds(20);
constexpr auto kEndTime = seconds(25);
constexpr auto kProxyEndTime = seconds(12);  // longer than a dial lasts, which nothing cuts short: without the answer the receipt has no network

std::string owner() {
  if (const auto* entry = ::getpwuid(::getuid())) return entry->pw_name;
  return "uid-" + std::to_string(::getuid());
}

// Why the task ended, when it was not by itself.
struct Ending {
  Outcome outcome = Outcome::kSuccess;
  std::string limit;
  std::string detail;
};

class Run {
 public:
  Run(const RunOptions& options, sys::SignalReader signals) : options_(options), signals_(std::move(signals)) {}

  int run() {
    auto started = start();
    if (!started) {
      ending_ = {Outcome::kPlatformFailure, {}, started.error().detail};
      if (cancelled_) ending_.outcome = Outcome::kCancelled;
      std::fprintf(stderr, "sallyport: %s\n", started.error().to_string().c_str());
      if (appliance_) take_appliance_events();
    } else {
      serve();
    }
    end();
    return report();
  }

 private:
  Result<void> start();
  Result<void> start_command(Deadline deadline);
  void serve();
  bool look(Deadline wall);
  void take_signals();
  void take_appliance_events();
  void end();
  void summarise_network(const proxy::api::TaskEnded& ended);
  void summarise_refusals();
  int report();
  int exit_code() const;
  launcher::SandboxSpec spec(const std::string& state_path) const;

  const RunOptions& options_;
  sys::SignalReader signals_;
  TaskId id_ = TaskId::random();
  TaskPolicy policy_;
  ApplianceConfig config_;
  TaskPools pools_ = fresh_pools();
  std::optional<sys::PrivateDirectory> state_;
  std::unique_ptr<Appliance> appliance_;
  std::unique_ptr<launcher::Sandbox> sandbox_;
  std::unique_ptr<launcher::StdioRelay> relay_;
  bool command_ran_ = false, task_added_ = false, cancelled_ = false;
  std::optional<Ending> ending_or_none_;
  Ending ending_;
  std::vector<std::string> limits_reached_;
  launcher::Receipt receipt_;
};

launcher::SandboxSpec Run::spec(const std::string& state_path) const {
  launcher::SandboxSpec spec;
  spec.runtime = options_.runtime.value_or(launcher::default_runtime(::geteuid()));
  spec.task = id_;
  spec.state_dir = state_path;
  spec.rootfs = options_.rootfs;
  spec.workspace = options_.workspace;
  spec.read_only = options_.read_only;
  spec.environment = options_.environment;
  spec.argv = options_.argv;
  spec.memory = config_.memory;
  spec.processes = config_.processes;
  spec.resolver = pools_.resolver4;
  spec.stdio = launcher::stdio_kind_of_caller();
  return spec;
}

Result<void> Run::start() {
  receipt_.started = std::chrono::system_clock::now();
  BOOST_OUTCOME_TRY(auto config, read_appliance_config(options_.config));
  config_ = std::move(config);
  BOOST_OUTCOME_TRY(auto policy, read_task_policy(options_.policy, config_, id_));
  policy_ = std::move(policy);
  if (options_.observe) {
    BOOST_OUTCOME_TRY(policy_, observing(std::move(policy_)));
    std::fputs(
        "sallyport: OBSERVING: a dry run. The policy holds and nothing more passes; what it refuses is recorded in "
        "full, and names that it\n"
        "sallyport: denies are answered, so that what the task would ask there is seen.\n",
        stderr);
  }
  auto deadline = Deadline::after(kStartTime);
  BOOST_OUTCOME_TRY(auto state, state_directory(options_.state, id_));
  state_.emplace(std::move(state));
  BOOST_OUTCOME_TRY(auto appliance, Appliance::start({options_.libexec, config_, owner(), {}}, *state_, deadline));
  appliance_ = std::move(appliance);
  BOOST_OUTCOME_TRY(auto sandbox, launcher::Sandbox::create(spec(state_->path()), deadline));
  sandbox_ = std::move(sandbox);
  receipt_.runtime = sandbox_->facts();
  if (!options_.quiet)
    for (const auto& warning : sandbox_->warnings()) std::fprintf(stderr, "sallyport: warning: %s\n", warning.c_str());
  BOOST_OUTCOME_TRY(auto target, firewall::target_of_pid(sandbox_->init_pid()));
  task_added_ = true;
  BOOST_OUTCOME_TRY(attach_task(*appliance_, {id_, policy_, pools_, options_.libexec}, std::move(target), deadline));
  return start_command(deadline);
}

Result<void> Run::start_command(Deadline deadline) {
  take_signals();
  if (cancelled_) return fail(ErrorKind::kUnavailable, "cancelled before the command was started");
  audit::RecordBuilder record(audit::RecordKind::kTaskStarted, id_);
  record.text(audit::FieldId::kPolicy, policy_.policy->label()).text(audit::FieldId::kPolicyHash, policy_.policy->sha256());
  if (options_.observe) record.text(audit::FieldId::kOutcome, "observing");
  BOOST_OUTCOME_TRY(appliance_->append_record(record, deadline));
  BOOST_OUTCOME_TRY(appliance_->run_task(id_, deadline));
  BOOST_OUTCOME_TRY(auto relay, launcher::StdioRelay::start(sandbox_->take_stdio(), {}));
  relay_ = std::move(relay);
  BOOST_OUTCOME_TRY(sandbox_->start());
  command_ran_ = true;
  return success();
}

void Run::take_signals() {
  for (;;) {
    auto signal = signals_.read();
    if (!signal || !signal.value()) return;
    if (signal.value()->number == SIGCHLD) continue;
    cancelled_ = true;
    if (!ending_or_none_)
      ending_or_none_ = Ending{Outcome::kCancelled, {}, "ended by signal " + std::to_string(signal.value()->number)};
  }
}

void Run::take_appliance_events() {
  for (auto& event : appliance_->take_events()) {
    switch (event.kind) {
      case ApplianceEvent::Kind::kLimitReached:
        if (event.what == "denials") {
          ending_or_none_ =
              Ending{Outcome::kPolicyDenial, "denials", "the task was denied as often as the policy lets it be"};
          break;
        }
        limits_reached_.push_back(event.what);
        if (!options_.quiet) std::fprintf(stderr, "sallyport: the budget '%s' is used up\n", event.what.c_str());
        break;
      case ApplianceEvent::Kind::kTaskOverAuditBudget:
        ending_or_none_ = Ending{Outcome::kResourceLimit, "audit", "the task used up its share of the audit log"};
        break;
      case ApplianceEvent::Kind::kDaemonEnded:
        std::fprintf(stderr, "sallyport: %s\n", event.what.c_str());
        // Without the resolver names fail and the rest goes on; without the others there is nothing to go on with.
        if (!event.what.starts_with("sallyport-resolver")) ending_or_none_ = Ending{Outcome::kPlatformFailure, {}, event.what};
        break;
      case ApplianceEvent::Kind::kListenerLost:
        std::fprintf(stderr, "sallyport: the task's %s listener was killed from inside\n", event.what.c_str());
        break;
      case ApplianceEvent::Kind::kAuditTrouble:
        std::fprintf(stderr, "sallyport: audit: %s\n", event.what.c_str());
        break;
    }
  }
}

// False once the task has ended or must end.
bool Run::look(Deadline wall) {
  auto fds = appliance_->watches();
  fds.push_back({signals_.fd(), POLLIN, 0});
  fds.push_back({sandbox_->exit_fd(), POLLIN, 0});
  int timeout = wall.poll_timeout(Clock::now());
  (void)::poll(fds.data(), fds.size(), timeout < 0 ? 1000 : std::min(timeout, 1000));
  take_signals();
  take_appliance_events();
  if (ending_or_none_) return false;
  if (wall.passed(Clock::now())) {
    ending_or_none_ = Ending{Outcome::kResourceLimit, "wall", "the wall time of the policy is used up"};
    return false;
  }
  auto ended = sandbox_->wait(Deadline(Clock::now()));
  if (!ended) return true;
  receipt_.exit = ended.value();
  return false;
}

void Run::serve() {
  auto wall = Deadline::never();
  if (auto limit = policy_.policy->budgets().wall) wall = Deadline::after(*limit);
  while (look(wall)) {
  }
  if (ending_or_none_) {
    ending_ = *ending_or_none_;
    return;
  }
  const auto& exit = *receipt_.exit;
  if (exit.oom_killed) {
    ending_ = {Outcome::kResourceLimit, "memory", "the kernel killed a process of the task for its memory limit"};
  } else if (exit.how != launcher::ExitStatus::How::kExited || exit.code != 0) {
    ending_ = {Outcome::kProgramError, {}, {}};
  }
}

void Run::summarise_network(const proxy::api::TaskEnded& ended) {
  auto requests = ended.requests(), connections = ended.connections(), up = ended.bytes_up(), down = ended.bytes_down();
  for (const auto& d : ended.destinations()) {
    launcher::DestinationSummary summary;
    // Port 0: a name that was only looked up.
    summary.destination = d.port() == 0 ? "lookup " + d.name() : d.name() + ":" + std::to_string(d.port());
    summary.allowed = d.requests() > 0 ? d.requests() : d.connections();
    summary.denied = d.denied();
    summary.upload_bytes = d.bytes_up();
    summary.download_bytes = d.bytes_down();
    receipt_.network.push_back(std::move(summary));
    requests -= std::min(requests, d.requests());
    connections -= std::min(connections, d.connections());
    up -= std::min(up, d.bytes_up());
    down -= std::min(down, d.bytes_down());
  }
  // What has no line of its own is not left out.
  if (requests > 0 || connections > 0)
    receipt_.network.push_back({"other destinations", {}, requests > 0 ? requests : connections, 0, up, down, {}});
}

// Out of the finished audit log: all that was refused is there, counted, whatever the proxy still remembers.
void Run::summarise_refusals() {
  auto log = read_decisions(appliance_->audit_path(), id_.text());
  if (!log) return;
  auto refusals = most_refused(log.value().decisions);
  receipt_.refused_kinds = refusals.kinds;
  for (auto& refusal : refusals.most)
    receipt_.refused.push_back(
        {std::move(refusal.what), std::move(refusal.reason), refusal.count, std::move(refusal.rule)});
}

// Every end takes the same path: stop the process tree, stop capture, destroy the writable layer, write the receipt.
void Run::end() {
  auto deadline = Deadline::after(kEndTime);
  auto step = [this](std::string name, const Result<void>& done) {
    receipt_.cleanup.push_back({std::move(name), done.has_value(), done ? std::string() : done.error().detail});
  };
  if (sandbox_) {
    step("stop the process tree", sandbox_->kill_tree(deadline));
    if (!receipt_.exit && command_ran_)
      if (auto exit = sandbox_->wait(deadline)) receipt_.exit = exit.value();
  }
  if (relay_) {
    auto totals = relay_->finish(Deadline::after(seconds(2)));
    receipt_.stdout_bytes = totals.output_bytes;
    receipt_.stderr_bytes = totals.error_bytes;
    receipt_.output_truncated = totals.truncated;
  }
  if (appliance_ && task_added_) {
    auto ended = appliance_->end_task(id_, Deadline::after(kProxyEndTime));
    step("stop the proxy's work for the task", ended ? Result<void>(success()) : Result<void>(fail(ended.error())));
    if (ended) summarise_network(ended.value());
  }
  if (sandbox_) {
    auto report = sandbox_->destroy(deadline);
    std::ranges::copy(report.steps, std::back_inserter(receipt_.cleanup));
  }
  if (!appliance_ || !task_added_) return;
  audit::RecordBuilder record(audit::RecordKind::kTaskEnded, id_);
  record.text(audit::FieldId::kOutcome, launcher::to_string(ending_.outcome));
  if (!ending_.limit.empty()) record.text(audit::FieldId::kLimit, ending_.limit);
  (void)appliance_->append_record(record, Deadline::after(seconds(2)));
  auto logged = appliance_->end_task_log(id_, Deadline::after(seconds(5)));
  step("write the task's audit log", logged ? Result<void>(success()) : Result<void>(fail(logged.error())));
  if (!logged) return;
  summarise_refusals();
  auto hex = [](const std::string& bytes) {
    std::string out;
    for (char c : bytes) {
      auto byte = static_cast<unsigned char>(c);
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
    return out;
  };
  if (logged.value().has_first()) receipt_.audit_first = {logged.value().first().sequence(), hex(logged.value().first().hash())};
  if (logged.value().has_last()) receipt_.audit_last = {logged.value().last().sequence(), hex(logged.value().last().hash())};
}

int Run::exit_code() const {
  switch (ending_.outcome) {
    case Outcome::kSuccess:
    case Outcome::kProgramError:
      return receipt_.exit ? receipt_.exit->shell_code() : kExitPlatformFailure;
    case Outcome::kPolicyDenial:
      return kExitPolicy;
    case Outcome::kResourceLimit:
      return kExitResourceLimit;
    case Outcome::kCancelled:
      return kExitCancelled;
    case Outcome::kPlatformFailure:
      break;
  }
  return kExitPlatformFailure;
}

int Run::report() {
  receipt_.task = id_.text();
  receipt_.owner = owner();
  if (policy_.policy) {
    receipt_.policy_name = policy_.policy->name();
    receipt_.policy_version = std::to_string(policy_.policy->version());
    receipt_.policy_sha256 = policy_.policy->sha256();
  }
  receipt_.command = options_.argv;
  if (options_.workspace) receipt_.inputs.push_back(*options_.workspace);
  std::ranges::copy(options_.read_only, std::back_inserter(receipt_.inputs));
  receipt_.observed = options_.observe;
  receipt_.ended = std::chrono::system_clock::now();
  receipt_.outcome = ending_.outcome;
  receipt_.limit = ending_.limit;
  receipt_.detail = ending_.detail;
  receipt_.exit_code = exit_code();
  auto json = launcher::receipt_json(receipt_);
  auto path = options_.receipt.value_or(state_ ? state_->path() + "/receipt.json" : std::string());
  if (!path.empty()) {
    if (auto written = launcher::write_receipt(path, json); !written) {
      std::fprintf(stderr, "sallyport: the receipt could not be written: %s\n", written.error().detail.c_str());
      return kExitPlatformFailure;
    }
  }
  if (options_.json) std::fputs(json.c_str(), stdout);
  if (!options_.quiet && !options_.json) {
    std::fputs(launcher::receipt_summary(receipt_).c_str(), stderr);
    if (!path.empty()) std::fprintf(stderr, "receipt: %s\n", path.c_str());
    if (appliance_) std::fprintf(stderr, "audit log: %s\n", appliance_->audit_path().c_str());
  }
  if (options_.observe && appliance_)
    std::fprintf(stderr,
                 "sallyport: OBSERVED: %llu different things were refused. Rules for them: sallyport policy suggest "
                 "--denied-only %s\n",
                 static_cast<unsigned long long>(receipt_.refused_kinds), appliance_->audit_path().c_str());
  return receipt_.exit_code;
}

}  // namespace

int run_task(const RunOptions& options) {
  sys::ignore_sigpipe();
  auto signals = sys::SignalReader::open({SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD});
  if (!signals) {
    std::fprintf(stderr, "sallyport: %s\n", signals.error().to_string().c_str());
    return kExitPlatformFailure;
  }
  Run run(options, std::move(signals).value());
  return run.run();
}

}  // namespace sallyport::control
