#include "sandbox-launcher/spec/environment.h"

#include <cstdlib>
#include <map>

#include "core/base/escape.h"

namespace sallyport::launcher {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr std::string_view kLoopback = "localhost,127.0.0.1,::1";
constexpr std::size_t kMaxVariable = 64 * 1024;  // bytes of NAME=value; the kernel takes twice that

bool is_name(std::string_view name) {
  auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  if (name.empty() || name.size() > 256 || !letter(name[0])) return false;
  for (char c : name)
    if (!letter(c) && !(c >= '0' && c <= '9')) return false;
  return true;
}

// A value of the caller that is carried in without being asked for: short, printable, nothing to interpret.
bool is_plain(std::string_view value) {
  if (value.empty() || value.size() > 64) return false;
  for (char c : value) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("._-+/@:,").find(c) != std::string_view::npos;
    if (!plain) return false;
  }
  return value.find("..") == std::string_view::npos && value[0] != '/';
}

void usual(Variables& out, const SandboxSpec& spec, const CallerVariable& caller) {
  out["PATH"] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  out["HOME"] = "/home/task";
  out["USER"] = out["LOGNAME"] = "task";
  out["SHELL"] = "/bin/sh";
  out["TMPDIR"] = "/tmp";
  out["LANG"] = "C.UTF-8";
  out["SALLYPORT_TASK"] = std::string(spec.task.text());
  auto carry = [&](const char* name) {
    if (auto value = caller(name); value && is_plain(*value)) out[name] = *value;
  };
  carry("LANG");
  carry("TZ");
  if (spec.stdio == StdioKind::kTerminal) {
    out["TERM"] = "xterm";
    carry("TERM");
    carry("COLORTERM");
  }
}

void proxies(Variables& out, Port port) {
  std::string number = std::to_string(port.value());
  std::string url = "http://127.0.0.1:" + number;
  for (const char* name :
       {"http_proxy", "https_proxy", "all_proxy", "grpc_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "GRPC_PROXY"})
    out[name] = url;
  out["no_proxy"] = out["NO_PROXY"] = kLoopback;
  out["NODE_USE_ENV_PROXY"] = "1";
  std::string java;
  for (const char* scheme : {"http", "https"})
    java += std::string("-D") + scheme + ".proxyHost=127.0.0.1 -D" + scheme + ".proxyPort=" + number + " ";
  out["JAVA_TOOL_OPTIONS"] = java + "-Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]";
}

// Java's may be given by the caller: they are options, the proxy's among them, and are joined rather than replaced.
bool is_proxy_variable(const Variables& proxy, const std::string& name) {
  return proxy.contains(name) && name != "JAVA_TOOL_OPTIONS";
}

Result<std::pair<std::string, std::string>> asked(const std::string& text, const CallerVariable& caller) {
  std::size_t equals = text.find('=');
  std::string name = text.substr(0, equals);
  if (!is_name(name))
    return fail(ErrorKind::kInvalid,
                "--env " + escape_text(name, 80) + ": not a variable's name; write NAME or NAME=value");
  if (name.starts_with("SALLYPORT_"))
    return fail(ErrorKind::kDenied, "--env " + name + ": SALLYPORT_* is Sallyport's own");
  std::string value;
  if (equals != std::string::npos) {
    value = text.substr(equals + 1);
  } else if (auto found = caller(name)) {
    value = *found;
  } else {
    return fail(ErrorKind::kInvalid, "--env " + name + ": not set here; write " + name + "=value");
  }
  if (value.find('\0') != std::string::npos || name.size() + value.size() > kMaxVariable)
    return fail(ErrorKind::kInvalid, "--env " + name + ": the value has a NUL byte or is longer than 64 KiB");
  return std::pair(std::move(name), std::move(value));
}

}  // namespace

std::optional<std::string> caller_variable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

Result<Environment> build_environment(const SandboxSpec& spec, const CallerVariable& caller) {
  Environment result;
  Variables variables;
  Variables proxy;
  proxies(proxy, spec.proxy_port);
  usual(variables, spec, caller);
  for (const auto& [name, value] : proxy) variables[name] = value;
  for (const auto& text : spec.environment) {
    BOOST_OUTCOME_TRY(auto pair, asked(text, caller));
    auto& [name, value] = pair;
    if (is_proxy_variable(proxy, name)) {
      if (proxy[name] != value)
        result.warnings.push_back("--env " + name + " is overridden with " + proxy[name] +
                                  ": the sandbox has no other proxy to reach");
    } else if (name == "JAVA_TOOL_OPTIONS") {
      variables[name] = value + " " + proxy[name];  // the last -D of a name wins
    } else {
      variables[name] = value;
    }
  }
  for (const auto& [name, value] : variables) result.variables.push_back(name + "=" + value);
  return result;
}

}  // namespace sallyport::launcher
