// CanonicalPath: the path of a request in the one form that is both decided on and written upstream.
//
// Input is hostile. Nothing that servers read in different ways survives: what is not refused here either means the
// same to every server, or is marked ambiguous() and never matches a rule that looks at paths. Sources: RFC 3986
// sections 3.3 and 6.2.2; what is refused beyond them is listed at parse().
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace sallyport::policy {

class CanonicalPath {
 public:
  static constexpr std::size_t kMaxLength = 8192;

  // From the bytes between authority and '?'. Percent-encoded unreserved characters (letters, digits, "-._~") are
  // decoded, other hexadecimal is upper-cased, and the characters "<>[]^`{|} and '"', which clients send though RFC
  // 3986 does not know them, are encoded. A segment "." written as that and followed by another is taken out, as it means
  // nothing to any server (apt asks for the files of a flat repository so). Refused with kInvalid: anything not beginning
  // with '/', all other dot segments (also encoded), empty segments ("//"), "%2F", "%5C", back-slashes, '#', '?', spaces,
  // control bytes (also encoded), bytes beyond ASCII, encoded bytes that are not UTF-8, '%' without two hexadecimal
  // digits, more than kMaxLength bytes.
  static Result<CanonicalPath> parse(std::string_view raw);

  // Exactly the bytes to decide on and to write.
  std::string_view text() const noexcept { return text_; }
  // Holds ';' (also encoded) or '%25' before two hexadecimal digits: fine where only the host is decided, refused where
  // paths are.
  bool ambiguous() const noexcept { return ambiguous_; }

  friend bool operator==(const CanonicalPath&, const CanonicalPath&) = default;

 private:
  CanonicalPath(std::string text, bool ambiguous) : text_(std::move(text)), ambiguous_(ambiguous) {}
  std::string text_;
  bool ambiguous_;
};

// An origin-form request target (RFC 9112 section 3.2.1) as it is decided on and written: path, and query if there is
// one.
struct CanonicalTarget {
  CanonicalPath path;
  bool has_query = false;  // "/?" has an empty query, "/" has none
  std::string query = {};  // as sent, without '?'

  // Splits at the first '?'. The query is kept byte for byte and refused with kInvalid when it holds '#', a space, a
  // control byte or a byte beyond ASCII.
  static Result<CanonicalTarget> parse(std::string_view origin_form);
  // The bytes to write.
  std::string wire() const;
};

}  // namespace sallyport::policy
