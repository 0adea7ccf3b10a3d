#include "core/sys/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace sallyport::sys {

void use_available_descriptors(std::uint64_t wanted) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::max<rlim_t>(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, wanted));
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace sallyport::sys
