#include "sandbox-launcher/sandbox/prepare.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/escape.h"
#include "core/base/random.h"
#include "sandbox-launcher/bwrap/arguments.h"
#include "sandbox-launcher/filter/rules.h"
#include "sandbox-launcher/init/image.h"
#include "sandbox-launcher/oci/cgroup.h"
#include "sandbox-launcher/oci/config.h"
#include "sandbox-launcher/rootfs/plan.h"
#include "sandbox-launcher/rootfs/stage.h"
#include "sandbox-launcher/sandbox/program.h"
#include "sandbox-launcher/spec/environment.h"
#include "sandbox-launcher/workspace/idmap.h"

namespace sallyport::launcher {
namespace {

// The least of memory and processes that a command can run with at all.
constexpr ByteCount kLeastMemory{8ull << 20};
constexpr std::uint32_t kMostProcesses = 1'000'000;

bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto lead = static_cast<unsigned char>(text[i]);
    std::size_t more = lead < 0x80                   ? 0
                       : lead >= 0xc2 && lead < 0xe0 ? 1
                       : lead >= 0xe0 && lead < 0xf0 ? 2
                       : lead >= 0xf0 && lead < 0xf5 ? 3
                                                     : 9;
    if (more == 9 || i + more >= text.size() + (more == 0 ? 1 : 0)) return false;
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xc0) != 0x80) return false;
    i += more + 1;
  }
  return true;
}

class Preparation {
 public:
  Preparation(const SandboxSpec& spec, Deadline deadline)
      : spec_(spec), deadline_(deadline), as_root_(geteuid() == 0) {}

  Result<Prepared> run() {
    BOOST_OUTCOME_TRY(check_words());
    BOOST_OUTCOME_TRY(check_limits());
    BOOST_OUTCOME_TRY(environment_, build_environment(spec_, caller_variable));
    for (const auto& text : environment_.variables)
      if (!is_utf8(text))
        return fail(ErrorKind::kInvalid, "the variable " + text.substr(0, text.find('=')) + " is not UTF-8");
    out_.warnings.insert(out_.warnings.end(), environment_.warnings.begin(), environment_.warnings.end());
    BOOST_OUTCOME_TRY(program_, find_program(std::string(to_string(spec_.runtime))));
    BOOST_OUTCOME_TRY(out_.facts.version, program_version(program_, deadline_));
    BOOST_OUTCOME_TRY(plan());
    if (spec_.runtime == RuntimeKind::kRunc) {
      runc();
    } else {
      BOOST_OUTCOME_TRY(bwrap());
    }
    facts();
    return std::move(out_);
  }

 private:
  Result<void> check_words() {
    if (spec_.argv.empty() || spec_.argv[0].empty()) return fail(ErrorKind::kInvalid, "there is no command to run");
    for (const auto& word : spec_.argv)
      if (!is_utf8(word) || word.find('\0') != std::string::npos)
        return fail(ErrorKind::kInvalid, "the argument " + escape_text(word, 80) + " is not UTF-8 without NUL bytes");
    working_directory_ = !spec_.working_directory.empty() ? spec_.working_directory
                         : spec_.workspace                ? "/workspace"
                                                          : "/home/task";
    if (working_directory_[0] != '/' || !is_utf8(working_directory_) ||
        working_directory_.find('\0') != std::string::npos)
      return fail(ErrorKind::kInvalid,
                  "the working directory " + escape_text(working_directory_) + " is not an absolute path");
    if (spec_.runtime == RuntimeKind::kRunc && !as_root_)
      return fail(ErrorKind::kUnavailable, "runc needs root; an ordinary user has bwrap");
    return success();
  }

