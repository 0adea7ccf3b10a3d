// The ClientHello parser: no crash, the outcome of a prefix is "incomplete" or final, views stay inside, and the name
// that is reported is one that the bytes hold.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/tls/client_hello.h"

namespace sallyport::tls {
namespace {

void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", property);
  std::abort();
}

bool inside(std::string_view view, std::span<const std::uint8_t> bytes) {
  auto* begin = reinterpret_cast<const char*>(bytes.data());
  return view.data() >= begin && view.data() + view.size() <= begin + bytes.size();
}

void check_prefix(std::span<const std::uint8_t> bytes, std::size_t size, const HelloResult& whole) {
  ClientHello hello;
  HelloResult result = parse_client_hello(bytes.first(size), hello);
  if (result.state == HelloState::kIncomplete) return;
  require(result.state == whole.state && std::string_view(result.reason) == whole.reason && result.alert == whole.alert,
          "what a prefix decides is final");
}

void check_hello(std::span<const std::uint8_t> bytes, const ClientHello& hello) {
  require(hello.record_bytes <= bytes.size() && hello.record_bytes <= kMaxHelloBytes, "records lie in the input");
  require(hello.legacy_version >= 0x0301 && hello.legacy_version <= 0x0303, "a version of TLS");
  require(hello.protocol_count > 0 == hello.has_alpn, "ALPN is never empty");
  for (std::string_view name : hello.alpn())
    require(!name.empty() && (inside(name, bytes) || inside(name, hello.joined)), "a protocol lies in the input");
  if (hello.sni && hello.joined.empty()) {
    std::string lowered(reinterpret_cast<const char*>(bytes.data()), hello.record_bytes);
    for (char& c : lowered)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    require(lowered.find(hello.sni->text()) != std::string::npos, "the name stands in the bytes");
  }
  ClientHello again;
  require(parse_client_hello(bytes.first(hello.record_bytes), again).state == HelloState::kDone,
          "its records alone are enough");
  require(again.sni == hello.sni && again.ech == hello.ech && again.protocol_count == hello.protocol_count,
          "and say the same");
}

}  // namespace
}  // namespace sallyport::tls

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport::tls;
  std::span<const std::uint8_t> bytes(data, size);
  ClientHello hello;
  HelloResult result = parse_client_hello(bytes, hello);
  std::size_t step = std::max<std::size_t>(1, size / 16);
  for (std::size_t n = 0; n < size; n += step) check_prefix(bytes, n, result);
  if (result.state == HelloState::kNotTls || result.state == HelloState::kRefused)
    require(*result.reason != '\0', "a refusal says why");
  if (result.state == HelloState::kDone) check_hello(bytes, hello);
  return 0;
}
