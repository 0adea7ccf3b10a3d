#include "resolver/start.h"

#include <algorithm>
#include <array>

#include "resolver/upstream/servers.h"

namespace sallyport::resolver {
namespace {

using std::chrono::milliseconds;

Result<milliseconds> time_of(std::uint32_t given, milliseconds usual, const char* what) {
  if (given == 0) return usual;
  if (given < 10 || given > 60'000) return fail(ErrorKind::kInvalid, std::string(what) + " must be 10 to 60000 ms");
  return milliseconds(given);
}

Result<IpAddress> address_of(const std::string& bytes) {
  std::array<std::uint8_t, 16> octets{};
  if (bytes.size() != 4 && bytes.size() != octets.size())
    return fail(ErrorKind::kInvalid, "an address must have 4 or 16 bytes");
  std::ranges::copy(bytes, octets.begin());
  if (bytes.size() == 4) return IpAddress::v4({octets[0], octets[1], octets[2], octets[3]});
  return IpAddress::v6(octets);
}

Result<std::vector<net::Endpoint>> servers_of(const api::Start& start, const std::string& resolv_conf) {
  if (start.servers().empty()) return read_resolv_conf(resolv_conf);
  std::vector<std::string> texts(start.servers().begin(), start.servers().end());
  return parse_servers(texts);
}

}  // namespace

Result<StartSettings> read_start(const api::Start& start, const std::string& resolv_conf) {
  StartSettings out;
  UpstreamSettings& upstream = out.upstream;
  BOOST_OUTCOME_TRY(upstream.total, time_of(start.total_timeout_ms(), upstream.total, "total_timeout_ms"));
  BOOST_OUTCOME_TRY(upstream.attempt,
                    time_of(start.try_timeout_ms(), std::min(upstream.attempt, upstream.total), "try_timeout_ms"));
  if (upstream.attempt > upstream.total)
    return fail(ErrorKind::kInvalid, "try_timeout_ms is longer than total_timeout_ms");
  if (start.max_in_flight() > 4096) return fail(ErrorKind::kInvalid, "max_in_flight must be 1 to 4096");
  if (start.max_in_flight() != 0) upstream.max_in_flight = start.max_in_flight();
  for (const auto& text : start.permit()) {
    BOOST_OUTCOME_TRY(auto range, IpPrefix::parse(text));
    out.addresses.permit.push_back(range);
  }
  for (const auto& bytes : start.own_addresses()) {
    BOOST_OUTCOME_TRY(auto address, address_of(bytes));
    out.addresses.own_addresses.push_back(address);
  }
  BOOST_OUTCOME_TRY(upstream.servers, servers_of(start, resolv_conf));
  out.user = start.user();
  return out;
}

}  // namespace sallyport::resolver
