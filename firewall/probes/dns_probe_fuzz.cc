// A probe's answer may come from anybody inside: whatever it is, nothing but the same question with NXDOMAIN passes.
#include <cstddef>
#include <cstdint>

#include "firewall/probes/dns_probe.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport::firewall;
  std::string_view answer(reinterpret_cast<const char*>(data), size);
  const std::string query = dns_query(0x1234, "a.test");
  if (is_nxdomain_for(query, answer) && answer.find(std::string_view("\x01"
                                                                     "a\x04test\0",
                                                                     8)) != 12) {
    __builtin_trap();
  }
  return 0;
}
