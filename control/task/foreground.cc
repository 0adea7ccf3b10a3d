#include "control/task/foreground.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>

#include "control/task/attach.h"
#include "control/task/exit_code.h"
#include "control/task/loopback_listener.h"
#include "control/task/state_directory.h"
#include "core/sys/signals.h"

namespace sallyport::control {
namespace {

using std::chrono::seconds;

constexpr auto kStartTime = seconds(20);

int report(const Error& error) {
  std::fprintf(stderr, "sallyport: %s\n", error.to_string().c_str());
  return kExitPlatformFailure;
}

// One task served in the foreground. `prepare` hands it to the proxy.
class Foreground {
 public:
  Foreground(const ForegroundOptions& options, sys::SignalReader signals) : options_(options), signals_(std::move(signals)) {}

  using Prepare = std::function<Result<void>(Appliance&, AttachRequest, Deadline)>;

  int serve(std::vector<std::string> own_sockets, int until_readable, const std::string& ready, const Prepare& prepare) {
    auto started = start(std::move(own_sockets), prepare);
    if (!started) {
      int code = report(started.error());
      end();
      return code;
    }
    served_ = true;
    if (!options_.quiet) std::fprintf(stderr, "sallyport: %s; task %s; audit log %s\n", ready.c_str(), std::string(id_.text()).c_str(),
                                      appliance_->audit_path().c_str());
    int code = wait(until_readable);
    end();
    return code;
  }

 private:
  Result<void> start(std::vector<std::string> own_sockets, const Prepare& prepare) {
    BOOST_OUTCOME_TRY(auto config, read_appliance_config(options_.config));
    BOOST_OUTCOME_TRY(auto policy, read_task_policy(options_.policy, config, id_));
    auto deadline = Deadline::after(kStartTime);
    BOOST_OUTCOME_TRY(auto state, state_directory(options_.state, id_));
    state_.emplace(std::move(state));
    BOOST_OUTCOME_TRY(auto appliance, Appliance::start({options_.libexec, std::move(config), "operator", std::move(own_sockets)}, *state_, deadline));
    appliance_ = std::move(appliance);
    audit::RecordBuilder record(audit::RecordKind::kTaskStarted, id_);
    record.text(audit::FieldId::kPolicy, policy.policy->label()).text(audit::FieldId::kPolicyHash, policy.policy->sha256());
    BOOST_OUTCOME_TRY(prepare(*appliance_, {id_, std::move(policy), fresh_pools(), options_.libexec}, deadline));
    BOOST_OUTCOME_TRY(appliance_->append_record(record, deadline));
    return appliance_->run_task(id_, deadline);
  }

  int wait(int until_readable) {
    for (;;) {
      auto fds = appliance_->watches();
      fds.push_back({signals_.fd(), POLLIN, 0});
      if (until_readable >= 0) fds.push_back({until_readable, POLLIN, 0});
      (void)::poll(fds.data(), fds.size(), 1000);
      if (until_readable >= 0 && (fds.back().revents & POLLIN) != 0) return 0;
      auto signal = signals_.read();
      if (signal && signal.value() && signal.value()->number != SIGCHLD) return 0;
      for (const auto& event : appliance_->take_events()) {
        std::fprintf(stderr, "sallyport: %s\n", event.what.c_str());
        if (event.kind == ApplianceEvent::Kind::kLimitReached && event.what == "denials") return kExitPolicy;
        bool fatal = event.kind == ApplianceEvent::Kind::kDaemonEnded && !event.what.starts_with("sallyport-resolver");
        if (fatal || event.kind == ApplianceEvent::Kind::kTaskOverAuditBudget) return kExitPlatformFailure;
      }
    }
  }

