#include "proxy/syscalls.h"

namespace sallyport::proxy {

// The event loop, TCP and UDP, descriptors from control; nothing of files.
sys::SyscallFilter proxy_syscalls() {
  return sys::SyscallFilter().event_loop().sockets_inet().splice().receive_descriptors().shared_memory().refuse_file_lookups().allow("pread64").allow(
      "fstat");
}

}  // namespace sallyport::proxy
