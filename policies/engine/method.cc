#include "policies/engine/method.h"

#include <algorithm>
#include <array>

namespace sallyport::policy {
namespace {

constexpr std::array<std::string_view, 38> kMethods{"GET",
                                                    "HEAD",
                                                    "POST",
                                                    "PUT",
                                                    "DELETE",
                                                    "PATCH",
                                                    "OPTIONS",
                                                    "QUERY",
                                                    "ACL",
                                                    "BASELINE-CONTROL",
                                                    "BIND",
                                                    "CHECKIN",
                                                    "CHECKOUT",
                                                    "COPY",
                                                    "LABEL",
                                                    "LINK",
                                                    "LOCK",
                                                    "MERGE",
                                                    "MKACTIVITY",
                                                    "MKCALENDAR",
                                                    "MKCOL",
                                                    "MKREDIRECTREF",
                                                    "MKWORKSPACE",
                                                    "MOVE",
                                                    "ORDERPATCH",
                                                    "PROPFIND",
                                                    "PROPPATCH",
                                                    "PURGE",
                                                    "REBIND",
                                                    "REPORT",
                                                    "SEARCH",
                                                    "UNBIND",
                                                    "UNCHECKOUT",
                                                    "UNLINK",
                                                    "UNLOCK",
                                                    "UPDATE",
                                                    "UPDATEREDIRECTREF",
                                                    "VERSION-CONTROL"};
static_assert(kMethods.size() <= 64);

}  // namespace

std::span<const std::string_view> known_methods() noexcept { return kMethods; }

MethodSet MethodSet::all() noexcept { return MethodSet((std::uint64_t{1} << kMethods.size()) - 1); }

std::optional<MethodSet> MethodSet::of(std::string_view method) noexcept {
  auto at = std::ranges::find(kMethods, method);
  if (at == kMethods.end()) return std::nullopt;
  return MethodSet(std::uint64_t{1} << (at - kMethods.begin()));
}

std::string MethodSet::text() const {
  std::string out;
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    if ((bits_ >> i & 1) == 0) continue;
    if (!out.empty()) out += ',';
    out += kMethods[i];
  }
  return out;
}

}  // namespace sallyport::policy
