#include "core/http/denial.h"

#include <algorithm>

#include "core/base/escape.h"
#include "core/http/syntax.h"
#include "core/http/writer.h"

namespace sallyport::http {
namespace {

constexpr std::size_t kMaxShort = 128;    // ids, codes, titles
constexpr std::size_t kMaxPhrase = 160;   // of the reason phrase
constexpr std::size_t kMaxDetail = 1024;  // in the document
constexpr std::size_t kMaxHeaderDetail = 256;

constexpr std::uint16_t kStatuses[] = {400, 403, 408, 413, 414, 417, 421, 429, 431, 500, 501, 502, 503, 504, 505};

std::uint16_t allowed_status(std::uint16_t status) {
  return std::ranges::find(kStatuses, status) == std::end(kStatuses) ? std::uint16_t{500} : status;
}

bool is_code(std::string_view reason) {
  return !reason.empty() && reason.size() <= kMaxShort && std::ranges::all_of(reason, [](char c) {
    return (c >= 'a' && c <= 'z') || is_byte(c, kDigitByte) || c == '_';
  });
}

void append_member(std::string& json, const char* name, std::string_view value, std::size_t max = kMaxShort) {
  if (value.empty()) return;
  json += ",\"";
  json += name;
  json += "\":\"";
  append_json(json, value, max);
  json += '"';
}

std::string problem_document(const Denial& denial, std::uint16_t status, std::string_view title) {
  std::string json = "{\"type\":\"";
  if (is_code(denial.reason)) {
    json += "urn:sallyport:reason:";
    json += denial.reason;
  } else {
    json += "about:blank";
  }
  json += "\",\"status\":" + std::to_string(status);
  append_member(json, "title", title);
  append_member(json, "detail", denial.detail, kMaxDetail);
  append_member(json, "reason", denial.reason);
  append_member(json, "rule", denial.rule);
  append_member(json, "nearest_rule", denial.nearest_rule);
  append_member(json, "category", denial.category);
  append_member(json, "task", denial.task);
  append_member(json, "decision", denial.decision);
  json += "}\n";
  return json;
}

// "Denied by policy: no_rule"
std::string reason_phrase(const Denial& denial, std::string_view title) {
  std::string phrase(title.substr(0, kMaxPhrase));
  if (!denial.reason.empty() && denial.reason != title) phrase.append(": ").append(denial.reason.substr(0, kMaxShort));
  return escape_text(phrase, 2 * kMaxPhrase);
}

// RFC 9651 string: printable ASCII, quote and backslash escaped.
std::string quoted(std::string_view hostile) {
  std::string out = "\"";
  for (char c : escape_text(hostile, kMaxHeaderDetail)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

}  // namespace

std::string_view proxy_status_error(std::uint16_t status) noexcept {
  switch (status) {
    case 403:
    case 421:
      return "http_request_denied";
    case 408:
      return "connection_read_timeout";
    case 429:
      return "connection_limit_reached";
    case 502:
      return "destination_unavailable";
    case 503:
      return "proxy_internal_response";
    case 504:
      return "connection_timeout";
    case 500:
      return "proxy_internal_error";
    default:
      return "http_request_error";
  }
}

std::string denial_response(const Denial& denial) {
  std::uint16_t status = allowed_status(denial.status);
  std::string_view title = denial.title.empty() ? standard_reason(status) : denial.title;
  std::string body = problem_document(denial, status, title);

  std::string out = "HTTP/1.1 " + std::to_string(status) + ' ' + reason_phrase(denial, title);
  out += "\r\nContent-Type: application/problem+json\r\nCache-Control: no-store\r\nProxy-Status: sallyport; error=";
  out += is_code(denial.proxy_error) ? denial.proxy_error : proxy_status_error(status);
  std::string details(is_code(denial.reason) ? denial.reason : "");
  if (!details.empty()) details += ": ";
  details += denial.detail.empty() ? title : denial.detail;
  out += "; details=" + quoted(details);
  if (denial.retry_after) out += "\r\nRetry-After: " + std::to_string(*denial.retry_after);
  out += "\r\nContent-Length: " + std::to_string(body.size());
  if (denial.close) {
    out += "\r\nConnection: close";
  } else if (denial.client_minor == 0) {
    out += "\r\nConnection: keep-alive";
  }
  out += "\r\n\r\n";
  if (!denial.head_request) out += body;
  return out;
}

}  // namespace sallyport::http
