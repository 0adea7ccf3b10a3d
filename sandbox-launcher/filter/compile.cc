#include <seccomp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>

#include "sandbox-launcher/filter/rules.h"

namespace sallyport::launcher {
namespace {

using Context = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

Result<void> add(scmp_filter_ctx context, const SyscallRule& rule) {
  int number = seccomp_syscall_resolve_name(std::string(rule.name).c_str());
  if (number == __NR_SCMP_ERROR) return success();  // newer than this libseccomp: unknown calls give ENOSYS anyhow
  std::vector<scmp_arg_cmp> compared;
  for (const auto& match : rule.when) {
    scmp_arg_cmp one{};
    one.arg = match.index;
    one.op = SCMP_CMP_MASKED_EQ;
    one.datum_a = match.mask;
    one.datum_b = match.value;
    compared.push_back(one);
  }
  std::uint32_t action =
      rule.error == SyscallRule::kAllow ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(static_cast<std::uint16_t>(rule.error));
  int failed = seccomp_rule_add_array(context, action, number, static_cast<unsigned>(compared.size()), compared.data());
  // -EDOM: a call that this architecture does not have.
  if (failed != 0 && failed != -EDOM)
    return fail(Error::from_errno("system-call filter: rule for " + std::string(rule.name), -failed));
  return success();
}

}  // namespace

Result<UniqueFd> compile_filter() {
  Context context(seccomp_init(SCMP_ACT_ERRNO(kUnknownSyscallError)), seccomp_release);
  if (!context) return fail(ErrorKind::kInternal, "system-call filter: libseccomp gives no context");
  for (const auto& rule : syscall_rules()) {
    BOOST_OUTCOME_TRY(add(context.get(), rule));
  }
  UniqueFd file(memfd_create("sallyport-filter", MFD_CLOEXEC));
  if (!file) return fail_errno("memfd_create");
  int failed = seccomp_export_bpf(context.get(), file.get());
  if (failed != 0) return fail(Error::from_errno("system-call filter: export", -failed));
  if (lseek(file.get(), 0, SEEK_SET) < 0) return fail_errno("lseek");
  return file;
}

}  // namespace sallyport::launcher