  void end() {
    if (!appliance_) return;
    auto ended = appliance_->end_task(id_, Deadline::after(seconds(5)));
    audit::RecordBuilder record(audit::RecordKind::kTaskEnded, id_);
    record.text(audit::FieldId::kOutcome, "ended");
    (void)appliance_->append_record(record, Deadline::after(seconds(2)));
    (void)appliance_->end_task_log(id_, Deadline::after(seconds(5)));
    if (!ended || !served_ || options_.quiet) return;
    const auto& t = ended.value();
    std::fprintf(stderr, "sallyport: ended: %llu requests, %llu connections, %llu denials, %llu bytes up, %llu bytes down\n",
                 static_cast<unsigned long long>(t.requests()), static_cast<unsigned long long>(t.connections()),
                 static_cast<unsigned long long>(t.denied()), static_cast<unsigned long long>(t.bytes_up()),
                 static_cast<unsigned long long>(t.bytes_down()));
  }

  const ForegroundOptions& options_;
  sys::SignalReader signals_;
  TaskId id_ = TaskId::random();
  std::optional<sys::PrivateDirectory> state_;
  std::unique_ptr<Appliance> appliance_;
  bool served_ = false;  // it was told that it is ready
};

Result<Foreground> foreground(const ForegroundOptions& options) {
  sys::ignore_sigpipe();
  BOOST_OUTCOME_TRY(auto signals, sys::SignalReader::open({SIGINT, SIGTERM, SIGHUP, SIGCHLD}));
  return Foreground(options, std::move(signals));
}

using Listeners = std::vector<std::pair<proxy::api::Listener, UniqueFd>>;

Foreground::Prepare hand_over(Listeners& listeners) {
  return [&listeners](Appliance& appliance, AttachRequest request, Deadline deadline) {
    NewTask task{request.task, request.policy.text, request.policy.file, request.policy.policy, request.pools.v4, request.pools.v6, {},
                 request.policy.ceiling_text, request.policy.ceiling_file};
    for (auto& [kind, socket] : listeners) task.listeners.push_back({kind, std::move(socket)});
    return appliance.add_task(std::move(task), deadline);
  };
}

int serve_listener(const ListenOptions& options, proxy::api::Listener kind) {
  bool dns = kind == proxy::api::DNS;
  auto listener = loopback_listener(options.listen, dns ? ListenerProtocol::kUdp : ListenerProtocol::kTcp);
  if (!listener) return report(listener.error());
  Listeners listeners;
  listeners.emplace_back(kind, std::move(listener.value().socket));
  if (dns) {
    auto stream = loopback_listener(listener.value().text, ListenerProtocol::kTcp);
    if (!stream) return report(stream.error());
    listeners.emplace_back(proxy::api::DNS_TCP, std::move(stream.value().socket));
  }
  auto serving = foreground(options.common);
  if (!serving) return report(serving.error());
  return serving.value().serve({listener.value().text}, -1, std::string(dns ? "DNS" : "proxy") + " on " + listener.value().text,
                               hand_over(listeners));
}

}  // namespace

int attach_foreground(const AttachOptions& options) {
  auto serving = foreground(options.common);
  if (!serving) return report(serving.error());
  auto target = options.pid ? firewall::target_of_pid(*options.pid) : firewall::target_at_path(*options.netns);
  if (!target) return report(target.error());
  UniqueFd process;
  if (options.pid) process.reset(static_cast<int>(::syscall(SYS_pidfd_open, *options.pid, 0)));
  if (options.pid && !process) return report(Error::from_errno("process " + std::to_string(*options.pid)));
  auto prepare = [&](Appliance& appliance, AttachRequest request, Deadline deadline) {
    return attach_task(appliance, std::move(request), std::move(target).value(), deadline);
  };
  return serving.value().serve({}, process.get(), "attached and tested", prepare);
}

int proxy_foreground(const ListenOptions& options) { return serve_listener(options, proxy::api::PROXY); }
int resolver_foreground(const ListenOptions& options) { return serve_listener(options, proxy::api::DNS); }

}  // namespace sallyport::control
