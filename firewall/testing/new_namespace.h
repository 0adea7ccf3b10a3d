// For tests: work in a fresh network namespace, owned by a fresh user namespace, without being root.
#pragma once

#include <cstdio>
#include <functional>

namespace sallyport::firewall {

// Runs `check` in a child that is root of a new user and network namespace, and expects true. Everything ends with the
// child. Skips the test where the machine gives no such namespace.
void in_new_namespace(const std::function<bool()>& check);

// `result.has_value()`, with the error's detail printed when it has none.
template <class R>
bool holds(const R& result) {
  if (!result) std::fprintf(stderr, "%s\n", result.error().detail.c_str());
  return result.has_value();
}

}  // namespace sallyport::firewall
