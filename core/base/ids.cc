#include "core/base/ids.h"

#include <algorithm>

#include "core/base/random.h"

namespace sallyport {

Result<TaskId> TaskId::parse(std::string_view text) {
  auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (text.empty() || text.size() > 64 || !is_alnum(text[0]) ||
      !std::ranges::all_of(text, [&](char c) { return is_alnum(c) || c == '-'; }))
    return fail(ErrorKind::kInvalid, "a task id is 1 to 64 of a-z, 0-9 and '-', beginning with a letter or digit");
  return TaskId(std::string(text));
}

TaskId TaskId::random() { return TaskId("t-" + random_hex(8)); }

}  // namespace sallyport
