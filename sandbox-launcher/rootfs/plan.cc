#include "sandbox-launcher/rootfs/plan.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <set>

#include "core/base/escape.h"
#include "sandbox-launcher/init/image.h"
#include "sandbox-launcher/rootfs/etc_files.h"

namespace sallyport::launcher {
namespace {

constexpr std::string_view kHostTop[] = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"};

// What common programs read; none of it may hold secrets, and what is not readable by everybody is left out.
// Left out on purpose: gitconfig, pip.conf, npmrc, wgetrc, environment, profile.d (they carry credentials and proxies),
// machine-id.
constexpr std::string_view kHostEtc[] = {
    "alternatives",
    "bash.bashrc",
    "bindresvport.blacklist",
    "ca-certificates",
    "ca-certificates.conf",
    "chromium.d",
    "crypto-policies",
    "debian_version",
    "default/cacerts",
    "ethertypes",
    "fonts",
    "gai.conf",
    "inputrc",
    "issue",
    "java",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "lsb-release",
    "localtime",
    "magic",
    "magic.mime",
    "mailcap",
    "mime.types",
    "networks",
    "nodejs",
    "os-release",
    "perl",
    "pki",
    "profile",
    "protocols",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "redhat-release",
    "rpc",
    "services",
    "shells",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xattr.conf",
};

// Entries of a given tree that a sandbox has of its own.
constexpr std::string_view kOwnTop[] = {"proc", "sys", "dev", "run", "tmp", "etc", "home", "workspace", "lost+found"};

class Planner {
 public:
  explicit Planner(RootRequest request) : request_(std::move(request)) {}

  Result<RootPlan> run() {
    directory("/proc");
    directory("/dev");
    if (request_.rootfs) {
      BOOST_OUTCOME_TRY(given_tree());
    } else {
      BOOST_OUTCOME_TRY(host_tree());
      directory("/var");
      symlink("/var/tmp", "../tmp");
    }
    for (auto& [name, content] : written_etc_files(request_.host_name, request_.resolver))
      file("/etc/" + name, std::move(content), 0444);
    symlink("/etc/mtab", "../proc/self/mounts");
    directory("/run");
    file(std::string(kInitPath), std::string(init_image()), 0555);
    scratch("/tmp", 01777);
    directory("/home");
    scratch("/home/task", 0700);
    BOOST_OUTCOME_TRY(shared());
    return std::move(plan_);
  }

 private:
  Result<void> host_tree() {
    for (auto name : kHostTop) {
      BOOST_OUTCOME_TRY(copy_of("/" + std::string(name), "/" + std::string(name)));
    }
    directory("/etc");
    std::set<std::string> made;
    for (auto name : kHostEtc) {
      std::string path = "/etc/" + std::string(name);
      if (std::string parent = path.substr(0, path.rfind('/')); parent != "/etc" && made.insert(parent).second)
        directory(parent);
      BOOST_OUTCOME_TRY(copy_of(path, path));
    }
    return success();
  }

  Result<void> given_tree() {
    const std::string& tree = request_.rootfs->path;
    BOOST_OUTCOME_TRY(auto names, names_in(tree));
    for (const auto& name : names)
      if (std::find(std::begin(kOwnTop), std::end(kOwnTop), name) == std::end(kOwnTop)) {
        BOOST_OUTCOME_TRY(copy_of(tree + "/" + name, "/" + name));
      }
    directory("/etc");
    struct stat facts{};
    if (lstat((tree + "/etc").c_str(), &facts) < 0) return success();
    if (!S_ISDIR(facts.st_mode))
      return fail(ErrorKind::kInvalid, "--rootfs " + escape_text(tree) + ": its etc is not a directory");
    std::set<std::string> own{"mtab"};
    for (const auto& [name, content] : written_etc_files(request_.host_name, request_.resolver)) own.insert(name);
    BOOST_OUTCOME_TRY(auto files, names_in(tree + "/etc"));
    for (const auto& name : files)
      if (!own.contains(name)) {
        BOOST_OUTCOME_TRY(copy_of(tree + "/etc/" + name, "/etc/" + name));
      }
    return success();
  }

