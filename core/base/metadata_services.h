// The addresses of services that hand credentials or configuration to whatever runs on a cloud's machine. One list for all who
// refuse them: policies when they are read, connections before they are made.
#pragma once

#include <algorithm>

#include "core/base/ip_address.h"

namespace sallyport {

inline constexpr IpAddress kMetadataServices[] = {
    IpAddress::v4({169, 254, 169, 254}),  // AWS, Azure, Google Cloud, DigitalOcean, OpenStack, Oracle, Hetzner, …
    IpAddress::v4({169, 254, 169, 253}),  // AWS resolver
    IpAddress::v4({169, 254, 169, 123}),  // AWS time service
    IpAddress::v4({169, 254, 170, 2}),    // AWS ECS task credentials
    IpAddress::v4({169, 254, 170, 23}),   // AWS EKS pod identity
    IpAddress::v4({169, 254, 0, 23}),     // Tencent Cloud
    IpAddress::v4({169, 254, 42, 42}),    // Scaleway
    IpAddress::v4({100, 100, 100, 200}),  // Alibaba Cloud
    IpAddress::v4({100, 88, 222, 5}),     // Tencent Cloud
    IpAddress::v4({168, 63, 129, 16}),    // Azure WireServer
    IpAddress::v4({192, 0, 0, 192}),      // Oracle Cloud, earlier
    IpAddress::v6({0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}),     // AWS fd00:ec2::254
    IpAddress::v6({0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x23}),        // AWS EKS fd00:ec2::23
    IpAddress::v6({0xfd, 0x00, 0x0e, 0xc2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x53}),     // AWS resolver fd00:ec2::253
    IpAddress::v6({0xfd, 0x20, 0x00, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}),     // Google Cloud fd20:ce::254
    IpAddress::v6({0xfd, 0x00, 0x00, 0xc1, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe}),  // Oracle fd00:c1::a9fe:a9fe
    IpAddress::v6({0xfd, 0x00, 0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42}),        // Scaleway fd00:42::42
    IpAddress::v6({0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa9, 0xfe, 0xa9, 0xfe}),     // OpenStack fe80::a9fe:a9fe
};

// Of the address itself, not of what may be embedded in it.
constexpr bool is_metadata_service(const IpAddress& address) noexcept {
  return std::ranges::find(kMetadataServices, address) != std::end(kMetadataServices);
}

}  // namespace sallyport
