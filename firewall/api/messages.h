// The messages between control and sallyport-attach: fixed-size PODs, one per SOCK_SEQPACKET frame on attach's
// descriptor 3, host byte order (both ends are of one build on one machine). Addresses are in network order.
//
//   control → attach   AttachRequest   with the namespace's descriptor
//   attach → control   AttachReply     with the six listeners of ListenerSet, in its order, if status is kOk
//   control → attach   ProbeRequest    once the proxy holds the listeners
//   attach → control   ProbeReply      then attach exits
//
// A frame of another size, kind or version, or with another number of descriptors, ends the conversation on both sides.
#pragma once

#include <array>
#include <cstdint>
#include <type_traits>

#include "firewall/api/probes.h"

namespace sallyport::firewall {

inline constexpr std::uint32_t kAttachProtocol = 1;

enum class MessageKind : std::uint32_t { kAttachRequest = 1, kAttachReply = 2, kProbeRequest = 3, kProbeReply = 4 };

struct MessageHead {
  std::uint32_t protocol = kAttachProtocol;
  MessageKind kind{};
};

struct AttachRequest {
  MessageHead head{kAttachProtocol, MessageKind::kAttachRequest};
  std::uint32_t flags = 0;  // none defined; anything else is refused
  std::int32_t pid = 0;     // a process of the task in that namespace whose capabilities are checked; 0: none known
  std::array<std::uint8_t, 4> pool4{};  // base of the task's synthetic IPv4 pool
  std::array<std::uint8_t, 16> pool6{};
  std::uint8_t pool4_length = 0;  // prefix lengths
  std::uint8_t pool6_length = 0;
  std::uint8_t padding[2]{};
};

// Where an attach ended.
enum class AttachStatus : std::uint32_t {
  kOk = 1,
  kRefused = 2,  // the namespace is not one that may be attached to; nothing in it was changed
  kFailed = 3,   // a step did not work; the namespace may be half configured and must not be used
};

// The steps, in order; AttachReply says which one ended it.
enum class AttachStep : std::uint32_t {
  kRequest = 1,    // reading the request
  kIdentify = 2,   // whose namespace it is
  kEnter = 3,      // entering it
  kInspect = 4,    // what is in it already
  kAddresses = 5,  // lo, addresses, routes, sysctls
  kRuleset = 6,    // nftables
  kListeners = 7,  // the six sockets
};

struct AttachReply {
  MessageHead head{kAttachProtocol, MessageKind::kAttachReply};
  AttachStatus status{};
  AttachStep step{};             // the last step that was begun
  std::int32_t error = 0;        // errno value, 0: none
  std::uint32_t packet_log = 0;  // 1 if the rules also log to NFLOG, 0 if the kernel does not offer it here
  std::uint64_t netns_device = 0;
  std::uint64_t netns_inode = 0;
  std::uint64_t netns_cookie = 0;
  std::array<char, 512> detail{};  // escaped, NUL-terminated; empty if kOk
};

struct ProbeRequest {
  MessageHead head{kAttachProtocol, MessageKind::kProbeRequest};
  std::array<std::uint8_t, 16> nonce{};
  std::uint32_t timeout_ms = 0;  // for all probes together; attach takes at most 2000
  std::uint32_t padding = 0;
};

struct ProbeReport {
  std::uint8_t probe = 0;
  std::uint8_t status = 0;
  std::uint8_t padding[2]{};
  std::int32_t error = 0;
  std::array<char, 160> detail{};  // escaped, NUL-terminated
};

struct ProbeReply {
  MessageHead head{kAttachProtocol, MessageKind::kProbeReply};
  std::uint32_t count = 0;
  std::uint32_t padding = 0;
  std::array<ProbeReport, kProbeCount> reports{};
};

static_assert(std::is_trivially_copyable_v<AttachRequest> && std::is_trivially_copyable_v<AttachReply> &&
              std::is_trivially_copyable_v<ProbeRequest> && std::is_trivially_copyable_v<ProbeReply>);

}  // namespace sallyport::firewall
