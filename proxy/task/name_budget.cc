#include "proxy/task/name_budget.h"

namespace sallyport::proxy {

bool NameBudget::admit(const HostName& name) {
  if (!most_ || names_.contains(name)) return true;
  if (names_.size() >= *most_) return false;
  names_.insert(name);
  return true;
}

}  // namespace sallyport::proxy
