// RDATA of the record types that a task may be given: read strictly, written anew.
//
// The input is hostile: an answer of an upstream server. Names inside are followed through compression and written
// whole (RFC 3597 section 4 forbids compression in what we send); everything else is checked for its form. What does not
// end exactly where the record does is refused.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/dns/protocol.h"

namespace sallyport::dns {

// NS, CNAME, SOA, MX, TXT, SRV, NAPTR, DS, SSHFP, DNSKEY, TLSA, SMIMEA, OPENPGPKEY, URI, CAA. Never address types, and
// never HTTPS and SVCB, which would have a client connect elsewhere.
bool has_record_data(Type type) noexcept;

// The RDATA of `length` bytes at `at` of `message`, which lie inside it, in canonical form; nothing when it is malformed or
// the type is none of the above.
std::optional<std::vector<std::uint8_t>> canonical_record_data(Type type, std::span<const std::uint8_t> message,
                                                               std::size_t at, std::size_t length);

}  // namespace sallyport::dns
