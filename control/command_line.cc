#include "control/command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "control/policy_commands/edit.h"
#include "control/policy_commands/explain.h"
#include "control/policy_commands/recorded.h"
#include "control/policy_commands/review.h"
#include "control/task/exit_code.h"
#include "control/task/foreground.h"
#include "control/task/run.h"
#include "control/verbs.h"
#include "core/base/escape.h"
#include "core/sys/executable.h"
#include "policies/engine/did_you_mean.h"

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
  ExplainOptions explain;
  InitOptions init;
  ImportOptions imports;
  std::string second, id;
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
  verb->add_flag("--observe", o.run.observe,
                 "A dry run: the policy holds, and all that it refuses is recorded, for 'policy suggest'");
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

void add_file(CLI::App& verb, std::string& file, const char* what = "The policy") {
  verb.add_option("file", file, what)->required()->type_name("FILE");
}

void add_ceiling(CLI::App& verb, std::string& ceiling) {
  verb.add_option("--ceiling", ceiling, "The policy that this one has to be within (within: names it)")
      ->type_name("FILE");
}

void add_policy_questions(CLI::App& policy, Options& o) {
  auto* check = policy.add_subcommand("check", "Load a policy and say what is wrong with it");
  add_file(*check, o.file);
  add_ceiling(*check, o.explain.ceiling);
  check->final_callback([&o] { o.exit_status = check_policy(o.file, o.explain.ceiling); });

  auto* explain = policy.add_subcommand("explain", "Say what a policy decides of a request, and why");
  add_file(*explain, o.explain.file);
  explain
      ->add_option("question", o.explain.question,
                   "What is asked: 'GET http://host/path', tls://host, tcp://host:port, 'CONNECT host:port', or a name "
                   "alone for a lookup")
      ->required()
      ->type_name("QUESTION");
  explain->add_option("--content-type", o.explain.content_type, "The request has a body of this type")
      ->type_name("TYPE");
  explain->add_option("--nearest", o.explain.nearest, "How many of the other rules to show")
      ->check(CLI::Range(0, 100000))
      ->type_name("N")
      ->capture_default_str();
  add_ceiling(*explain, o.explain.ceiling);
  explain->footer("Exit status: 0 allowed, 1 denied, 2 no answer.");
  explain->final_callback([&o] { o.exit_status = explain_policy(o.explain); });

  auto* test = policy.add_subcommand("test", "Hold the tests: of a policy against it");
  add_file(*test, o.file);
  add_ceiling(*test, o.explain.ceiling);
  test->footer("Exit status: 0 all pass, 1 some fail or there are none, 2 no answer.");
  test->final_callback([&o] { o.exit_status = test_policy(o.file, o.explain.ceiling); });

  auto* diff =
      policy.add_subcommand("diff", "Say what a new policy allows that an old one denies, and the other way round");
  diff->add_option("before", o.file, "The old policy")->required()->type_name("OLD");
  diff->add_option("after", o.second, "The new policy")->required()->type_name("NEW");
  diff->add_option("--ceiling", o.explain.ceiling, "The policy that both have to be within")->type_name("FILE");
  diff->footer("Exit status: 0 the same or narrower, 1 wider or cannot be decided, 2 no answer.");
  diff->final_callback([&o] { o.exit_status = diff_policies(o.file, o.second, o.explain.ceiling); });
}

