#include "core/sys/landlock.h"

#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "core/base/unique_fd.h"

namespace sallyport::sys {
namespace {

// The kernel's numbers, here because Debian's headers are older than the kernels that run this.
constexpr std::uint64_t kFsAbi1 = (1U << 13) - 1;  // execute … make_sym
constexpr std::uint64_t kFsRefer = 1U << 13;       // ABI 2
constexpr std::uint64_t kFsTruncate = 1U << 14;    // ABI 3
constexpr std::uint64_t kFsIoctlDev = 1U << 15;    // ABI 5
constexpr std::uint64_t kNetTcp = 0b11;            // ABI 4: bind, connect
constexpr std::uint64_t kScopes = 0b11;            // ABI 6: abstract Unix sockets, signals

constexpr std::uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr std::uint64_t kAppend = kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG;

struct RulesetAttributes {
  std::uint64_t handled_fs;
  std::uint64_t handled_net;
  std::uint64_t scoped;
};

RulesetAttributes everything(int abi, bool deny_tcp) {
  RulesetAttributes all{kFsAbi1, 0, 0};
  if (abi >= 2) all.handled_fs |= kFsRefer;
  if (abi >= 3) all.handled_fs |= kFsTruncate;
  if (abi >= 5) all.handled_fs |= kFsIoctlDev;
  if (abi >= 4 && deny_tcp) all.handled_net = kNetTcp;
  if (abi >= 6) all.scoped = kScopes;
  return all;
}

Result<void> grant(int ruleset, const DirectoryGrant& directory) {
  landlock_path_beneath_attr rule{};
  rule.parent_fd = directory.fd;
  rule.allowed_access = directory.rights == DirectoryGrant::Rights::kAppend ? kAppend : kRead;
  if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) != 0)
    return fail_errno("landlock_add_rule");
  return success();
}

}  // namespace

int landlock_abi() noexcept {
  long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

Result<int> restrict_with_landlock(const LandlockRules& rules) {
  int abi = landlock_abi();
  if (abi == 0) return 0;
  // Fields that an older kernel does not know are zero, which it accepts.
  RulesetAttributes attributes = everything(abi, rules.deny_tcp);
  UniqueFd ruleset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  if (!ruleset) return fail_errno("landlock_create_ruleset");
  for (const DirectoryGrant& directory : rules.directories) {
    BOOST_OUTCOME_TRY(grant(ruleset.get(), directory));
  }
  if (syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) return fail_errno("landlock_restrict_self");
  return abi;
}

}  // namespace sallyport::sys
