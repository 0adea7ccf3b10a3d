// The questions Sallyport itself asks upstream, and the strict reading of the answers.
//
// A question is written from scratch: nothing a sandbox sent is in it but the checked name (dns-005). An answer is
// hostile: only records of the asked type at the end of the CNAME chain that starts at the asked name count, in the answer
// section only; every other record is skipped over, never returned (dns-025).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/host_name.h"
#include "core/base/ip_address.h"
#include "core/base/result.h"
#include "core/dns/name.h"
#include "core/dns/protocol.h"

namespace sallyport::dns {

// A question with random id and randomly chosen letter case ("0x20"), RD set, EDNS with kUdpPayload and no option (the
// last 11 bytes).
struct UpstreamQuestion {
  std::uint16_t id = 0;
  Name name;  // in the random case
  Type type = Type::kA;
  std::vector<std::uint8_t> wire;
};
UpstreamQuestion make_question(const HostName& name, Type type);

struct UpstreamAnswer {
  enum class Kind { kFound, kNoData, kNxDomain, kServerFailure };
  Kind kind = Kind::kServerFailure;
  Rcode rcode = Rcode::kServFail;
  std::vector<IpAddress> addresses;  // without duplicates; all, so that all can be checked (dns-012)
  std::vector<std::vector<std::uint8_t>> records;  // asked for another type: canonical RDATA (record_data.h), without duplicates
  // Seconds; the least of the chain and of what was found; for a negative answer of the SOA (RFC 2308), 0 without.
  std::uint32_t ttl = 0;
};
inline constexpr std::size_t kMaxChain = 16;      // CNAME records followed
inline constexpr std::size_t kMaxRecords = 1024;  // records read of one message
inline constexpr std::size_t kMaxRecordData = 16 * 1024;  // bytes of RDATA returned, with two for each record

enum class CaseCheck { kExact, kIgnore };

// Reads the reply to `question`, asked for A, AAAA or a type of has_record_data. kInvalid: not a reply to exactly this question (id, name with its
// case under kExact, type, class), TC set, malformed anywhere, trailing bytes, or over a limit.
Result<UpstreamAnswer> parse_answer(std::span<const std::uint8_t> message, const UpstreamQuestion& question,
                                    CaseCheck check);

}  // namespace sallyport::dns
