// Identities that must not be confused with other text.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport {

// Names a task: 1 to 64 bytes of a-z, 0-9 and '-', beginning with a letter or digit. Safe in file names, logs and headers.
class TaskId {
 public:
  // kInvalid when the text has another form.
  static Result<TaskId> parse(std::string_view text);
  // A fresh random one: "t-" and 16 hexadecimal digits from the kernel's generator.
  static TaskId random();

  std::string_view text() const noexcept { return text_; }
  friend bool operator==(const TaskId&, const TaskId&) = default;
  friend auto operator<=>(const TaskId&, const TaskId&) = default;

 private:
  explicit TaskId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace sallyport

template <>
struct std::hash<sallyport::TaskId> {
  std::size_t operator()(const sallyport::TaskId& id) const noexcept { return std::hash<std::string_view>{}(id.text()); }
};
