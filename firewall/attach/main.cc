// sallyport-attach: enters one network namespace, makes Sallyport's sockets inside it, passes them to control, tests
// that there is no other way out, and exits. Started by control with the channel as descriptor 3; has no arguments and
// reads no environment.
#include <sys/socket.h>

#include <cstdio>

#include "firewall/attach/attach.h"

namespace {

constexpr int kChannel = 3;

bool is_channel() {
  int domain = 0, type = 0;
  socklen_t size = sizeof(int);
  return ::getsockopt(kChannel, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 &&
         ::getsockopt(kChannel, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && domain == AF_UNIX && type == SOCK_SEQPACKET;
}

}  // namespace

int main() {
  if (!is_channel()) {
    std::fputs("sallyport-attach is started by sallyport (see: sallyport attach --help), not by hand\n", stderr);
    return 2;
  }
  auto attached = sallyport::firewall::attach_namespace(kChannel);
  if (!attached) return 1;
  return sallyport::firewall::answer_self_test(kChannel, attached.value()) ? 0 : 1;
}