  Result<void> check_limits() {
    if (spec_.memory && *spec_.memory < kLeastMemory)
      return fail(ErrorKind::kInvalid, "memory: at least 8 MiB are needed");
    if (spec_.processes && (*spec_.processes == 0 || *spec_.processes > kMostProcesses))
      return fail(ErrorKind::kInvalid, "processes: 1 to 1000000");
    std::string memory = spec_.memory ? std::to_string(spec_.memory->value) : "";
    std::string processes = spec_.processes ? std::to_string(*spec_.processes) : "";
    if (spec_.runtime == RuntimeKind::kRunc) {
      auto support = cgroup_support();
      if (spec_.memory && support.memory == CgroupSupport::Version::kNone)
        return fail(ErrorKind::kUnavailable, "memory: this machine has no memory cgroup controller");
      if (spec_.processes && support.pids == CgroupSupport::Version::kNone)
        return fail(ErrorKind::kUnavailable, "processes: this machine has no pids cgroup controller");
      counts_swap_ = support.counts_swap;
      if (spec_.memory) out_.facts.limits.push_back({"memory", memory, "cgroup of the whole tree"});
      if (spec_.processes) out_.facts.limits.push_back({"processes", processes, "cgroup of the whole tree"});
      return success();
    }
    if (spec_.memory) {
      out_.facts.limits.push_back({"memory", memory, "each process by itself (RLIMIT_DATA)"});
      out_.warnings.push_back(
          "the memory limit holds for each process by itself, not for the tree: bwrap has no cgroup of its own");
    }
    if (spec_.processes) out_.facts.limits.push_back({"processes", processes, "the user namespace (RLIMIT_NPROC)"});
    return success();
  }

  std::uint32_t host_uid() const { return as_root_ ? kTaskHostId : geteuid(); }

  Result<PinnedDirectory> shared(const std::string& path, std::string_view option, const Sensitive& sensitive) {
    BOOST_OUTCOME_TRY(auto pinned, pin_directory(path, option));
    BOOST_OUTCOME_TRY(refuse_sensitive(pinned, sensitive, option));
    BOOST_OUTCOME_TRY(refuse_sockets(pinned, option));
    return pinned;
  }

  Result<void> plan() {
    BOOST_OUTCOME_TRY(auto state, pin_directory(spec_.state_dir, "--state"));
    struct stat facts{};
    if (fstat(state.fd.get(), &facts) < 0) return fail_errno("fstat");
    if (facts.st_uid != geteuid() || (facts.st_mode & 077) != 0)
      return fail(ErrorKind::kDenied, "--state " + escape_text(state.path) +
                                          ": must belong to the caller and be closed to others (mode 0700)");
    state_dir_ = state.path;
    Sensitive sensitive = sensitive_of_caller(state_dir_);
    RootRequest request;
    if (spec_.rootfs) {
      BOOST_OUTCOME_TRY(request.rootfs, shared(*spec_.rootfs, "--rootfs", sensitive));
    }
    for (const auto& path : spec_.read_only) {
      BOOST_OUTCOME_TRY(auto pinned, shared(path, "--ro", sensitive));
      request.read_only.push_back(std::move(pinned));
    }
    if (spec_.workspace) {
      BOOST_OUTCOME_TRY(request.workspace, shared(*spec_.workspace, "--workspace", sensitive));
      if (as_root_) {
        BOOST_OUTCOME_TRY(request.workspace_idmap,
                          make_idmap(request.workspace->owner, request.workspace->group, kTaskHostId));
      }
    }
    request.host_name = std::string(spec_.task.text());
    request.resolver = spec_.resolver;
    request.task_id = host_uid();
    request.tmp_size = spec_.tmp_size;
    BOOST_OUTCOME_TRY(out_.job.plan, plan_root(std::move(request)));
    BOOST_OUTCOME_TRY(out_.job.stage_point, choose_stage_point(state_dir_));
    return success();
  }

