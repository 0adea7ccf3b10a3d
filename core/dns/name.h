// Name: a DNS name as it stands on the wire, in the case it was sent in.
//
// A value of fixed size (no allocation). Built only by the parsers of this folder and from a HostName, so its labels
// are well-formed: 0 to 127 labels of 1 to 63 bytes, at most 255 bytes with lengths and root (RFC 1035 section 3.1).
// The bytes inside the labels are hostile: they may hold anything, also dots and NUL, until host_name() has
// accepted them. Names are compared label by label, never as text.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/host_name.h"
#include "core/base/result.h"

namespace sallyport::dns {

class Name {
 public:
  static constexpr std::size_t kMaxWire = 255;

  constexpr Name() noexcept = default;  // the root
  static Name of(const HostName& name) noexcept;

  // Reads an uncompressed name at `at` of `message` and moves `at` past it. Nothing (and `at` as it was) for a
  // name that is cut off, too long, or holds a compression pointer or an unknown label type.
  static std::optional<Name> read_plain(std::span<const std::uint8_t> message, std::size_t& at) noexcept;
  // The same, following compression pointers (RFC 1035 section 4.1.4). Each pointer must go back before everything
  // read so far for this name, so that a loop cannot be written.
  static std::optional<Name> read(std::span<const std::uint8_t> message, std::size_t& at) noexcept;

  // Lengths and labels with the closing root byte, case as sent. A view of this object: not of a temporary.
  std::span<const std::uint8_t> wire() const& noexcept { return {wire_.data(), size_}; }
  std::span<const std::uint8_t> wire() const&& = delete;
  bool is_root() const noexcept { return size_ == 1; }
  // True if a label holds a dot or a NUL byte, which text forms of the name could not tell from a separator or an end.
  bool has_ambiguous_byte() const noexcept;

  // The canonical host name; kInvalid when the labels are not those of a host name (see HostName).
  Result<HostName> host_name() const;
  // Presentation form for logs: dots between labels, every byte that is not printable ASCII, and dots and
  // backslashes inside labels, escaped. Never used for a comparison.
  std::string escaped() const;

  // Equal but for the case of ASCII letters (RFC 4343).
  bool equals_ignoring_case(const Name& other) const noexcept;
  // Exactly the same bytes.
  friend bool operator==(const Name& a, const Name& b) noexcept;

 private:
  std::array<std::uint8_t, kMaxWire> wire_{};
  std::uint8_t size_ = 1;
};

}  // namespace sallyport::dns