void add_policy_edits(CLI::App& policy, Options& o) {
  auto* init =
      policy.add_subcommand("init", "Write a first policy, with comments; on a terminal and without options it asks");
  init->add_option("file", o.init.file, "Where to; default: standard output")->type_name("FILE");
  init->add_option("--name", o.init.name, "Its name")->type_name("NAME")->capture_default_str();
  init->add_option("--use", o.init.grants, "A ready-made grant, such as pypi or npm; may be repeated")
      ->type_name("GRANT")
      ->expected(1)
      ->take_all();
  init->add_flag_callback("--pypi", [&o] { o.init.grants.push_back("pypi"); }, "The same as --use pypi");
  init->add_flag_callback("--npm", [&o] { o.init.grants.push_back("npm"); }, "The same as --use npm");
  init->add_option("--api", o.init.apis,
                   "A host or URL to reach: api.example, http://api.example/v1/**; may be repeated")
      ->type_name("HOST")
      ->expected(1)
      ->take_all();
  init->add_flag("--read-only", o.init.read_only, "Only GET and HEAD, where requests are read (http://)");
  init->final_callback([&o] { o.exit_status = init_policy(o.init); });

  auto* fmt = policy.add_subcommand("fmt", "Bring a policy into the canonical layout; comments stay");
  add_file(*fmt, o.file);
  fmt->add_flag("--check", o.json, "Change nothing; exit status 1 if the layout is another");
  add_ceiling(*fmt, o.explain.ceiling);
  fmt->final_callback([&o] { o.exit_status = format_policy(o.file, o.json, o.explain.ceiling); });

  auto* add = policy.add_subcommand("add", "Add an allow rule to a policy; comments and layout stay");
  add_file(*add, o.file);
  add->add_option("request", o.second,
                  "What to allow: 'GET http://host/path', tls://host, tcp://host:port, also with stars as in a rule")
      ->required()
      ->type_name("REQUEST");
  add->add_option("--id", o.id, "The id of the rule")->type_name("ID");
  add_ceiling(*add, o.explain.ceiling);
  add->footer("Exit status: 0 added, 1 allowed already or refused, 2 no answer.");
  add->final_callback([&o] { o.exit_status = add_rule(o.file, o.second, o.id, o.explain.ceiling); });

  auto* from =
      policy.add_subcommand("import", "Make a policy from another tool's configuration, never wider than that");
  add_file(*from, o.imports.file, "The other tool's file");
  from->add_option("--from", o.imports.from, "smokescreen, sandbox-runtime or squid")->required()->type_name("TOOL");
  from->add_option("--role", o.imports.role, "Of smokescreen: the service")->type_name("NAME");
  from->add_option("--name", o.imports.name, "Name of the policy")->type_name("NAME")->capture_default_str();
  from->add_option("-o,--output", o.imports.output, "Where to; default: standard output")->type_name("FILE");
  from->footer("Exit status: 0 all was carried over, 1 something was left out (told), 2 nothing was imported.");
  from->final_callback([&o] { o.exit_status = import_policy(o.imports); });
}

void add_policy_records(CLI::App& policy, Options& o) {
  auto* suggest = policy.add_subcommand("suggest", "Write the smallest policy for what an audit log shows");
  add_file(*suggest, o.file, "The audit log");
  suggest->add_option("--name", o.imports.name, "Name of the policy")->type_name("NAME")->capture_default_str();
  suggest->add_flag("--denied-only", o.json, "Only for what was denied");
  suggest->footer("It allows what was recorded, whether it was allowed then or not: read it before it is used.");
  suggest->final_callback([&o] { o.exit_status = suggest_policy(o.file, o.imports.name, o.json); });

  auto* replay = policy.add_subcommand("replay", "Say what a policy would decide otherwise than an audit log shows");
  add_file(*replay, o.file);
  replay->add_option("audit", o.second, "The audit log")->required()->type_name("AUDIT");
  add_ceiling(*replay, o.explain.ceiling);
  replay->footer("Exit status: 0 nothing, 1 something, 2 no answer.");
  replay->final_callback([&o] { o.exit_status = replay_audit(o.file, o.second, o.explain.ceiling); });
}

void add_policy(CLI::App& app, Options& o) {
  auto* policy = app.add_subcommand("policy", "Write, check, ask and compare policy files");
  policy->require_subcommand(1);
  add_policy_edits(*policy, o);
  add_policy_questions(*policy, o);
  add_policy_records(*policy, o);
}

// The verb that the command line got as far as.
const CLI::App& deepest(const CLI::App& app) {
  auto used = app.get_subcommands();
  return used.empty() ? app : deepest(*used.front());
}

// "sallyport policy"
std::string name_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : name_of(*app.get_parent()) + " " + app.get_name();
}

// What is wrong and what to write, safe for a terminal: CLI11 repeats arguments as they are.
std::string fault_of(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = deepest(app);
  std::string help = " ('" + name_of(at) + " --help' says what there is)";
  auto verbs = at.get_subcommands([](const CLI::App*) { return true; });
  auto unknown = at.remaining();
  if (verbs.empty() || unknown.empty()) return escape_text(error.what(), 1024) + help;
  std::vector<std::string> names;
  for (const auto* verb : verbs) names.push_back(verb->get_name());
  std::vector<std::string_view> views(names.begin(), names.end());
  auto meant = policy::did_you_mean(unknown.front(), views);
  return "there is no '" + name_of(at) + " " + escape_text(unknown.front(), 80) + "'" +
         (meant.empty() ? "" : ": did you mean " + std::string(meant) + "?") + help;
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
    if (error.get_exit_code() == 0) return app.exit(error);  // help and version
    std::fprintf(stderr, "sallyport: %s\n", fault_of(app, error).c_str());
    return 2;
  }
  return options.exit_status;
}

}  // namespace sallyport::control
