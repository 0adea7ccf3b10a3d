// Whole messages of a sandbox through parser, special names, pool and writer: no reply breaks its limits, and no name
// reaches the policy that is not a host name.
#include <array>
#include <cstdlib>

#include "resolver/answers/answer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport;
  using namespace sallyport::resolver;
  auto pool =
      SyntheticPool::make(IpPrefix::parse("198.18.0.0/27").value(), IpPrefix::parse("fd53:7079::/64").value()).value();
  auto decide = [](const HostName& name, dns::Type) {
    auto kind = name.text().size() % 6;
    return NameDecision{.reason = kind < 3 ? policy::ReasonCode::kAllowed : policy::ReasonCode::kNoRule,
                        .look_up = kind == 1,
                        .explain = kind == 4};
  };
  for (dns::Transport transport : {dns::Transport::kUdp, dns::Transport::kTcp}) {
    std::array<std::uint8_t, dns::kResponseBuffer> out{};
    Answered answered = answer_message({data, size}, transport, decide, pool, out);
    if (answered.size > out.size()) std::abort();
    if (answered.pending) {
      LookedUp found{.reason = policy::ReasonCode::kAllowed,
                     .addresses = {IpAddress::v4({198, 51, 100, 1}), IpAddress::v6({0x20, 1})},
                     .records = {std::vector<std::uint8_t>(size % 2000, 'r')},
                     .ttl = 5};
      std::vector<std::uint8_t> large(dns::kTcpResponseBuffer);
      auto late = answer_looked_up(*answered.pending, found, transport, large);
      std::size_t most = transport == dns::Transport::kUdp ? dns::kUdpPayload : large.size();
      if (late.size < dns::kHeaderSize || late.size > most || late.pending) std::abort();
      continue;
    }
    bool positive = answered.record.verdict == AnswerRecord::Verdict::kAnswered;
    if (positive && (!answered.record.name || answered.record.rcode != dns::Rcode::kNoError)) std::abort();
    if (answered.size != 0 && (out[2] & 0x80) == 0) std::abort();
  }
  return 0;
}
