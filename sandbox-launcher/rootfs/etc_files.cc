#include "sandbox-launcher/rootfs/etc_files.h"

namespace sallyport::launcher {

std::vector<std::pair<std::string, std::string>> written_etc_files(std::string_view host_name,
                                                                   const IpAddress& resolver) {
  std::string name(host_name);
  return {
      {"passwd",
       "root:x:0:0:root:/:/usr/sbin/nologin\n"
       "task:x:1000:1000:task:/home/task:/bin/sh\n"
       "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
      {"group", "root:x:0:\ntask:x:1000:\nnogroup:x:65534:\n"},
      {"hosts", "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 " + name + "\n"},
      {"hostname", name + "\n"},
      {"host.conf", "multi on\n"},
      // The name is looked up as written: no search list multiplies the questions. Two attempts of two seconds each.
      {"resolv.conf", "nameserver " + resolver.text() + "\noptions timeout:2 attempts:2\n"},
      {"nsswitch.conf",
       "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: "
       "files\n"
       "ethers: files\nrpc: files\n"},
  };
}

}  // namespace sallyport::launcher
