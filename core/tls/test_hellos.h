// ClientHellos for tests: built by hand field by field, and real ones out of OpenSSL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport::tls {

using Bytes = std::vector<std::uint8_t>;

inline void append(Bytes& out, std::string_view text) { out.insert(out.end(), text.begin(), text.end()); }
inline void append_int(Bytes& out, std::size_t value, int width) {
  for (int i = width - 1; i >= 0; --i) out.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}
// `body` behind a length of `width` bytes.
inline std::string prefixed(std::string_view body, int width) {
  Bytes out;
  append_int(out, body.size(), width);
  append(out, body);
  return {out.begin(), out.end()};
}
inline std::string extension(std::size_t type, std::string_view body) {
  Bytes out;
  append_int(out, type, 2);
  return std::string(out.begin(), out.end()) + prefixed(body, 2);
}
inline std::string server_name_entry(std::string_view name, char type = 0) {
  return std::string(1, type) + prefixed(name, 2);
}
inline std::string server_name(std::string_view name) { return extension(0, prefixed(server_name_entry(name), 2)); }

// The parts of a ClientHello; every one can be made wrong.
struct HelloParts {
  std::string version = "\x03\x03";
  std::string random = std::string(32, 'r');
  std::string session = prefixed(std::string(32, 's'), 1);
  std::string suites = prefixed("\x13\x01\x13\x02", 2);
  std::string compression = prefixed(std::string(1, '\0'), 1);
  std::string extensions = server_name("allowed.test");
  bool with_extensions = true;
  std::string tail = {};  // inside the message, behind its extensions

  std::string message() const {
    std::string body = version + random + session + suites + compression;
    if (with_extensions) body += prefixed(extensions, 2);
    body += tail;
    return "\x01" + prefixed(body, 3);
  }
};

// The message in records of at most `fragment` bytes each.
inline Bytes in_records(std::string_view message, std::size_t fragment = 1 << 14) {
  Bytes out;
  while (!message.empty()) {
    std::string_view piece = message.substr(0, fragment);
    append(out, "\x16\x03\x01");
    append_int(out, piece.size(), 2);
    append(out, piece);
    message.remove_prefix(piece.size());
  }
  return out;
}

inline Bytes hello_with(std::string_view extensions) {
  HelloParts parts;
  parts.extensions = extensions;
  return in_records(parts.message());
}

struct RealHello {
  const char* sni = "allowed.test";  // null: none
  std::vector<std::string> alpn = {};
  int max_version = 0;       // an OpenSSL constant; 0: the newest
  std::size_t padding = 0;   // bytes of a made-up extension, each at most 16,000
  std::size_t paddings = 1;  // how many such extensions
};
// What OpenSSL's client writes first.
Bytes real_hello(const RealHello& wanted);

}  // namespace sallyport::tls
