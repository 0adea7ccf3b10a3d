#include "policies/review/limits_text.h"

namespace sallyport::policy::review {
namespace {

class List {
 public:
  void add(std::string_view name, const std::string& value) {
    if (!text_.empty()) text_ += ", ";
    text_ += name;
    text_ += ' ';
    text_ += value;
  }
  void add(std::string_view name, const std::optional<std::uint64_t>& count) {
    if (count) add(name, std::to_string(*count));
  }
  void add(std::string_view name, const std::optional<ByteCount>& bytes) {
    if (bytes) add(name, size_text(*bytes));
  }
  void add(std::string_view name, const std::optional<std::chrono::seconds>& time) {
    if (time) add(name, duration_text(*time));
  }
  void add(const Limits& limits) {
    add("requests", limits.requests);
    add("connections", limits.connections_total);
    add("concurrent connections", limits.connections_concurrent);
    add("duration of a connection", limits.duration);
    add("upload", limits.upload);
    add("download", limits.download);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string size_text(ByteCount bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  std::uint64_t value = bytes.value;
  while (unit + 1 < std::size(kUnits) && value != 0 && value % 1024 == 0) {
    value /= 1024;
    ++unit;
  }
  return std::to_string(value) + std::string(kUnits[unit]);
}

std::string duration_text(std::chrono::seconds time) {
  auto seconds = time.count();
  if (seconds != 0 && seconds % 3600 == 0) return std::to_string(seconds / 3600) + "h";
  if (seconds != 0 && seconds % 60 == 0) return std::to_string(seconds / 60) + "m";
  return std::to_string(seconds) + "s";
}

std::string limits_text(const Limits& limits) {
  List list;
  list.add(limits);
  return list.take();
}

std::string budgets_text(const Budgets& budgets) {
  List list;
  list.add("wall", budgets.wall);
  list.add("idle", budgets.idle);
  list.add(budgets.limits);
  return list.take();
}

}  // namespace sallyport::policy::review
