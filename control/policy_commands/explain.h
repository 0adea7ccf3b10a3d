// `sallyport policy explain FILE 'GET http://host/path'`
#pragma once

#include <cstddef>
#include <string>

namespace sallyport::control {

struct ExplainOptions {
  std::string file, ceiling, question, content_type;
  std::size_t nearest = 10;
};

// Prints the verdict and why. 0: allowed, 1: denied, 2: no answer.
int explain_policy(const ExplainOptions& options);

}  // namespace sallyport::control
