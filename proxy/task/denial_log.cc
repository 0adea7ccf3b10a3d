#include "proxy/task/denial_log.h"

#include <utility>

namespace sallyport::proxy {

void DenialLog::add(DenialEntry entry) {
  ++total_;
  for (auto& known : entries_) {
    if (known.what != entry.what || known.reason != entry.reason) continue;
    ++known.count;
    known.decision = std::move(entry.decision);
    return;
  }
  entries_.push_front(std::move(entry));
  if (entries_.size() > kKept) entries_.pop_back();
}

}  // namespace sallyport::proxy
