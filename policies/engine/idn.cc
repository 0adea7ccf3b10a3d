#include "policies/engine/idn.h"

#include <idn2.h>

#include "core/base/escape.h"

namespace sallyport::policy {
namespace {

// Empty on failure; then `fault` says why.
std::string convert(const std::string& utf8, int flags, std::string& fault) {
  char* out = nullptr;
  int rc = idn2_to_ascii_8z(utf8.c_str(), &out, flags | IDN2_NFC_INPUT | IDN2_USE_STD3_ASCII_RULES);
  if (rc != IDN2_OK) {
    fault = idn2_strerror(rc);
    return {};
  }
  std::string ascii(out);
  idn2_free(out);
  return ascii;
}

// Characters that UTS #46 turns into a dot.
bool has_other_dots(std::string_view text) {
  for (std::string_view dot : {"\xe3\x80\x82", "\xef\xbc\x8e", "\xef\xbd\xa1"})
    if (text.find(dot) != std::string_view::npos) return true;
  return false;
}

}  // namespace

Result<std::string> to_a_labels(std::string_view utf8) {
  if (utf8.find('\0') != std::string_view::npos) return fail(ErrorKind::kInvalid, "the host has a NUL byte");
  if (has_other_dots(utf8)) return fail(ErrorKind::kInvalid, "the host has a full stop that is not '.'");
  std::string text(utf8), fault;
  std::string current = convert(text, IDN2_NONTRANSITIONAL, fault);
  if (current.empty())
    return fail(ErrorKind::kInvalid, "the host is not a valid international name: " + escape_text(fault, 120));
  std::string ignored, former = convert(text, IDN2_TRANSITIONAL, ignored);
  if (former != current)
    return fail(ErrorKind::kInvalid, "the host means two different names: " + current + " (IDNA 2008) and " +
                                         (former.empty() ? "none" : former) +
                                         " (IDNA 2003); write the one that is meant");
  return current;
}

}  // namespace sallyport::policy
