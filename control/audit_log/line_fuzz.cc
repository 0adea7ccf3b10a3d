// parse_line on anything: no fault of memory, and what it accepts it accepts again, ending with its own body and hash.
#include <cstdint>
#include <cstdlib>

#include "control/audit_log/line.h"
#include "control/audit_log/tail.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport::audit_log;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  for (char c : render_line(text)) {
    if (c < 0x20 || c > 0x7e) std::abort();
  }
  auto line = parse_line(text);
  if (line.has_error()) return 0;
  std::string again(line.value().body);
  again += kHashKey;
  again += to_hex(line.value().hash);
  again += "\"}";
  if (again != text) std::abort();
  return 0;
}
