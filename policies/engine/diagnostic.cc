#include "policies/engine/diagnostic.h"

namespace sallyport::policy {

std::string_view to_string(Severity severity) noexcept {
  switch (severity) {
    case Severity::kError:
      return "error";
    case Severity::kWarning:
      return "warning";
    case Severity::kNote:
      return "note";
  }
  return "error";
}

std::string render(const Diagnostic& d) {
  std::string out = d.file + ":" + std::to_string(d.line) + ":" + std::to_string(d.column) + ": ";
  out += to_string(d.severity);
  out += ": " + d.message + "\n";
  if (!d.read.empty()) out += "  read:  " + d.read + "\n";
  if (!d.advice.empty()) out += "  write: " + d.advice + "\n";
  return out;
}

}  // namespace sallyport::policy
