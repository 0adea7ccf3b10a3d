// Every key of the language, as the loader reads it: for the reference, which a test holds to it.
#pragma once

#include <vector>

#include "policies/engine/key_table.h"

namespace sallyport::policy {

// By maps: of a policy, a rule, limits, … Two tables may be of maps with one name.
std::vector<KeyTable> language_keys();

// The readers' own.
KeyTable policy_keys() noexcept;
KeyTable rule_keys() noexcept;
KeyTable query_value_keys() noexcept;
KeyTable on_denial_keys() noexcept;
KeyTable test_keys() noexcept;
std::vector<KeyTable> limit_keys();

}  // namespace sallyport::policy
