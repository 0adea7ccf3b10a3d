#include "sandbox-launcher/spec/spec.h"

#include <unistd.h>

#include "core/base/escape.h"

namespace sallyport::launcher {

std::string_view to_string(RuntimeKind kind) noexcept { return kind == RuntimeKind::kRunc ? "runc" : "bwrap"; }

Result<RuntimeKind> parse_runtime(std::string_view text) {
  if (text == "runc") return RuntimeKind::kRunc;
  if (text == "bwrap") return RuntimeKind::kBwrap;
  return fail(ErrorKind::kInvalid, "runtime: \"" + escape_text(text, 64) + "\" is not known; write runc or bwrap");
}

RuntimeKind default_runtime(uid_t effective_uid) noexcept {
  return effective_uid == 0 ? RuntimeKind::kRunc : RuntimeKind::kBwrap;
}

StdioKind stdio_kind_of_caller() noexcept {
  return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 ? StdioKind::kTerminal : StdioKind::kPipes;
}

}  // namespace sallyport::launcher
