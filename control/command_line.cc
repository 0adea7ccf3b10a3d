#include "control/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "control/task/exit_code.h"
#include "control/task/foreground.h"
#include "control/task/run.h"
#include "control/verbs.h"
#include "core/sys/executable.h"

namespace sallyport::control {
namespace {

// Everything that any verb takes; each verb reads its part.
struct Options {
  RunOptions run;
  std::string runtime;
  ForegroundOptions common;
  AttachOptions attach;
  ListenOptions listen;
  std::string libexec, file;
  std::size_t lines = 20;
  bool json = false;
  int exit_status = 0;
};

void add_libexec(CLI::App& verb, Options& o) {
  verb.add_option("--libexec", o.libexec, "Directory of sallyport-proxy and the others; default: that of this program")->type_name("DIR");
}

void add_common(CLI::App& verb, Options& o) {
  verb.add_option("--policy", o.common.policy, "Policy file; without one everything is denied")->type_name("FILE");
  verb.add_option("--config", o.common.config, "Configuration of the appliance")->type_name("FILE");
  verb.add_option("--state", o.common.state, "Directory for the audit log and the ledger")->type_name("DIR");
  verb.add_flag("--quiet", o.common.quiet, "Errors only");
  add_libexec(verb, o);
}

void add_run(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("run", "Run a command in a sandbox that can reach what its policy allows, and nothing else");
  verb->add_option("--policy", o.run.policy, "Policy file; without one everything is denied")->type_name("FILE");
  verb->add_option("--config", o.run.config, "Configuration of the appliance")->type_name("FILE");
  verb->add_option("--runtime", o.runtime, "runc (default as root) or bwrap (default as an ordinary user)")->type_name("NAME");
  verb->add_option("--rootfs", o.run.rootfs, "Root file system to use instead of this machine's /usr")->type_name("DIR");
  verb->add_option("--workspace", o.run.workspace, "Directory to mount read-write at /workspace")->type_name("DIR");
  verb->add_option("--ro", o.run.read_only, "Directory to mount read-only at the same path; may be repeated")->type_name("DIR")->expected(1)->take_all();
  verb->add_option("--env", o.run.environment, "Environment variable to pass on or set; may be repeated")->type_name("NAME[=V]")->expected(1)->take_all();
  verb->add_option("--receipt", o.run.receipt, "Where to write the receipt; default: the state directory")->type_name("FILE");
  verb->add_option("--state", o.run.state, "Directory for the audit log, the ledger and the receipt")->type_name("DIR");
  verb->add_flag("--json", o.run.json, "Print the receipt as JSON at the end");
  verb->add_flag("--quiet", o.run.quiet, "No summary");
  add_libexec(*verb, o);
  verb->add_option("command", o.run.argv, "The command and its arguments, after --")->required()->type_name("CMD...");
  verb->footer("Exit status: the command's own; 120 a resource limit; 121 ended by policy; 122 cancelled; 125 a failure of Sallyport.");
  verb->final_callback([&o] {
    if (!o.runtime.empty()) {
      auto runtime = launcher::parse_runtime(o.runtime);
      if (!runtime) throw CLI::ValidationError("--runtime", runtime.error().detail);
      o.run.runtime = runtime.value();
    }
    o.run.libexec = o.libexec;
    o.exit_status = run_task(o.run);
  });
}

void add_attach(CLI::App& app, Options& o) {
  auto* verb = app.add_subcommand("attach", "Serve a network namespace made by others, for example of docker run --network none");
  auto* netns = verb->add_option("--netns", o.attach.netns, "Path of the namespace, for example /run/netns/NAME")->type_name("PATH");
  verb->add_option("--pid", o.attach.pid, "A process in it; serving ends with that process")->type_name("PID")->excludes(netns);
  add_common(*verb, o);
  verb->final_callback([&o] {
    if (!o.attach.netns && !o.attach.pid) throw CLI::RequiredError("--netns PATH or --pid PID");
    o.attach.common = o.common;
    o.attach.common.libexec = o.libexec;
    o.exit_status = attach_foreground(o.attach);
  });
}

void add_listen(CLI::App& app, Options& o, const char* name, const char* description, int (*serve)(const ListenOptions&)) {
  auto* verb = app.add_subcommand(name, description);
  verb->add_option("--listen", o.listen.listen, "Loopback address and port, for example 127.0.0.1:3128")->required()->type_name("ADDRESS:PORT");
  add_common(*verb, o);
  verb->final_callback([&o, serve] {
    o.listen.common = o.common;
    o.listen.common.libexec = o.libexec;
    o.exit_status = serve(o.listen);
  });
}

void add_audit(CLI::App& app, Options& o) {
  auto* audit = app.add_subcommand("audit", "Look at an audit log");
  audit->require_subcommand(1);
  auto* verify = audit->add_subcommand("verify", "Check the hash chain of a log");
  verify->add_option("file", o.file, "The log")->required();
  verify->add_flag("--json", o.json, "As JSON");
  verify->final_callback([&o] { o.exit_status = verify_audit_log(o.file, o.json); });
  auto* tail = audit->add_subcommand("tail", "Print the newest lines of a log");
  tail->add_option("file", o.file, "The log")->required();
  tail->add_option("-n,--lines", o.lines, "How many");
  tail->add_flag("--json", o.json, "The lines as they are");
  tail->final_callback([&o] { o.exit_status = print_audit_tail(o.file, o.lines, o.json); });
}

void add_policy(CLI::App& app, Options& o) {
  auto* policy = app.add_subcommand("policy", "Work with policy files");
  policy->require_subcommand(1);
  auto* check = policy->add_subcommand("check", "Load a policy and say what is wrong with it");
  check->add_option("file", o.file, "The policy")->required();
  check->final_callback([&o] { o.exit_status = check_policy(o.file); });
}

}  // namespace

int run_command_line(int argc, char** argv) {
  Options options;
  CLI::App app("Sallyport lets code that nobody has reviewed use the network without trusting it.", "sallyport");
  app.require_subcommand(1);
  app.set_version_flag("--version", "sallyport " SALLYPORT_VERSION);
  auto directory = sys::executable_directory();
  if (directory) options.libexec = directory.value();
  add_run(app, options);
  add_attach(app, options);
  add_listen(app, options, "proxy", "The explicit proxy on a loopback port, without containment", proxy_foreground);
  add_listen(app, options, "resolver", "The resolver on a loopback port, without containment", resolver_foreground);
  add_audit(app, options);
  add_policy(app, options);
  auto* doctor = app.add_subcommand("doctor", "Say what this machine can do");
  add_libexec(*doctor, options);
  doctor->final_callback([&options] { options.exit_status = run_doctor(options.libexec); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int status = app.exit(error);
    return status == 0 ? 0 : 2;
  }
  return options.exit_status;
}

}  // namespace sallyport::control
