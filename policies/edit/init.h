// init: a first policy, with comments that say what to do next.
#pragma once

#include <string>
#include <vector>

#include "core/base/result.h"

namespace sallyport::policy::edit {

struct Wishes {
  std::string name = "first";       // of the policy
  std::vector<std::string> grants;  // entries of the catalogue: "pypi", "debian"
  std::vector<std::string> apis;    // "api.example", "http://api.example/v1/**", "tls://api.example"
  bool read_only = false;           // of APIs in clear HTTP: GET and HEAD only
};

// A policy that loads, with tests that pass. kInvalid with one sentence when a wish cannot be met. Wishes are untrusted
// text.
Result<std::string> initial_policy(const Wishes& wishes);

}  // namespace sallyport::policy::edit
