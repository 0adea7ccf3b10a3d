// Times as the log writes them: RFC 3339, UTC, microseconds.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace sallyport::audit_writer {

// Keeps the text of the last second: most lines change only the microseconds. Years 1970 to 9999.
class TimeText {
 public:
  // "2026-01-02T03:04:05.123456Z"; valid until the next call.
  std::string_view format(std::chrono::system_clock::time_point at) noexcept;

 private:
  std::int64_t second_ = -1;
  std::array<char, 27> text_{};
};

}  // namespace sallyport::audit_writer
