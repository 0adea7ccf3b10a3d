#include "firewall/probes/dns_probe.h"

namespace sallyport::firewall {

namespace {
constexpr std::size_t kHeader = 12;
constexpr unsigned kResponseBit = 0x80;
constexpr unsigned kNxdomain = 3;
}  // namespace

std::string dns_query(std::uint16_t id, std::string_view name) {
  std::string query{
      static_cast<char>(id >> 8), static_cast<char>(id & 255), 1, 0, 0, 1, 0, 0, 0, 0, 0, 0};  // RD, one question
  while (!name.empty()) {
    std::size_t dot = std::min(name.find('.'), name.size());
    query += static_cast<char>(dot);
    query += name.substr(0, dot);
    name.remove_prefix(std::min(dot + 1, name.size()));
  }
  return query + std::string{0, 0, 1, 0, 1};  // root, A, IN
}

bool is_nxdomain_for(std::string_view query, std::string_view answer) noexcept {
  if (query.size() < kHeader || answer.size() < query.size()) return false;
  auto byte = [&](std::size_t i) { return static_cast<unsigned char>(answer[i]); };
  return answer.substr(0, 2) == query.substr(0, 2) && (byte(2) & kResponseBit) != 0 && (byte(3) & 15U) == kNxdomain &&
         answer.substr(4, 2) == query.substr(4, 2) &&
         answer.substr(kHeader, query.size() - kHeader) == query.substr(kHeader);
}

}  // namespace sallyport::firewall
