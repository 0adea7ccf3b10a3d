// sallyport-attach that makes the hole named by SALLYPORT_HOLE after its work and before its self-test.
#include <cstdio>
#include <cstdlib>

#include "firewall/attach/attach.h"
#include "tests/holes/hole.h"

int main() {
  constexpr int kChannel = 3;
  const char* hole = std::getenv("SALLYPORT_HOLE");
  auto impostor = sallyport::holes::start_impostor();
  if (!impostor) return 3;
  auto attached = sallyport::firewall::attach_namespace(kChannel);
  if (!attached) return 1;
  auto made = sallyport::holes::make_hole(hole ? hole : "none", impostor.value());
  if (!made) {
    std::fprintf(stderr, "%s\n", made.error().detail.c_str());
    return 3;
  }
  return sallyport::firewall::answer_self_test(kChannel, attached.value()) ? 0 : 1;
}
