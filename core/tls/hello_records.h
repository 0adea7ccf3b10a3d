// HelloRecords: finds the TLS records that carry the first handshake message (RFC 8446 section 5.1). Internal to
// core/tls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tls/client_hello.h"

namespace sallyport::tls {

inline constexpr std::size_t kRecordHeaderBytes = 5;
inline constexpr std::size_t kHandshakeHeaderBytes = 4;

struct HelloRecords {
  std::size_t count = 0;
  std::size_t total_bytes = 0;           // headers included
  std::size_t message_bytes = 0;         // handshake header included
  std::span<const std::uint8_t> single;  // the message, when one record holds it
};

// kDone when the whole message is there and ends where a record ends. Looks at record headers and the message's own
// only.
HelloResult find_hello(std::span<const std::uint8_t> bytes, HelloRecords& out) noexcept;

// The message put together from all its records.
void join_records(std::span<const std::uint8_t> bytes, const HelloRecords& records, std::vector<std::uint8_t>& out);

}  // namespace sallyport::tls
