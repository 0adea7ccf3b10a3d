#include "control/audit_log/tail.h"
#include "core/base/escape.h"

namespace sallyport::audit_log {
namespace {

// Values are printable ASCII with JSON's escapes (parse_line saw to it): shown as they stand.
void append_text(std::string& out, const Line& line, std::string_view key, std::string_view label = {}) {
  auto value = line.text(key);
  if (!value || value->empty()) return;
  out += ' ';
  out += label;
  out += *value;
}

void append_number(std::string& out, const Line& line, std::string_view key, std::string_view label) {
  auto value = line.number(key);
  if (!value) return;
  out += ' ';
  out += label;
  out += std::to_string(*value);
}

void append_target(std::string& out, const Line& line) {
  append_text(out, line, "method");
  auto name = line.text("name_asked");
  if (!name) name = line.text("destination");
  if (name) {
    out += ' ';
    out += *name;
    if (auto port = line.number("port")) out += ':' + std::to_string(*port);
  }
  append_text(out, line, "path");
}

}  // namespace

std::string render_line(std::string_view text) {
  auto parsed = parse_line(text);
  if (parsed.has_error()) return "?? " + escape_text(text, 1024);
  const Line& line = parsed.value();
  std::string out = std::to_string(line.sequence);
  out += ' ';
  out += line.time;
  out += ' ';
  out += line.kind;
  append_text(out, line, "task");
  append_text(out, line, "verdict");
  append_target(out, line);
  append_text(out, line, "rule", "rule=");
  append_text(out, line, "reason", "reason=");
  append_number(out, line, "status", "status=");
  append_text(out, line, "address_dialled", "via=");
  append_number(out, line, "bytes_up", "up=");
  append_number(out, line, "bytes_down", "down=");
  append_number(out, line, "count", "count=");
  append_text(out, line, "error", "error=");
  return out;
}

}  // namespace sallyport::audit_log
