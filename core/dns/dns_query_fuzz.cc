// Questions from the sandbox: whatever is accepted gives replies of every kind that keep to their limits and their
// question.
#include <array>
#include <cstdlib>

#include "core/dns/query.h"
#include "core/dns/response.h"

namespace {

using namespace sallyport;
using namespace sallyport::dns;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_reply(const Query& query, const Response& response, Transport transport, std::span<std::uint8_t> out) {
  std::size_t size = write_response(query, response, transport, out);
  require(size >= kHeaderSize && size <= out.size());
  if (transport == Transport::kUdp) require(size <= std::min<std::size_t>(query.udp_size, kUdpPayload));
  auto name = query.question.name.wire();
  require(std::equal(name.begin(), name.end(), out.begin() + kHeaderSize));
  require((out[2] & 0x80) != 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<std::uint8_t, kResponseBuffer> out{};
  auto parsed = parse_query({data, size});
  if (const auto* malformed = std::get_if<MalformedQuery>(&parsed)) {
    std::size_t written = write_malformed(*malformed, out);
    require(written == 0 || written <= 23);
    if (malformed->name) (void)malformed->name->escaped();
    return 0;
  }
  const Query& query = std::get<Query>(parsed);
  const Name& name = query.question.name;
  require(!name.has_ambiguous_byte());
  if (auto host = name.host_name()) require(Name::of(host.value()).equals_ignoring_case(name));
  for (char c : name.escaped()) require(c >= 0x20 && c < 0x7f);

  const std::array<IpAddress, 2> addresses = {IpAddress::v4({198, 18, 0, 20}), IpAddress::v6({0xfd, 0x53})};
  std::string text(static_cast<std::size_t>(query.id & 0x1ff), 't');
  for (Transport transport : {Transport::kUdp, Transport::kTcp}) {
    check_reply(query, {.rcode = Rcode::kNoError, .ttl = 30, .addresses = addresses}, transport, out);
    check_reply(query, {.rcode = Rcode::kNoError, .ttl = 30, .pointer = &name}, transport, out);
    check_reply(query,
                {.rcode = Rcode::kNxDomain,
                 .ttl = 30,
                 .negative_soa = true,
                 .extended_error = ExtendedError{ExtendedCode::kBlocked, text}},
                transport, out);
  }
  return 0;
}
