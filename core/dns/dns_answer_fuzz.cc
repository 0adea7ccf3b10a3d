// Answers of upstream servers: nothing but addresses of the asked type comes out, within the limits.
#include <algorithm>
#include <cstdlib>

#include "core/dns/upstream_message.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport;
  using namespace sallyport::dns;
  static const HostName kName = HostName::parse("www.allowed.test").value();
  for (Type type : {Type::kA, Type::kAaaa}) {
    UpstreamQuestion question{.id = 0x1234, .name = Name::of(kName), .type = type, .wire = {}};
    auto answer = parse_answer({data, size}, question, CaseCheck::kIgnore);
    if (!answer) continue;
    if (answer.value().addresses.size() > kMaxRecords) std::abort();
    bool wrong = std::ranges::any_of(answer.value().addresses,
                                     [&](const IpAddress& a) { return a.is_v4() != (type == Type::kA); });
    if (wrong || (answer.value().kind == UpstreamAnswer::Kind::kAddresses) == answer.value().addresses.empty())
      std::abort();
  }
  return 0;
}
