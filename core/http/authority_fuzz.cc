// The authority parser: what it accepts has one canonical spelling that reads back to the same, and holds none of the
// bytes by which other parsers find another host.
#include "core/http/authority.h"
#include "core/http/fuzz_check.h"
#include "core/http/syntax.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport;
  using namespace sallyport::http;
  std::string_view text = as_text(data, size);
  auto parsed = Authority::parse(text);
  if (!parsed) {
    require(parsed.error().kind == ErrorKind::kInvalid && !parsed.error().detail.empty(), "a refusal says why");
    return 0;
  }
  const Authority& authority = parsed.value();
  require(text.find_first_of("@%/\\?# \t,") == std::string_view::npos, "no byte that starts another part of a URL");
  for (char c : text)
    require(static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f, "visible ASCII only");
  std::string canonical = authority.text();
  auto again = Authority::parse(canonical);
  require(again.has_value() && again.value() == authority && again.value().text() == canonical,
          "the canonical text reads back");
  require((authority.name() == nullptr) != (authority.address() == nullptr), "a host is a name or an address");
  require(authority.address() == nullptr || authority.address()->is_v4() != text.starts_with('['),
          "brackets are for IPv6");
  require(!authority.is_spelt(text) || text == canonical, "only the canonical text is spelt so");
  require(authority.name() == nullptr || authority.is_spelt(canonical), "a name knows its spelling");
  require(authority.same_as(again.value(), Port::of(80)), "an authority is the same as itself");
  // Against the wire text: lower-case it, drop the root dot, and a name is what it was.
  if (authority.name() != nullptr) {
    std::string lowered;
    for (char c : text.substr(0, text.find(':'))) lowered += lower(c);
    if (lowered.ends_with('.')) lowered.pop_back();
    require(lowered == authority.name()->text(), "a name is not mapped, only lower-cased");
  }
  return 0;
}
