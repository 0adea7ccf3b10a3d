#include "policies/engine/language_keys.h"

namespace sallyport::policy {

std::vector<KeyTable> language_keys() {
  std::vector<KeyTable> all = limit_keys();
  for (const KeyTable& table : {policy_keys(), rule_keys(), query_value_keys(), on_denial_keys(), test_keys()}) all.push_back(table);
  return all;
}

}  // namespace sallyport::policy