  std::vector<std::string> init_arguments() const {
    std::vector<std::string> argv = {std::string(kInitPath)};
    if (spec_.stdio == StdioKind::kTerminal) argv.emplace_back("--terminal");
    if (spec_.runtime == RuntimeKind::kBwrap) {
      // sallyport-init itself is one of the namespace's processes.
      if (spec_.processes) argv.insert(argv.end(), {"--processes", std::to_string(*spec_.processes + 1)});
      if (spec_.memory) argv.insert(argv.end(), {"--data", std::to_string(spec_.memory->value)});
    }
    argv.insert(argv.end(), {"--directory", working_directory_, "--"});
    argv.insert(argv.end(), spec_.argv.begin(), spec_.argv.end());
    return argv;
  }

  void runc() {
    std::string id = "sallyport-" + std::string(spec_.task.text()) + "-" + random_hex(4);
    OciRequest request;
    request.root = out_.job.stage_point;
    request.host_name = std::string(spec_.task.text());
    request.cgroup = "/" + id;
    request.argv = init_arguments();
    request.environment = environment_.variables;
    request.memory = spec_.memory;
    request.limit_swap = counts_swap_;
    request.processes = spec_.processes;
    request.shm_size = spec_.tmp_size;
    out_.job.config = oci_config(request);
    out_.job.directory = state_dir_ + "/sandbox-" + random_hex(8);
    const std::string& at = out_.job.directory;
    out_.log = at + "/runc.log";
    std::vector<std::string> common = {program_, "--root", at + "/runc", "--log", out_.log, "--log-format", "json"};
    out_.job.runtime = common;
    // Init holds the command back, so the container may run at once: one start of the runtime instead of two.
    out_.job.runtime.insert(out_.job.runtime.end(), {"run", "--detach", "--bundle", at, "--preserve-fds", "1", id});
    out_.job.forget = {program_, "--root", at + "/runc", "delete", "--force", id};
    out_.job.cgroup = id;
  }

  Result<void> bwrap() {
    BOOST_OUTCOME_TRY(out_.job.filter, compile_filter());
    BwrapRequest request;
    request.root = out_.job.stage_point;
    request.host_name = std::string(spec_.task.text());
    request.filter_fd = kFilterFd;
    request.environment = environment_.variables;
    request.shm_size = spec_.tmp_size;
    request.hidden = kernel_files();
    std::string text;
    for (const auto& argument : bwrap_options(request)) text += argument + '\0';
    // By descriptor: other users may read a command line, and it would hold the environment.
    out_.job.arguments = UniqueFd(memfd_create("sallyport-bwrap", MFD_CLOEXEC));
    if (!out_.job.arguments ||
        write(out_.job.arguments.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        lseek(out_.job.arguments.get(), 0, SEEK_SET) != 0)
      return fail_errno("write bwrap's arguments");
    out_.job.runtime = {program_, "--args", std::to_string(kArgumentsFd), "--"};
    auto command = init_arguments();
    out_.job.runtime.insert(out_.job.runtime.end(), command.begin(), command.end());
    out_.job.become_task_user = as_root_;
    return success();
  }

  static std::vector<std::string> kernel_files() {
    std::vector<std::string> found;
    for (const char* path : kHiddenKernelFiles)
      if (struct stat facts{}; lstat(path, &facts) == 0 && S_ISREG(facts.st_mode)) found.emplace_back(path);
    return found;
  }

  void facts() {
    RuntimeFacts& facts = out_.facts;
    facts.runtime = std::string(to_string(spec_.runtime));
    facts.as_root = as_root_;
    facts.host_uid = host_uid();
    facts.working_directory = working_directory_;
    for (const auto& variable : environment_.variables)
      facts.environment_names.push_back(variable.substr(0, variable.find('=')));
  }

  const SandboxSpec& spec_;
  Deadline deadline_;
  bool as_root_;
  bool counts_swap_ = false;
  std::string state_dir_;
  std::string program_;
  std::string working_directory_;
  Environment environment_;
  Prepared out_;
};

}  // namespace

Result<Prepared> prepare(const SandboxSpec& spec, Deadline deadline) { return Preparation(spec, deadline).run(); }

}  // namespace sallyport::launcher
