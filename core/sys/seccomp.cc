#include "core/sys/seccomp.h"

#include <seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "core/base/escape.h"

namespace sallyport::sys {

#if defined(SALLYPORT_SECCOMP_REPORT)
namespace {

// Runs in the refused call's place. Ends the process like the filter would have, after naming the call.
void report_and_end(int, siginfo_t* info, void*) {
  char text[128] = "seccomp: refused system call ";
  char* name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, info->si_syscall);
  std::strncat(text, name ? name : "?", 64);
  std::strncat(text, "\n", 2);
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
  _exit(128 + SIGSYS);
}

Result<std::uint32_t> refusal() {
  struct sigaction action = {};
  action.sa_sigaction = report_and_end;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  if (sigaction(SIGSYS, &action, nullptr) != 0) return fail_errno("sigaction");
  return std::uint32_t{SCMP_ACT_TRAP};
}

}  // namespace
#else
namespace {
Result<std::uint32_t> refusal() { return std::uint32_t{SCMP_ACT_KILL_PROCESS}; }
}  // namespace
#endif

// Turns the rules into libseccomp's and loads them.
class FilterProgram {
 public:
  explicit FilterProgram(std::uint32_t refusal) : context_(seccomp_init(refusal)) {}
  ~FilterProgram() {
    if (context_) seccomp_release(context_);
  }
  FilterProgram(const FilterProgram&) = delete;
  FilterProgram& operator=(const FilterProgram&) = delete;

  Result<void> configure(std::uint32_t refusal) {
    if (!context_) return fail(ErrorKind::kOverloaded, "seccomp_init");
    // A call of another architecture (i386, x32) is refused like any other; a binary tree keeps the filter short to
    // walk.
    int error = seccomp_attr_set(context_, SCMP_FLTATR_ACT_BADARCH, refusal);
    if (error == 0) error = seccomp_attr_set(context_, SCMP_FLTATR_CTL_NNP, 0);
    if (error == 0) error = seccomp_attr_set(context_, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    if (error != 0) return fail(Error::from_errno("seccomp_attr_set", -error));
    return success();
  }

  Result<void> add(const SyscallFilter::Rule& rule) {
    int number = seccomp_syscall_resolve_name(rule.name.c_str());
    if (number == __NR_SCMP_ERROR)
      return fail(ErrorKind::kInvalid, "seccomp: no system call " + escape_text(rule.name));
    if (number < 0) return success();  // of another architecture: stays refused here
    std::vector<scmp_arg_cmp> conditions;
    for (const auto& condition : rule.conditions) conditions.push_back(compare(condition));
    std::uint32_t action =
        rule.refuse_with != 0 ? SCMP_ACT_ERRNO(static_cast<unsigned>(rule.refuse_with)) : SCMP_ACT_ALLOW;
    int error =
        seccomp_rule_add_array(context_, action, number, static_cast<unsigned>(conditions.size()), conditions.data());
    if (error != 0 && error != -EEXIST) return fail(Error::from_errno("seccomp rule for " + rule.name, -error));
    return success();
  }

  Result<void> load() {
    int error = seccomp_load(context_);
    if (error != 0) return fail(Error::from_errno("seccomp_load", -error));
    return success();
  }

 private:
  static scmp_arg_cmp compare(const SyscallFilter::Condition& condition) {
    using Test = SyscallFilter::Condition::Test;
    scmp_arg_cmp compared{};
    compared.arg = condition.argument;
    switch (condition.test) {
      case Test::kEquals:
        compared.op = SCMP_CMP_EQ;
        compared.datum_a = condition.value;
        break;
      case Test::kMaskedEquals:
        compared.op = SCMP_CMP_MASKED_EQ;
        compared.datum_a = condition.mask;
        compared.datum_b = condition.value;
        break;
      case Test::kIsOwnPid:
        compared.op = SCMP_CMP_MASKED_EQ;
        compared.datum_a = condition.mask;
        compared.datum_b = static_cast<std::uint64_t>(getpid());
        break;
    }
    return compared;
  }

  scmp_filter_ctx context_;
};

void SyscallFilter::allow_all(std::initializer_list<std::string_view> names) {
  for (std::string_view name : names) rules_.push_back({std::string(name), {}, 0});
}

void SyscallFilter::allow_if(std::string_view name, std::initializer_list<Condition> conditions) {
  rules_.push_back({std::string(name), conditions, 0});
}

void SyscallFilter::refuse(std::string_view name, int error) { rules_.push_back({std::string(name), {}, error}); }

std::vector<std::string> SyscallFilter::names() const {
  std::set<std::string> names;
  for (const Rule& rule : rules_)
    if (rule.refuse_with == 0) names.insert(rule.name);
  return {names.begin(), names.end()};
}

Result<void> SyscallFilter::install() const {
  if (rules_.empty()) return fail(ErrorKind::kInvalid, "seccomp: an empty filter");
  if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1) return fail(ErrorKind::kInvalid, "seccomp: no_new_privs is not set");
  // A rule without conditions says all that the conditional ones of the same call say.
  std::set<std::string> whole, refused;
  for (const Rule& rule : rules_) {
    if (rule.refuse_with != 0)
      refused.insert(rule.name);
    else if (rule.conditions.empty())
      whole.insert(rule.name);
  }
  for (const Rule& rule : rules_)
    if (rule.refuse_with == 0 && refused.contains(rule.name))
      return fail(ErrorKind::kInvalid, "seccomp: " + escape_text(rule.name) + " is both allowed and refused");

  BOOST_OUTCOME_TRY(auto refuse_by, refusal());
  FilterProgram program(refuse_by);
  BOOST_OUTCOME_TRY(program.configure(refuse_by));
  for (const Rule& rule : rules_)
    if (rule.conditions.empty() || !whole.contains(rule.name)) {
      BOOST_OUTCOME_TRY(program.add(rule));
    }
  return program.load();
}

}  // namespace sallyport::sys
