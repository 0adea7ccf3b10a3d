#include "policies/engine/text_check.h"

#include <cstdio>

#include "policies/engine/load.h"
#include "policies/engine/percent.h"

namespace sallyport::policy {
namespace {

std::string code_point(char32_t scalar) {
  char out[16];
  std::snprintf(out, sizeof out, "U+%04X", static_cast<unsigned>(scalar));
  return out;
}

bool hides(char32_t c) {
  return (c >= 0x80 && c < 0xa0) || c == 0xad || c == 0x061c || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
         (c >= 0xe0000 && c <= 0xe007f);
}

struct Fault {
  std::string message;
  std::string advice;
};

// An empty message: nothing is wrong with this character.
Fault fault_of(char32_t c) {
  if (c == '\t') return {"a tab: YAML indents with spaces", "spaces instead"};
  if (c == '\r')
    return {"a carriage return: this file has Windows line ends", "the file with plain line feeds (dos2unix does it)"};
  if (c == 0) return {"a NUL byte", "the text without it"};
  if (c != '\n' && (c < 0x20 || c == 0x7f)) return {"a control character, " + code_point(c), "the text without it"};
  if (hides(c))
    return {"an invisible character, " + code_point(c) + ": the file would not mean what it shows",
            "the text without it"};
  return {};
}

bool has_mark(std::string_view text, Reporter& reporter) {
  if (text.starts_with("\xef\xbb\xbf")) {
    reporter.error({}, "a byte order mark at the beginning", {}, "the file as UTF-8 without a byte order mark");
    return true;
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    reporter.error({}, "this is UTF-16", {}, "the file as UTF-8 without a byte order mark");
    return true;
  }
  return false;
}

}  // namespace

bool check_text(std::string_view text, Reporter& reporter) {
  if (text.size() > kMaxPolicyBytes) {
    reporter.error({}, "the file is longer than 16 MiB");
    return false;
  }
  if (has_mark(text, reporter)) return false;
  Position at;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] >= 0x20 && text[i] < 0x7f) {
      ++i;
      ++at.column;
      continue;
    }
    char32_t c = 0;
    std::size_t length = utf8_sequence(text, i, c);
    if (length == 0) {
      reporter.error(at, "bytes that are not UTF-8", text.substr(i, 4), "the file as UTF-8");
      return false;
    }
    if (Fault fault = fault_of(c); !fault.message.empty()) {
      reporter.error(at, std::move(fault.message), {}, std::move(fault.advice));
      return false;
    }
    i += length;
    at = c == '\n' ? Position{at.line + 1, 1} : Position{at.line, at.column + 1};
  }
  return true;
}

}  // namespace sallyport::policy
