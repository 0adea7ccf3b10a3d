// Test support: DNS messages written byte by byte, so that malformed ones can be written too.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sallyport::dns::testing {

inline std::span<const std::uint8_t> bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

struct Message {
  std::string text;

  Message& u8(std::uint8_t value) {
    text += static_cast<char>(value);
    return *this;
  }
  Message& u16(std::uint16_t value) {
    return u8(static_cast<std::uint8_t>(value >> 8)).u8(static_cast<std::uint8_t>(value & 0xff));
  }
  Message& u32(std::uint32_t value) {
    return u16(static_cast<std::uint16_t>(value >> 16)).u16(static_cast<std::uint16_t>(value & 0xffff));
  }
  Message& raw(std::string_view more) {
    text += more;
    return *this;
  }
  // Dots separate labels; "" is the root. Lengths are not checked.
  Message& name(std::string_view dotted) {
    while (!dotted.empty()) {
      auto label = dotted.substr(0, dotted.find('.'));
      u8(static_cast<std::uint8_t>(label.size())).raw(label);
      dotted.remove_prefix(label.size() == dotted.size() ? label.size() : label.size() + 1);
    }
    return u8(0);
  }
  Message& header(std::uint16_t id, std::uint16_t flags, std::uint16_t questions, std::uint16_t answers = 0,
                  std::uint16_t authorities = 0, std::uint16_t additionals = 0) {
    return u16(id).u16(flags).u16(questions).u16(answers).u16(authorities).u16(additionals);
  }
  Message& opt(std::uint16_t size, std::uint32_t ttl, std::string_view options) {
    return u8(0).u16(41).u16(size).u32(ttl).u16(static_cast<std::uint16_t>(options.size())).raw(options);
  }
  Message& record(std::string_view owner, std::uint16_t type, std::uint32_t ttl, std::string_view rdata) {
    return name(owner).u16(type).u16(1).u32(ttl).u16(static_cast<std::uint16_t>(rdata.size())).raw(rdata);
  }
};

inline std::string header_of(std::uint16_t questions) { return Message().header(1, 0, questions).text; }

}  // namespace sallyport::dns::testing
