// Netlink: one netlink socket in the namespace the process is in when it is opened. Blocking; the kernel answers at
// once.
//
// Answers come from the kernel and their form is trusted as far as libmnl checks it; the names in them are the
// sandbox's.
#pragma once

#include <libmnl/libmnl.h>

#include <functional>
#include <memory>

#include "core/base/result.h"

namespace sallyport::firewall {

class Netlink {
 public:
  using OnMessage = std::function<Result<void>(const nlmsghdr&)>;

  // `bus` is NETLINK_ROUTE or NETLINK_NETFILTER.
  static Result<Netlink> open(int bus);

  // Sends `request` (type, flags and payload set; sequence is set here) and gives every answer up to the end of
  // the dump, or up to the acknowledgement, to `on_message`. An error that the kernel answers has its errno as code.
  Result<void> ask(nlmsghdr& request, const OnMessage& on_message);
  Result<void> ask(nlmsghdr& request) {
    return ask(request, [](const nlmsghdr&) -> Result<void> { return success(); });
  }

  // A dump of `type` in an address family, with a payload of `header_size` zero bytes whose first byte is the family.
  Result<void> dump(std::uint16_t type, std::uint8_t family, std::size_t header_size, const OnMessage& on_message);

 private:
  struct Close {
    void operator()(mnl_socket* socket) const noexcept { mnl_socket_close(socket); }
  };
  explicit Netlink(mnl_socket* socket) : socket_(socket) {}
  std::unique_ptr<mnl_socket, Close> socket_;
  std::uint32_t sequence_ = 0;
};

// Calls `on_attribute(type, attribute)` for each attribute after `offset` bytes of payload.
void each_attribute(const nlmsghdr& message, std::size_t offset,
                    const std::function<void(std::uint16_t, const nlattr&)>& on_attribute);
void each_nested(const nlattr& outer, const std::function<void(std::uint16_t, const nlattr&)>& on_attribute);
// 0 when the attribute is not four bytes long.
std::uint32_t number_of(const nlattr& attribute) noexcept;

}  // namespace sallyport::firewall
