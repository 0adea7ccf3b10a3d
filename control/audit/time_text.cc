#include "control/audit/time_text.h"

namespace sallyport::audit_writer {
namespace {

void put(char* to, std::int64_t value, int digits) noexcept {
  for (int i = digits - 1; i >= 0; --i) {
    to[i] = static_cast<char>('0' + value % 10);
    value /= 10;
  }
}

}  // namespace

std::string_view TimeText::format(std::chrono::system_clock::time_point at) noexcept {
  using namespace std::chrono;
  auto since = duration_cast<microseconds>(at.time_since_epoch()).count();
  if (since < 0) since = 0;
  std::int64_t second = since / 1'000'000;
  if (second != second_) {
    second_ = second;
    auto day = floor<days>(sys_seconds(seconds(second)));
    year_month_day date(day);
    std::int64_t within = second % 86'400;
    static constexpr std::string_view kForm = "0000-00-00T00:00:00.000000Z";
    kForm.copy(text_.data(), text_.size());
    put(text_.data(), static_cast<int>(date.year()), 4);
    put(text_.data() + 5, static_cast<unsigned>(date.month()), 2);
    put(text_.data() + 8, static_cast<unsigned>(date.day()), 2);
    put(text_.data() + 11, within / 3600, 2);
    put(text_.data() + 14, within / 60 % 60, 2);
    put(text_.data() + 17, within % 60, 2);
  }
  put(text_.data() + 20, since % 1'000'000, 6);
  return {text_.data(), text_.size()};
}

}  // namespace sallyport::audit_writer
