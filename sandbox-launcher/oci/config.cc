#include "sandbox-launcher/oci/config.h"

#include <nlohmann/json.hpp>

#include "sandbox-launcher/filter/rules.h"
#include "sandbox-launcher/spec/spec.h"

namespace sallyport::launcher {
namespace {

using nlohmann::json;

const char* architecture() {
#if defined(__x86_64__)
  return "SCMP_ARCH_X86_64";
#elif defined(__aarch64__)
  return "SCMP_ARCH_AARCH64";
#elif defined(__riscv) && __riscv_xlen == 64
  return "SCMP_ARCH_RISCV64";
#else
#error "name this architecture as libseccomp does"
#endif
}

json seccomp() {
  json calls = json::array();
  for (const auto& rule : syscall_rules()) {
    json one = {{"names", {rule.name}},
                {"action", rule.error == SyscallRule::kAllow ? "SCMP_ACT_ALLOW" : "SCMP_ACT_ERRNO"}};
    if (rule.error != SyscallRule::kAllow) one["errnoRet"] = rule.error;
    for (const auto& match : rule.when)
      one["args"].push_back(
          {{"index", match.index}, {"value", match.mask}, {"valueTwo", match.value}, {"op", "SCMP_CMP_MASKED_EQ"}});
    calls.push_back(std::move(one));
  }
  // One architecture: another's calls (socketcall of 32-bit x86 above all) could not be told apart by argument.
  return {{"defaultAction", "SCMP_ACT_ERRNO"},
          {"defaultErrnoRet", kUnknownSyscallError},
          {"architectures", {architecture()}},
          {"syscalls", std::move(calls)}};
}

json mounts(const OciRequest& request) {
  auto one = [](const char* at, const char* type, std::vector<std::string> options) {
    return json{{"destination", at}, {"type", type}, {"source", type}, {"options", std::move(options)}};
  };
  return json::array({
      one("/proc", "proc", {"nosuid", "noexec", "nodev"}),
      one("/dev", "tmpfs", {"nosuid", "noexec", "strictatime", "mode=755", "size=64k"}),
      one("/dev/pts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
      one("/dev/shm", "tmpfs",
          {"nosuid", "nodev", "noexec", "mode=1777", "size=" + std::to_string(request.shm_size.value)}),
  });
}

json linux_part(const OciRequest& request) {
  json mapping = json::array({{{"containerID", 0}, {"hostID", kHostIdBase}, {"size", kHostIdCount}}});
  json spaces = json::array();
  for (const char* name : {"user", "network", "pid", "mount", "ipc", "uts", "cgroup"})
    spaces.push_back({{"type", name}});
  json resources = {{"devices", {{{"allow", false}, {"access", "rwm"}}}}};
  if (request.memory) {
    resources["memory"]["limit"] = request.memory->value;
    if (request.limit_swap) resources["memory"]["swap"] = request.memory->value;  // memory and swap together
  }
  if (request.processes) resources["pids"]["limit"] = *request.processes + 1;  // and sallyport-init
  return {
      {"namespaces", std::move(spaces)},
      {"uidMappings", mapping},
      {"gidMappings", mapping},
      {"cgroupsPath", request.cgroup},
      {"resources", std::move(resources)},
      {"seccomp", seccomp()},
      {"maskedPaths",
       {"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/key-users",
        "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list", "/proc/timer_stats"}},
      {"readonlyPaths", {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}},
  };
}

}  // namespace

std::string oci_config(const OciRequest& request) {
  json none = json::array();
  json config = {
      {"ociVersion", "1.0.2"},
      {"hostname", request.host_name},
      {"root", {{"path", request.root}, {"readonly", true}}},
      {"process",
       {{"terminal", false},
        {"user", {{"uid", kTaskId}, {"gid", kTaskId}, {"umask", 022}}},
        {"args", request.argv},
        {"env", request.environment},
        {"cwd", "/"},
        {"noNewPrivileges", true},
        {"capabilities",
         {{"bounding", none}, {"effective", none}, {"inheritable", none}, {"permitted", none}, {"ambient", none}}},
        {"rlimits", {{{"type", "RLIMIT_CORE"}, {"hard", 0}, {"soft", 0}}}}}},
      {"mounts", mounts(request)},
      {"linux", linux_part(request)},
  };
  // Bytes that are no UTF-8 in arguments are kept out of the document by the caller's check; replace rather than throw.
  return config.dump(-1, ' ', true, json::error_handler_t::replace);
}

}  // namespace sallyport::launcher
