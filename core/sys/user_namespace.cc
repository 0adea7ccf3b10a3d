// What the id maps of the caller's user namespace say.
#include <linux/capability.h>
#include <unistd.h>

#include <charconv>
#include <vector>

#include "core/sys/privileges.h"
#include "core/sys/read_file.h"

namespace sallyport::sys {
namespace {

struct IdRange {
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
};

Result<std::vector<IdRange>> read_id_map(const std::string& path) {
  BOOST_OUTCOME_TRY(auto text, read_small_file(path));
  std::vector<std::uint64_t> numbers;
  const char* end = text.data() + text.size();
  for (const char* at = text.data(); at != end;) {
    if (*at == ' ' || *at == '\n') {
      ++at;
      continue;
    }
    auto [next, error] = std::from_chars(at, end, numbers.emplace_back());
    if (error != std::errc()) return fail(ErrorKind::kInvalid, path + ": not a map of ids");
    at = next;
  }
  if (numbers.size() % 3 != 0) return fail(ErrorKind::kInvalid, path + ": not a map of ids");
  std::vector<IdRange> ranges;
  for (std::size_t i = 0; i < numbers.size(); i += 3) ranges.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
  return ranges;
}

bool contains(const std::vector<IdRange>& ranges, std::uint64_t id) {
  for (const IdRange& range : ranges)
    if (id >= range.inside && id - range.inside < range.count) return true;
  return false;
}

}  // namespace

Result<bool> in_initial_user_namespace() {
  BOOST_OUTCOME_TRY(auto ranges, read_id_map("/proc/self/uid_map"));
  return ranges.size() == 1 && ranges[0].inside == 0 && ranges[0].outside == 0 && ranges[0].count == 4294967295U;
}

Result<bool> may_become(User user) {
  if (geteuid() != 0 || !has_capability(CAP_SETUID) || !has_capability(CAP_SETGID)) return false;
  BOOST_OUTCOME_TRY(auto uids, read_id_map("/proc/self/uid_map"));
  BOOST_OUTCOME_TRY(auto gids, read_id_map("/proc/self/gid_map"));
  return contains(uids, user.uid) && contains(gids, user.gid);
}

}  // namespace sallyport::sys
