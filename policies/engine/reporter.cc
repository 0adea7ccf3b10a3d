#include "policies/engine/reporter.h"

#include <algorithm>
#include <tuple>

#include "core/base/escape.h"
#include "policies/engine/load.h"

namespace sallyport::policy {

Reporter::Reporter(std::string_view file) : file_(escape_text(file)) {}

void Reporter::error(Position at, std::string message, std::string_view read, std::string advice) {
  ++errors_;
  add(Severity::kError, at, std::move(message), read, std::move(advice));
}

void Reporter::warning(Position at, std::string message, std::string_view read, std::string advice) {
  add(Severity::kWarning, at, std::move(message), read, std::move(advice));
}

void Reporter::note(Position at, std::string message, std::string_view read, std::string advice) {
  add(Severity::kNote, at, std::move(message), read, std::move(advice));
}

void Reporter::add(Severity severity, Position at, std::string message, std::string_view read, std::string advice) {
  if (diagnostics_.size() >= kMaxDiagnostics) {
    ++untold_;
    return;
  }
  diagnostics_.push_back(
      {file_, at.line, at.column, severity, std::move(message), escape_text(read, 160), std::move(advice)});
}

void Reporter::absorb(Reporter other) {
  errors_ += other.errors_;
  untold_ += other.untold_;
  for (Diagnostic& diagnostic : other.diagnostics_) {
    if (diagnostics_.size() < kMaxDiagnostics)
      diagnostics_.push_back(std::move(diagnostic));
    else
      ++untold_;
  }
}

std::vector<Diagnostic> Reporter::take() {
  std::ranges::sort(diagnostics_, {},
                    [](const Diagnostic& d) { return std::tie(d.line, d.column, d.severity, d.message); });
  if (untold_ != 0) {
    Position last{diagnostics_.back().line, diagnostics_.back().column};
    auto severity = failed() ? Severity::kError : Severity::kNote;
    diagnostics_.push_back(
        {file_, last.line, last.column, severity, "and " + std::to_string(untold_) + " more", {}, {}});
  }
  return std::move(diagnostics_);
}

std::string quoted(std::string_view text) { return "'" + escape_text(text, 80) + "'"; }

}  // namespace sallyport::policy
