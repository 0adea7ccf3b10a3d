// Rule: one entry of `rules:` as other parts see it. Immutable, owned by its CompiledPolicy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "policies/engine/limits.h"
#include "policies/engine/record_type.h"

namespace sallyport::policy {

enum class Action : std::uint8_t { kAllow, kDeny };

// What a rule is written with. It says what is enforced.
enum class Scheme : std::uint8_t {
  kHttp,  // every request is read and decided
  kTls,   // opaque, the server name of the greeting is checked
  kTcp,   // opaque, whatever it carries
};

// What the proxy does with an allowed connection.
enum class Treatment : std::uint8_t { kHttp, kTlsTunnel, kTcpTunnel };

// What a tls rule says to a greeting that may hide the name it means (Encrypted ClientHello).
enum class Ech : std::uint8_t {
  kRefuse,
  kAllow,  // the outer name is checked; the one inside is not seen
};

std::string_view to_string(Action action) noexcept;        // "allow", "deny"
std::string_view to_string(Scheme scheme) noexcept;        // "http", "tls", "tcp"
std::string_view to_string(Treatment treatment) noexcept;  // "http", "tls_tunnel", "tcp_tunnel"
// 80 for http, 443 for tls, none for tcp, whose rules write theirs.
std::optional<Port> default_port(Scheme scheme) noexcept;

// `dns:` of a rule: what its names may be asked for beyond an address of the task's own pool.
struct DnsGrant {
  std::vector<RecordType> types;  // ascending
  bool real = false;              // answered with the true, checked addresses

  bool holds(RecordType type) const noexcept { return std::ranges::binary_search(types, type); }
  friend bool operator==(const DnsGrant&, const DnsGrant&) = default;
};

struct Rule {
  std::uint32_t index = 0;  // position in the file, from 0; identifies the rule within its policy
  std::string
      id;  // as written, else "rule-N" with N = index + 1, which nobody can write; unique within the policy; [a-z0-9-].
           // Of a rule from the catalogue "ENTRY/VERSION/ID", as in "pypi/1/files"
  std::uint32_t line = 0;  // of the file, from 1; of a rule from the catalogue the line that uses it
  Action action = Action::kAllow;
  Scheme scheme = Scheme::kHttp;
  std::string text;  // as written after `allow:` or `deny:`
  Limits limits;
  Ech ech = Ech::kRefuse;
  DnsGrant dns = {};
  std::string origin = {};  // "pypi/1": the catalogue's entry that brought it; empty for a rule of the file
};

// Points at a rule from a verdict. `id` is borrowed from the policy: keep the policy for as long, or copy.
struct RuleRef {
  std::uint32_t index;
  std::string_view id;
  std::uint32_t line;
  Ech ech = Ech::kRefuse;

  friend bool operator==(const RuleRef&, const RuleRef&) = default;
};

}  // namespace sallyport::policy
