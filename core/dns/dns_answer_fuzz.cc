// Answers of upstream servers: nothing but addresses or records of the asked type comes out, within the limits; records are
// canonical, so that reading them again changes nothing.
#include <algorithm>
#include <cstdlib>

#include "core/dns/record_data.h"
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
    if (wrong || (answer.value().kind == UpstreamAnswer::Kind::kFound) == answer.value().addresses.empty())
      std::abort();
  }
  for (Type type : {Type::kTxt, Type::kMx, Type::kSoa, Type::kSrv, Type::kNaptr, Type::kCaa, Type::kCname, Type::kDs}) {
    UpstreamQuestion question{.id = 0x1234, .name = Name::of(kName), .type = type, .wire = {}};
    auto answer = parse_answer({data, size}, question, CaseCheck::kIgnore);
    if (!answer) continue;
    std::size_t bytes = 0;
    if (!answer.value().addresses.empty() || answer.value().records.size() > kMaxRecords) std::abort();
    for (const auto& record : answer.value().records) {
      bytes += record.size();
      if (canonical_record_data(type, record, 0, record.size()) != record) std::abort();
    }
    if (bytes > kMaxRecordData) std::abort();
  }
  return 0;
}
