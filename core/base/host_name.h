// HostName: a DNS host name in the one canonical form that every comparison in Sallyport uses.
//
// The only place where host text becomes a name: policies, DNS questions, CONNECT authorities, Host fields and
// SNI all pass here, so that they cannot disagree. Input is untrusted ASCII; nothing is mapped, decoded or
// repaired (no IDNA, no percent-decoding; U-labels in policy files are converted before, in policies/engine).
// Sources: RFC 1123 section 2.1, RFC 5890 (A-labels pass as LDH text), WHATWG URL "ends in a number" rule.
#pragma once

#include <compare>
#include <functional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport {

class HostName {
 public:
  static constexpr std::size_t kMaxLength = 253;  // without the root dot
  static constexpr std::size_t kMaxLabel = 63;

  // Lower-cases A-Z, drops one trailing dot, then requires 1 to 127 labels of letters, digits, '-' and '_'
  // ('-' neither first nor last), each at most 63 bytes, at most 253 in all. Refused with kInvalid: empty
  // text, empty labels, any other byte (NUL, '%', '@', '[', non-ASCII, …), and names whose last label is all digits or
  // 0x-hexadecimal, which some resolvers read as an IPv4 address.
  static Result<HostName> parse(std::string_view text);

  std::string_view text() const noexcept { return text_; }
  // True if this name lies below `apex` at any depth; a name is not below itself.
  bool is_below(const HostName& apex) const noexcept;

  friend bool operator==(const HostName&, const HostName&) = default;
  friend auto operator<=>(const HostName&, const HostName&) = default;

 private:
  explicit HostName(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace sallyport

template <>
struct std::hash<sallyport::HostName> {
  std::size_t operator()(const sallyport::HostName& name) const noexcept {
    return std::hash<std::string_view>{}(name.text());
  }
};
