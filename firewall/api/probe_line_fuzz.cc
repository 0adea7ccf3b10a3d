// Probe lines and probe query names come out of the sandbox: what parses must be written back the same.
#include <cstddef>
#include <cstdint>

#include "firewall/api/probe_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport::firewall;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  if (auto call = parse_probe_line(text); call && probe_line(call.value()) != text) __builtin_trap();
  if (auto call = parse_probe_query_name(text); call && probe_query_name(call.value()) != text) __builtin_trap();
  return 0;
}