  Result<void> shared() {
    for (auto& directory : request_.read_only) {
      if (request_.workspace && (directory.path + "/").starts_with("/workspace/"))
        return fail(ErrorKind::kInvalid,
                    "--ro " + escape_text(directory.path) + ": /workspace is the workspace's place inside");
      RootEntry entry = bound(std::move(directory));
      entry.path = entry.source;
      plan_.entries.push_back(std::move(entry));
    }
    if (request_.workspace) {
      RootEntry entry = bound(std::move(*request_.workspace));
      entry.path = "/workspace";
      entry.writable = true;
      entry.idmap = std::move(request_.workspace_idmap);
      plan_.entries.push_back(std::move(entry));
    }
    return success();
  }

  // A symbolic link as one; a file or directory as a bind if everybody may read it; nothing for what is absent or of
  // another kind.
  Result<void> copy_of(const std::string& from, const std::string& to) {
    UniqueFd fd(open(from.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat facts{};
    if (!fd && (errno == ENOENT || errno == EACCES)) return success();
    if (!fd || fstat(fd.get(), &facts) < 0) return fail_errno("open " + escape_text(from));
    if (S_ISLNK(facts.st_mode)) {
      std::array<char, PATH_MAX> target{};
      ssize_t length = readlinkat(fd.get(), "", target.data(), target.size());
      if (length <= 0 || static_cast<std::size_t>(length) >= target.size())
        return fail_errno("readlink " + escape_text(from));
      symlink(to, std::string(target.data(), static_cast<std::size_t>(length)));
      return success();
    }
    mode_t everybody = S_ISDIR(facts.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    if ((!S_ISDIR(facts.st_mode) && !S_ISREG(facts.st_mode)) || (facts.st_mode & everybody) != everybody)
      return success();
    RootEntry entry =
        bound(PinnedDirectory{std::move(fd), from, facts.st_dev, facts.st_ino, facts.st_uid, facts.st_gid});
    entry.path = to;
    entry.host_tree = true;
    plan_.entries.push_back(std::move(entry));
    return success();
  }

  static RootEntry bound(PinnedDirectory directory) {
    RootEntry entry;
    entry.kind = RootEntry::Kind::kBind;
    entry.source = std::move(directory.path);
    entry.pinned = std::move(directory.fd);
    entry.device = directory.device;
    entry.inode = directory.inode;
    return entry;
  }

  static Result<std::vector<std::string>> names_in(const std::string& path) {
    std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(path.c_str()), closedir);
    if (!directory) return fail_errno("--rootfs: read " + escape_text(path));
    std::vector<std::string> names;
    while (const dirent* entry = readdir(directory.get()))
      if (std::string name = entry->d_name; name != "." && name != "..") names.push_back(std::move(name));
    if (names.size() > 4096)
      return fail(ErrorKind::kInvalid, "--rootfs: " + escape_text(path) + " has more than 4096 entries");
    std::sort(names.begin(), names.end());
    return names;
  }

  RootEntry& add(RootEntry::Kind kind, std::string path) {
    plan_.entries.emplace_back();
    plan_.entries.back().kind = kind;
    plan_.entries.back().path = std::move(path);
    return plan_.entries.back();
  }
  void directory(std::string path) { add(RootEntry::Kind::kDirectory, std::move(path)); }
  void symlink(std::string path, std::string target) {
    add(RootEntry::Kind::kSymlink, std::move(path)).source = std::move(target);
  }
  void file(std::string path, std::string content, mode_t mode) {
    RootEntry& entry = add(RootEntry::Kind::kFile, std::move(path));
    entry.source = std::move(content);
    entry.mode = mode;
  }
  void scratch(std::string path, mode_t mode) {
    RootEntry& entry = add(RootEntry::Kind::kScratch, std::move(path));
    entry.mode = mode;
    entry.size = request_.tmp_size;
    entry.owner = request_.task_id;
  }

  RootRequest request_;
  RootPlan plan_;
};

}  // namespace

Result<RootPlan> plan_root(RootRequest request) { return Planner(std::move(request)).run(); }

}  // namespace sallyport::launcher
