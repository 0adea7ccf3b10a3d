#include "core/http/writer.h"

#include <charconv>

#include "core/http/syntax.h"

namespace sallyport::http {
namespace {

Result<void> invalid(const char* detail) { return fail(ErrorKind::kInvalid, detail); }

void append_number(std::string& out, std::uint64_t number) {
  char digits[20];
  auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_length(std::string& out, std::uint64_t length) {
  out += "Content-Length: ";
  append_number(out, length);
  out += "\r\n";
}

// Framing and persistence are the writer's own to state, so nobody may add them as fields.
Result<void> check_added(std::span<const AddedField> added) {
  for (const AddedField& field : added) {
    if (field.name.empty() || !all_bytes(field.name, kTokenByte)) return invalid("an added header name is not a token");
    if (!all_bytes(field.value, kValueByte)) return invalid("an added header value holds a control byte");
    if (trim_blanks(field.value).size() != field.value.size())
      return invalid("an added header value begins or ends with white space");
    switch (field_id(field.name)) {
      case FieldId::kConnection:
      case FieldId::kContentLength:
      case FieldId::kExpect:
      case FieldId::kHost:
      case FieldId::kTe:
      case FieldId::kTrailer:
      case FieldId::kTransferEncoding:
      case FieldId::kUnderscoreAlias:
      case FieldId::kUpgrade:
        return invalid("framing and connection headers cannot be added");
      default:
        break;
    }
  }
  return success();
}

bool is_added(std::string_view name, std::span<const AddedField> added) noexcept {
  for (const AddedField& field : added)
    if (equal_ignoring_case(name, field.name)) return true;
  return false;
}

bool stays_between_client_and_proxy(FieldId id) noexcept {
  switch (id) {
    case FieldId::kConnection:
    case FieldId::kContentLength:
    case FieldId::kExpect:
    case FieldId::kForwarding:
    case FieldId::kHost:
    case FieldId::kHttp2Settings:
    case FieldId::kKeepAlive:
    case FieldId::kMaxForwards:
    case FieldId::kMethodOverride:
    case FieldId::kProxy:
    case FieldId::kTargetOverride:
    case FieldId::kTe:
    case FieldId::kTrailer:
    case FieldId::kTransferEncoding:
    case FieldId::kUnderscoreAlias:
    case FieldId::kUpgrade:
      return true;
    default:
      return false;
  }
}

bool stays_between_proxy_and_upstream(FieldId id) noexcept {
  switch (id) {
    case FieldId::kAltSvc:
    case FieldId::kConnection:
    case FieldId::kContentLength:
    case FieldId::kHttp2Settings:
    case FieldId::kKeepAlive:
    case FieldId::kProxy:
    case FieldId::kTe:
    case FieldId::kTrailer:
    case FieldId::kTransferEncoding:
    case FieldId::kUnderscoreAlias:
    case FieldId::kUpgrade:
      return true;
    default:
      return false;
  }
}

void append_fields(std::string& out, const Fields* fields, std::span<const AddedField> added,
                   bool (*dropped)(FieldId) noexcept) {
  if (fields != nullptr)
    for (Field field : *fields)
      if (!field.listed && !dropped(field.id) && !is_added(field.name, added))
        append_field(out, field.name, field.value);
  for (const AddedField& field : added) append_field(out, field.name, field.value);
}

Result<void> check_request(const UpstreamRequest& request) {
  if (request.method.empty() || !all_bytes(request.method, kTokenByte)) return invalid("a method is not a token");
  if (request.method == "CONNECT") return invalid("CONNECT is never written upstream");
  bool formed = request.target == "*" ? request.method == "OPTIONS" : request.target.starts_with('/');
  if (!formed || !all_bytes(request.target, kTargetByte)) return invalid("a request target is not in origin-form");
  if (request.authority == nullptr) return invalid("a request has no authority");
  if (request.body.kind == FramingKind::kUntilClose) return invalid("a request body cannot end with the connection");
  return check_added(request.added);
}

bool has_no_body(const ClientResponse& response) noexcept {
  return response.status < 200 || response.status == 204 || response.status == 304 || response.answers_head;
}

Result<void> check_response(const ClientResponse& response) {
  if (response.status < 100 || response.status > 599 || response.status == 101)
    return invalid("a status code cannot be written");
  if (!all_bytes(response.reason, kValueByte)) return invalid("a reason phrase holds a control byte");
  if (has_no_body(response) != (response.body.kind == FramingKind::kNone))
    return invalid("a response's body does not go with its status");
  if (response.body.kind == FramingKind::kChunked && response.client_minor == 0)
    return invalid("an HTTP/1.0 client does not know the chunked coding");
  return check_added(response.added);
}

void append_response_framing(std::string& out, const ClientResponse& response) {
  switch (response.body.kind) {
    case FramingKind::kNone:
      if (response.content_length && response.status != 204) append_length(out, *response.content_length);
      break;
    case FramingKind::kLength:
      append_length(out, response.body.length);
      break;
    case FramingKind::kChunked:
      out += "Transfer-Encoding: chunked\r\n";
      break;
    case FramingKind::kUntilClose:
      break;
  }
}

}  // namespace

Result<void> write_request_head(std::string& out, const UpstreamRequest& request) {
  BOOST_OUTCOME_TRY(check_request(request));
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\nHost: ");
  request.authority->append_host_field(out, request.standard_port);
  out += "\r\n";
  append_fields(out, request.fields, request.added, stays_between_client_and_proxy);
  if (request.expect_continue) out += "Expect: 100-continue\r\n";
  if (request.body.kind == FramingKind::kLength) append_length(out, request.body.length);
  if (request.body.kind == FramingKind::kChunked) out += "Transfer-Encoding: chunked\r\n";
  if (!request.keep_alive) out += "Connection: close\r\n";
  out += "\r\n";
  return success();
}

Result<void> write_response_head(std::string& out, const ClientResponse& response) {
  BOOST_OUTCOME_TRY(check_response(response));
  out += "HTTP/1.1 ";
  append_number(out, response.status);
  out += ' ';
  out += response.reason.empty() ? standard_reason(response.status) : response.reason;
  out += "\r\n";
  append_fields(out, response.fields, response.added, stays_between_proxy_and_upstream);
  if (response.status >= 200) {
    append_response_framing(out, response);
    bool keep = response.keep_alive && response.body.kind != FramingKind::kUntilClose;
    if (!keep) out += "Connection: close\r\n";
    if (keep && response.client_minor == 0) out += "Connection: keep-alive\r\n";
  }
  out += "\r\n";
  return success();
}

Framing client_framing(const Framing& upstream, std::uint8_t client_minor) noexcept {
  if (upstream.kind != FramingKind::kChunked && upstream.kind != FramingKind::kUntilClose) return upstream;
  return client_minor == 0 ? Framing::until_close() : Framing::chunked();
}

ChunkPrefix::ChunkPrefix(std::uint64_t size) noexcept : begin_(sizeof text_) {
  text_[--begin_] = '\n';
  text_[--begin_] = '\r';
  do {
    text_[--begin_] = "0123456789abcdef"[size & 15];
    size >>= 4;
  } while (size != 0);
}

std::string_view standard_reason(std::uint16_t status) noexcept {
  switch (status) {
    case 100:
      return "Continue";
    case 103:
      return "Early Hints";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 203:
      return "Non-Authoritative Information";
    case 204:
      return "No Content";
    case 205:
      return "Reset Content";
    case 206:
      return "Partial Content";
    case 300:
      return "Multiple Choices";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 426:
      return "Upgrade Required";
    case 428:
      return "Precondition Required";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 451:
      return "Unavailable For Legal Reasons";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "";
  }
}

}  // namespace sallyport::http
