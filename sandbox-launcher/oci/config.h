// The config.json of a runc bundle (OCI runtime specification 1.0.2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace sallyport::launcher {

struct OciRequest {
  std::string root;  // absolute path of the staged root
  std::string host_name;
  std::string cgroup;                    // below each controller's mount, absolute
  std::vector<std::string> argv;         // sallyport-init and its arguments
  std::vector<std::string> environment;  // NAME=value
  std::optional<ByteCount> memory;
  bool limit_swap = false;  // the machine has swap, and this cgroup version can count it
  std::optional<std::uint32_t> processes;
  ByteCount shm_size{};
};

// Namespaces user, net, pid, mount, ipc, uts and cgroup, all new; ids 0..65535 mapped to kHostIdBase; user and group
// 1000; no capability in any set; no new privileges; a core size of 0 and no other resource limit, since raising one
// needs a privilege that root may lack.
std::string oci_config(const OciRequest& request);

}  // namespace sallyport::launcher
