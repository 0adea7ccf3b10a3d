#include "policies/engine/record_type.h"

#include <algorithm>
#include <array>

namespace sallyport::policy {
namespace {

struct Named {
  std::string_view name;
  RecordType type;
};
constexpr std::array kNamed{Named{"A", 1},       Named{"NS", 2},      Named{"CNAME", 5},  Named{"SOA", 6},    Named{"MX", 15},
                            Named{"TXT", 16},    Named{"AAAA", 28},   Named{"SRV", 33},   Named{"NAPTR", 35}, Named{"DS", 43},
                            Named{"SSHFP", 44},  Named{"DNSKEY", 48}, Named{"TLSA", 52},  Named{"SMIMEA", 53},
                            Named{"OPENPGPKEY", 61}, Named{"URI", 256}, Named{"CAA", 257}};

}  // namespace

std::optional<RecordType> record_type_of(std::string_view name) noexcept {
  auto found = std::ranges::find(kNamed, name, &Named::name);
  if (found == kNamed.end()) return std::nullopt;
  return found->type;
}

std::string record_type_text(RecordType type) {
  auto found = std::ranges::find(kNamed, type, &Named::type);
  return found == kNamed.end() ? "TYPE" + std::to_string(type) : std::string(found->name);
}

}  // namespace sallyport::policy
