// Diagnostic: one thing to say about a policy file: where, what was read, what is wrong, what to write instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sallyport::policy {

enum class Severity : std::uint8_t { kError, kWarning, kNote };

// All texts are ASCII and safe for a terminal: what came from the file is escaped.
struct Diagnostic {
  std::string file;
  std::uint32_t line = 1;    // from 1
  std::uint32_t column = 1;  // from 1, in characters
  Severity severity = Severity::kError;
  std::string message;
  std::string read;    // what stood there; empty when there is nothing to show
  std::string advice;  // what to write instead; empty when the message says it all
};

std::string_view to_string(Severity severity) noexcept;  // "error", "warning", "note"

// One to three lines, each ended by a newline:
//   FILE:LINE:COLUMN: error: MESSAGE
//     read:  READ
//     write: ADVICE
std::string render(const Diagnostic& diagnostic);

}  // namespace sallyport::policy
