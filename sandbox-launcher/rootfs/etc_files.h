// The files of /etc that Sallyport writes itself.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ip_address.h"

namespace sallyport::launcher {

// Name below /etc and content: passwd and group with root, task and nobody; hosts with loopback and the task's own
// name; resolv.conf with one nameserver and no search list; nsswitch.conf with files and dns only; hostname, host.conf.
std::vector<std::pair<std::string, std::string>> written_etc_files(std::string_view host_name,
                                                                   const IpAddress& resolver);

}  // namespace sallyport::launcher
