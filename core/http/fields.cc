#include "core/http/fields.h"

#include "core/http/syntax.h"

namespace sallyport::http {
namespace {

struct Known {
  std::string_view name;  // lower case
  FieldId id;
};

// Ordered by length, so that a name is compared with those of its own length only.
constexpr Known kKnown[] = {
    {"te", FieldId::kTe},
    {"via", FieldId::kForwarding},
    {"host", FieldId::kHost},
    {"range", FieldId::kRange},
    {"cookie", FieldId::kCookie},
    {"expect", FieldId::kExpect},
    {"x-host", FieldId::kTargetOverride},
    {"alt-svc", FieldId::kAltSvc},
    {"trailer", FieldId::kTrailer},
    {"upgrade", FieldId::kUpgrade},
    {"x-scheme", FieldId::kForwarding},
    {"client-ip", FieldId::kForwarding},
    {"forwarded", FieldId::kForwarding},
    {"x-real-ip", FieldId::kForwarding},
    {"connection", FieldId::kConnection},
    {"keep-alive", FieldId::kKeepAlive},
    {"x-client-ip", FieldId::kForwarding},
    {"x-remote-ip", FieldId::kForwarding},
    {"content-type", FieldId::kContentType},
    {"max-forwards", FieldId::kMaxForwards},
    {"x-url-scheme", FieldId::kForwarding},
    {"authorization", FieldId::kAuthorization},
    {"forwarded-for", FieldId::kForwarding},
    {"x-http-method", FieldId::kMethodOverride},
    {"x-remote-addr", FieldId::kForwarding},
    {"x-rewrite-url", FieldId::kTargetOverride},
    {"x-unix-socket", FieldId::kTargetOverride},
    {"content-length", FieldId::kContentLength},
    {"http2-settings", FieldId::kHttp2Settings},
    {"true-client-ip", FieldId::kForwarding},
    {"x-original-for", FieldId::kForwarding},
    {"x-original-uri", FieldId::kTargetOverride},
    {"x-original-url", FieldId::kTargetOverride},
    {"accept-encoding", FieldId::kAcceptEncoding},
    {"forwarded-proto", FieldId::kForwarding},
    {"front-end-https", FieldId::kForwarding},
    {"x-host-override", FieldId::kTargetOverride},
    {"x-original-host", FieldId::kTargetOverride},
    {"x-proxyuser-ip", FieldId::kForwarding},
    {"cf-connecting-ip", FieldId::kForwarding},
    {"fastly-client-ip", FieldId::kForwarding},
    {"x-azure-clientip", FieldId::kForwarding},
    {"x-azure-socketip", FieldId::kForwarding},
    {"x-original-proto", FieldId::kForwarding},
    {"x-originating-ip", FieldId::kForwarding},
    {"transfer-encoding", FieldId::kTransferEncoding},
    {"x-method-override", FieldId::kMethodOverride},
    {"cf-connecting-ipv6", FieldId::kForwarding},
    {"wl-proxy-client-ip", FieldId::kForwarding},
    {"x-appengine-user-ip", FieldId::kForwarding},
    {"x-cluster-client-ip", FieldId::kForwarding},
    {"x-http-path-override", FieldId::kTargetOverride},
    {"x-http-method-override", FieldId::kMethodOverride},
};

struct Prefix {
  std::string_view text;
  FieldId id;
};
constexpr Prefix kPrefixes[] = {
    {"proxy-", FieldId::kProxy},
    {"x-forwarded", FieldId::kForwarding},  // X-Forwarded itself and X-Forwarded-*
    {"fly-", FieldId::kForwarding},
    {"x-envoy-", FieldId::kForwarding},
};

constexpr std::size_t kLongestKnown = 22;

// kByLength[n] is the index of the first known name of at least n bytes.
constexpr auto kSorted = [] {
  std::array<Known, std::size(kKnown)> sorted{};
  std::size_t count = 0;
  for (std::size_t length = 0; length <= kLongestKnown; ++length)
    for (const Known& known : kKnown)
      if (known.name.size() == length) sorted[count++] = known;
  return sorted;
}();
static_assert(!kSorted.back().name.empty(), "a known name is longer than kLongestKnown");
constexpr auto kByLength = [] {
  std::array<std::uint8_t, kLongestKnown + 2> first{};
  for (std::size_t length = 0; length < first.size(); ++length) {
    std::size_t at = 0;
    while (at < kSorted.size() && kSorted[at].name.size() < length) ++at;
    first[length] = static_cast<std::uint8_t>(at);
  }
  return first;
}();

// `lowered` is lower case already.
bool equals_lowered(std::string_view name, std::string_view lowered) noexcept {
  if (name.size() != lowered.size()) return false;
  for (std::size_t i = 0; i < name.size(); ++i)
    if (lower(name[i]) != lowered[i]) return false;
  return true;
}

FieldId id_as_spelt(std::string_view name) noexcept {
  if (name.empty()) return FieldId::kOther;
  if (name.size() <= kLongestKnown)
    for (std::size_t i = kByLength[name.size()]; i < kByLength[name.size() + 1]; ++i)
      if (equals_lowered(name, kSorted[i].name)) return kSorted[i].id;
  char first = lower(name[0]);
  if (first != 'p' && first != 'x' && first != 'f') return FieldId::kOther;
  for (const Prefix& prefix : kPrefixes)
    if (name.size() >= prefix.text.size() && equals_lowered(name.substr(0, prefix.text.size()), prefix.text))
      return prefix.id;
  return FieldId::kOther;
}

}  // namespace

FieldId field_id(std::string_view name) noexcept {
  if (name.find('_') == std::string_view::npos) return id_as_spelt(name);
  // The longest known name decides how much has to be looked at; prefixes are shorter.
  char dashed[kLongestKnown + 1];
  std::size_t size = name.size() < sizeof dashed ? name.size() : sizeof dashed;
  for (std::size_t i = 0; i < size; ++i) dashed[i] = name[i] == '_' ? '-' : name[i];
  return id_as_spelt({dashed, size}) == FieldId::kOther ? FieldId::kOther : FieldId::kUnderscoreAlias;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (lower(a[i]) != lower(b[i])) return false;
  return true;
}

std::optional<std::string_view> Fields::find(FieldId id) const noexcept {
  for (std::size_t i = 0; i < size_; ++i)
    if (entries_[i].id == id) return (*this)[i].value;
  return std::nullopt;
}

std::optional<std::string_view> Fields::find(std::string_view name) const noexcept {
  for (Field field : *this)
    if (equal_ignoring_case(field.name, name)) return field.value;
  return std::nullopt;
}

std::size_t Fields::count(FieldId id) const noexcept {
  std::size_t found = 0;
  for (std::size_t i = 0; i < size_; ++i) found += entries_[i].id == id;
  return found;
}

std::size_t Fields::count(std::string_view name) const noexcept {
  std::size_t found = 0;
  for (Field field : *this) found += equal_ignoring_case(field.name, name);
  return found;
}

}  // namespace sallyport::http
