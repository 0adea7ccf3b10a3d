#include "core/dns/name.h"

#include <algorithm>
#include <cstring>

#include "core/base/escape.h"
#include "core/dns/protocol.h"

namespace sallyport::dns {
namespace {

constexpr std::uint8_t kMaxLabel = 63;

constexpr std::uint8_t lower(std::uint8_t byte) noexcept {
  return byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte - 'A' + 'a') : byte;
}

// Calls `visit` with each label, the root's empty one left out.
template <class Visit>
void for_each_label(std::span<const std::uint8_t> wire, Visit visit) {
  for (std::size_t at = 0; wire[at] != 0; at += wire[at] + 1u) visit(wire.subspan(at + 1, wire[at]));
}

}  // namespace

Name Name::of(const HostName& name) noexcept {
  Name out;
  std::size_t size = 0;
  std::string_view rest = name.text();
  for (;;) {
    auto label = rest.substr(0, rest.find('.'));
    out.wire_[size] = static_cast<std::uint8_t>(label.size());
    std::memcpy(out.wire_.data() + size + 1, label.data(), label.size());
    size += label.size() + 1;
    if (label.size() == rest.size()) break;
    rest.remove_prefix(label.size() + 1);
  }
  out.wire_[size] = 0;  // a HostName has at most 253 bytes, so this is at most the 255th
  out.size_ = static_cast<std::uint8_t>(size + 1);
  return out;
}

std::optional<Name> Name::read_plain(std::span<const std::uint8_t> message, std::size_t& at) noexcept {
  Name out;
  std::size_t from = at, size = 0;
  for (;;) {
    if (from >= message.size()) return std::nullopt;
    std::uint8_t length = message[from];
    if (length > kMaxLabel || size + length + 1 > kMaxWire || length >= message.size() - from) return std::nullopt;
    std::memcpy(out.wire_.data() + size, message.data() + from, length + 1u);
    size += length + 1u;
    from += length + 1u;
    if (length == 0) break;
  }
  out.size_ = static_cast<std::uint8_t>(size);
  at = from;
  return out;
}

std::optional<Name> Name::read(std::span<const std::uint8_t> message, std::size_t& at) noexcept {
  Name out;
  std::size_t from = at, size = 0;
  std::size_t after = 0;    // where reading goes on after the name; 0 until the first pointer
  std::size_t lowest = at;  // each pointer goes below this, so there are finitely many
  for (;;) {
    if (from >= message.size()) return std::nullopt;
    std::uint8_t length = message[from];
    if ((length & 0xc0) == 0xc0) {
      if (from + 1 >= message.size()) return std::nullopt;
      std::size_t target = static_cast<std::size_t>(length & 0x3f) << 8 | message[from + 1];
      // The header holds no name, whatever its bytes look like.
      if (target < kHeaderSize || target >= lowest) return std::nullopt;
      if (after == 0) after = from + 2;
      lowest = from = target;
      continue;
    }
    if (length > kMaxLabel || size + length + 1 > kMaxWire || length >= message.size() - from) return std::nullopt;
    std::memcpy(out.wire_.data() + size, message.data() + from, length + 1u);
    size += length + 1u;
    from += length + 1u;
    if (length == 0) break;
  }
  out.size_ = static_cast<std::uint8_t>(size);
  at = after != 0 ? after : from;
  return out;
}

bool Name::has_ambiguous_byte() const noexcept {
  bool found = false;
  for_each_label(wire(), [&](auto label) {
    found = found || std::ranges::any_of(label, [](std::uint8_t byte) { return byte == '.' || byte == 0; });
  });
  return found;
}

Result<HostName> Name::host_name() const {
  if (has_ambiguous_byte()) return fail(ErrorKind::kInvalid, "a label of the name holds a dot or NUL byte");
  std::string text;
  for_each_label(wire(), [&](auto label) {
    if (!text.empty()) text += '.';
    text.append(reinterpret_cast<const char*>(label.data()), label.size());
  });
  return HostName::parse(text);
}

std::string Name::escaped() const {
  if (is_root()) return ".";
  std::string out;
  for_each_label(wire(), [&](auto label) {
    if (!out.empty()) out += '.';
    std::string_view text(reinterpret_cast<const char*>(label.data()), label.size());
    for (;;) {
      auto dot = text.find('.');
      out += escape_text(text.substr(0, dot));
      if (dot == text.npos) break;
      out += "\\x2e";
      text.remove_prefix(dot + 1);
    }
  });
  return out;
}

bool Name::equals_ignoring_case(const Name& other) const noexcept {
  // Length bytes are below 64 and so have no other case.
  return std::ranges::equal(wire(), other.wire(), {}, lower, lower);
}

bool operator==(const Name& a, const Name& b) noexcept { return std::ranges::equal(a.wire(), b.wire()); }

}  // namespace sallyport::dns
