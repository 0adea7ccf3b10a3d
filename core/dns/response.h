// Response: what a task's question is answered with, and its canonical wire form.
//
// A reply carries id, RD, CD and the question exactly as asked (case of the name too, "0x20"), and otherwise only what
// we put there (dns-021). RA is set, AA and AD never are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ip_address.h"
#include "core/dns/query.h"

namespace sallyport::dns {

// RFC 8914. `text` is for people: UTF-8, cut to kMaxText bytes; sent only to clients with EDNS and only if it fits.
struct ExtendedError {
  static constexpr std::size_t kMaxText = 200;
  ExtendedCode code = ExtendedCode::kOther;
  std::string_view text;
};

// Views only: what it points to must outlive the call of write_response.
struct Response {
  Rcode rcode = Rcode::kServFail;
  std::uint32_t ttl = 0;  // seconds; of answers and of negative answers
  // Answer records for the question's name: an A record for each IPv4, an AAAA record for each IPv6 address.
  std::span<const IpAddress> addresses = {};
  // Records of the question's type for its name: canonical RDATA (record_data.h).
  std::span<const std::vector<std::uint8_t>> records = {};
  // A PTR record for the question's name.
  const Name* pointer = nullptr;
  // An SOA record of the root in the authority section, which lets clients keep a negative answer for `ttl` (RFC 2308).
  bool negative_soa = false;
  std::optional<ExtendedError> extended_error = std::nullopt;
};

// A buffer of this size takes every reply that write_response makes for UDP.
inline constexpr std::size_t kResponseBuffer = kUdpPayload;
// And of this one every reply over TCP that holds no more than an upstream answer may (kMaxRecordData).
inline constexpr std::size_t kTcpResponseBuffer = 32 * 1024;

// Writes the reply to `out` and returns its size. Over UDP the reply stays within what the client takes and
// kUdpPayload; over TCP (and always) within out.size(). Too long: the extended error's text goes first, then all
// records with TC set. `out` must hold at least 512 bytes; 0 is returned (send nothing) when it does not.
std::size_t write_response(const Query& query, const Response& response, Transport transport,
                           std::span<std::uint8_t> out) noexcept;

// The reply to a message that is no Query: a header without question. 0 for kDrop: send nothing.
std::size_t write_malformed(const MalformedQuery& query, std::span<std::uint8_t> out) noexcept;

}  // namespace sallyport::dns
