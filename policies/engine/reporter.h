// Reporter: collects the diagnostics of one load, up to their maximum.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/diagnostic.h"

namespace sallyport::policy {

// A place in the file, both from 1.
struct Position {
  std::uint32_t line = 1;
  std::uint32_t column = 1;
};

class Reporter {
 public:
  explicit Reporter(std::string_view file);

  // `read` is text from the file as it is; it is escaped and cut here. `message` and `advice` must already be safe.
  void error(Position at, std::string message, std::string_view read = {}, std::string advice = {});
  void warning(Position at, std::string message, std::string_view read = {}, std::string advice = {});
  void note(Position at, std::string message, std::string_view read = {}, std::string advice = {});

  // Takes over what another has collected.
  void absorb(Reporter other);

  bool failed() const noexcept { return errors_ != 0; }
  // In the order of the file. The reporter is empty afterwards.
  std::vector<Diagnostic> take();

 private:
  void add(Severity severity, Position at, std::string message, std::string_view read, std::string advice);

  std::string file_;
  std::vector<Diagnostic> diagnostics_;
  std::size_t errors_ = 0;
  std::size_t untold_ = 0;
};

// Text of the file in a message: escaped, at most 80 bytes, in single quotes.
std::string quoted(std::string_view text);

}  // namespace sallyport::policy
