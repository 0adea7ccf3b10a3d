// DNS record types by their numbers and names (IANA DNS RR TYPEs), as far as a policy can name them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport::policy {

using RecordType = std::uint16_t;

inline constexpr RecordType kRecordA = 1;
inline constexpr RecordType kRecordAaaa = 28;

// The number of "TXT"; upper-case only. Nothing for a type that no rule can ask for.
std::optional<RecordType> record_type_of(std::string_view name) noexcept;
// "TXT", or "TYPE65280" (RFC 3597) for a number without a name here.
std::string record_type_text(RecordType type);

}  // namespace sallyport::policy
