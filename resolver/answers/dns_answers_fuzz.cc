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
  auto decide = [](const HostName& name) {
    return NameDecision{name.text().size() % 2 == 0 ? policy::ReasonCode::kAllowed : policy::ReasonCode::kNoRule, {}};
  };
  for (dns::Transport transport : {dns::Transport::kUdp, dns::Transport::kTcp}) {
    std::array<std::uint8_t, dns::kResponseBuffer> out{};
    Answered answered = answer_message({data, size}, transport, decide, pool, out);
    if (answered.size > out.size()) std::abort();
    bool positive = answered.record.verdict == AnswerRecord::Verdict::kAnswered;
    if (positive && (!answered.record.name || answered.record.rcode != dns::Rcode::kNoError)) std::abort();
    if (answered.size != 0 && (out[2] & 0x80) == 0) std::abort();
  }
  return 0;
}
