#include "sandbox-launcher/workspace/directory.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <climits>

#include "core/base/escape.h"

namespace sallyport::launcher {
namespace {

struct Place {
  std::string_view path;
  std::string_view why;
};

// Refused themselves, below them, and above them.
constexpr Place kPlaces[] = {
    {"/proc", "it shows the host's processes"},
    {"/sys", "it is the host's kernel interface"},
    {"/dev", "it holds the host's devices"},
    {"/run", "it holds sockets of the host's services"},
    {"/var/run", "it holds sockets of the host's services"},
    {"/etc", "it holds the host's configuration and its secrets; the sandbox has an /etc of its own"},
    {"/boot", "it holds the host's kernel"},
    {"/var/lib/docker", "it is a container engine's store"},
    {"/var/lib/containerd", "it is a container engine's store"},
    {"/var/lib/containers", "it is a container engine's store"},
    {"/var/lib/kubelet", "it holds the secrets of a cluster's pods"},
};

// Names of directories that hold credentials, anywhere in a path.
constexpr std::string_view kCredentialNames[] = {".ssh",    ".aws",   ".gnupg",          ".kube",
                                                 ".docker", ".azure", ".password-store", "gcloud"};

bool is_or_below(std::string_view path, std::string_view above) {
  return path == above || above == "/" ||
         (path.starts_with(above) && path.size() > above.size() && path[above.size()] == '/');
}

std::string name_of(std::string_view option, const std::string& path) {
  return std::string(option) + " " + escape_text(path) + ": ";
}

}  // namespace

Result<PinnedDirectory> pin_directory(const std::string& path, std::string_view option) {
  PinnedDirectory pinned;
  if (path.empty() || path.find('\0') != std::string::npos)
    return fail(ErrorKind::kInvalid, std::string(option) + ": the directory's name is empty or has a NUL byte");
  pinned.fd = UniqueFd(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!pinned.fd) {
    Error error = Error::from_errno(name_of(option, path) + "open the directory");
    if (error.code == ENOENT || error.code == ENOTDIR) error.kind = ErrorKind::kInvalid;
    return fail(std::move(error));
  }
  struct stat facts{};
  if (fstat(pinned.fd.get(), &facts) < 0) return fail_errno("fstat");
  pinned.device = facts.st_dev;
  pinned.inode = facts.st_ino;
  pinned.owner = facts.st_uid;
  pinned.group = facts.st_gid;
  std::array<char, PATH_MAX> real{};
  std::string link = "/proc/self/fd/" + std::to_string(pinned.fd.get());
  ssize_t length = readlink(link.c_str(), real.data(), real.size());
  if (length <= 0 || static_cast<std::size_t>(length) >= real.size()) return fail_errno("readlink " + link);
  pinned.path.assign(real.data(), static_cast<std::size_t>(length));
  if (pinned.path[0] != '/' || pinned.path.ends_with(" (deleted)"))
    return fail(ErrorKind::kInvalid, name_of(option, path) + "the directory is not reachable by a path");
  return pinned;
}

Sensitive sensitive_of_caller(const std::string& state_dir) {
  Sensitive sensitive{state_dir, {"/root", "/home"}};
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/' && home[1] != '\0')
    sensitive.homes.emplace_back(home);
  if (const passwd* entry = getpwuid(geteuid());
      entry != nullptr && entry->pw_dir != nullptr && std::string_view(entry->pw_dir) != "/")
    sensitive.homes.emplace_back(entry->pw_dir);
  return sensitive;
}

Result<void> refuse_sensitive(const PinnedDirectory& directory, const Sensitive& sensitive, std::string_view option) {
  const std::string& path = directory.path;
  auto refuse = [&](std::string why) { return fail(ErrorKind::kDenied, name_of(option, path) + "refused: " + why); };
  if (path == "/") return refuse("it is the whole host");
  for (const auto& place : kPlaces) {
    if (is_or_below(path, place.path)) return refuse(std::string(place.why));
    if (is_or_below(place.path, path))
      return refuse("it holds " + std::string(place.path) + ", and " + std::string(place.why));
  }
  if (!sensitive.state_dir.empty() &&
      (is_or_below(path, sensitive.state_dir) || is_or_below(sensitive.state_dir, path)))
    return refuse("it holds Sallyport's own state, or is part of it");
  for (const auto& home : sensitive.homes)
    if (is_or_below(home, path))
      return refuse("it holds a whole home directory with its credentials; name the directory that the task needs");
  for (auto name : kCredentialNames)
    if ((path + "/").find("/" + std::string(name) + "/") != std::string::npos) return refuse("it holds credentials");
  return success();
}

}  // namespace sallyport::launcher
