#include "policies/engine/path.h"

#include "policies/engine/percent.h"

namespace sallyport::policy {
namespace {

// What clients send though RFC 3986 does not know it; encoded, it means the same to every server.
constexpr bool is_stray(char c) { return std::string_view("\"<>[]^`{|}").find(c) != std::string_view::npos; }

const char* encoded_fault(int byte) {
  if (byte < 0) return "a path has '%' without two hexadecimal digits";
  if (byte < 0x20 || byte == 0x7f) return "a path has an encoded control byte";
  if (byte == '/' || byte == '\\') return "a path has an encoded slash";
  return nullptr;
}

const char* raw_fault(char c) {
  auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x80) return "a path has a byte beyond ASCII";
  if (byte <= 0x20 || byte == 0x7f) return "a path has a space or a control byte";
  if (c == '\\') return "a path has a back-slash";
  if (c == '#') return "a request target has a fragment";
  if (c == '?') return "a path has a question mark";
  return nullptr;
}

// Empty segments and dot segments, looked for once everything is decoded that will be.
const char* segment_fault(std::string_view path) {
  path.remove_prefix(1);
  for (;;) {
    auto slash = path.find('/');
    auto segment = path.substr(0, slash);
    if (segment == "." || segment == "..") return "a path has a dot segment";
    if (slash == std::string_view::npos) return nullptr;
    if (segment.empty()) return "a path has an empty segment";
    path.remove_prefix(slash + 1);
  }
}

// Appends the canonical form of what stands at `at` and moves on; the fault if it has none.
const char* canonicalise_one(std::string_view raw, std::size_t& at, std::string& out, bool& encoded_high) {
  char c = raw[at];
  if (c == '%') {
    int byte = encoded_byte(raw, at);
    if (const char* fault = encoded_fault(byte)) return fault;
    at += 3;
    if (is_unreserved(static_cast<char>(byte))) {
      out += static_cast<char>(byte);
    } else {
      append_encoded(out, static_cast<unsigned char>(byte));
      encoded_high |= byte >= 0x80;
    }
    return nullptr;
  }
  if (const char* fault = raw_fault(c)) return fault;
  if (is_stray(c))
    append_encoded(out, static_cast<unsigned char>(c));
  else
    out += c;
  ++at;
  return nullptr;
}

bool is_ambiguous(std::string_view text) {
  if (text.find(';') != std::string_view::npos) return true;
  for (auto at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (encoded_byte(text, at) == '%' && at + 4 < text.size() && hex_value(text[at + 3]) >= 0 &&
        hex_value(text[at + 4]) >= 0)
      return true;
  // "%3B" is ';' to a server that decodes before it splits.
  return text.find("%3B") != std::string_view::npos;
}

}  // namespace

Result<CanonicalPath> CanonicalPath::parse(std::string_view raw) {
  if (!raw.starts_with('/')) return fail(ErrorKind::kInvalid, "a path does not begin with '/'");
  if (raw.size() > kMaxLength) return fail(ErrorKind::kInvalid, "a path is longer than 8192 bytes");
  std::string out;
  out.reserve(raw.size());
  bool encoded_high = false;
  for (std::size_t at = 0; at < raw.size();) {
    if (raw.substr(at).starts_with("/./")) {
      at += 2;
      continue;
    }
    if (const char* fault = canonicalise_one(raw, at, out, encoded_high)) return fail(ErrorKind::kInvalid, fault);
  }
  if (out.size() > kMaxLength) return fail(ErrorKind::kInvalid, "a path is longer than 8192 bytes");
  if (const char* fault = segment_fault(out)) return fail(ErrorKind::kInvalid, fault);
  if (encoded_high && !is_utf8(percent_decoded(out)))
    return fail(ErrorKind::kInvalid, "a path has encoded bytes that are not UTF-8");
  bool ambiguous = is_ambiguous(out);
  return CanonicalPath(std::move(out), ambiguous);
}

Result<CanonicalTarget> CanonicalTarget::parse(std::string_view origin_form) {
  auto mark = origin_form.find('?');
  BOOST_OUTCOME_TRY(auto path, CanonicalPath::parse(origin_form.substr(0, mark)));
  CanonicalTarget target{std::move(path)};
  if (mark == std::string_view::npos) return target;
  target.has_query = true;
  target.query = origin_form.substr(mark + 1);
  for (char c : target.query) {
    auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7f || c == '#')
      return fail(ErrorKind::kInvalid, "a query has a space, a control byte, '#' or a byte beyond ASCII");
  }
  return target;
}

std::string CanonicalTarget::wire() const {
  std::string out(path.text());
  if (has_query) out += "?" + query;
  return out;
}

}  // namespace sallyport::policy
