#include "control/audit_log/verify.h"
#include "core/base/escape.h"

namespace sallyport::audit_log {
namespace {

void append_list(std::string& out, const std::vector<Fault>& list, std::string_view label) {
  for (const Fault& one : list) {
    out += label;
    if (one.line != 0) out += "line " + std::to_string(one.line) + ": ";
    out += one.what + "\n";
  }
}

void append_json_list(std::string& out, std::string_view key, const std::vector<Fault>& list) {
  out += ",\"" + std::string(key) + "\":[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i != 0) out += ',';
    out += "{\"line\":" + std::to_string(list[i].line) + ",\"what\":\"" + escape_json(list[i].what) + "\"}";
  }
  out += ']';
}

void append_json_anchor(std::string& out, std::string_view key, const Anchor& anchor, const std::string& time) {
  out += ",\"" + std::string(key) + "\":";
  if (anchor.sequence == 0) {
    out += "null";
    return;
  }
  out += "{\"seq\":" + std::to_string(anchor.sequence) + ",\"time\":\"" + escape_text(time, 64) + "\",\"hash\":\"" +
         to_hex(anchor.hash) + "\"}";
}

}  // namespace

// Text out of the file (times) went through parse_line, which admits printable ASCII only; backslashes are JSON escapes.
std::string render_text(const VerifyReport& report) {
  std::string out = report.sound() ? "sound: " : "NOT SOUND: ";
  out += std::to_string(report.records) + " records in " + std::to_string(report.lines) + " lines, " +
         std::to_string(report.bytes) + " bytes, " + std::to_string(report.fault_count) + " faults\n";
  if (report.records != 0) {
    out += "first: " + std::to_string(report.first.sequence) + " " + escape_text(report.first_time, 64) + "\n";
    out += "last:  " + std::to_string(report.last.sequence) + " " + escape_text(report.last_time, 64) + " " +
           to_hex(report.last.hash) + "\n";
  }
  append_list(out, report.notices, "notice: ");
  append_list(out, report.faults, "fault: ");
  if (report.fault_count > report.faults.size()) {
    out += "and " + std::to_string(report.fault_count - report.faults.size()) + " faults more\n";
  }
  return out;
}

std::string render_json(const VerifyReport& report) {
  std::string out = report.sound() ? "{\"sound\":true" : "{\"sound\":false";
  out += ",\"records\":" + std::to_string(report.records) + ",\"lines\":" + std::to_string(report.lines) +
         ",\"bytes\":" + std::to_string(report.bytes) + ",\"fault_count\":" + std::to_string(report.fault_count);
  append_json_anchor(out, "first", report.first, report.first_time);
  append_json_anchor(out, "last", report.last, report.last_time);
  append_json_list(out, "notices", report.notices);
  append_json_list(out, "faults", report.faults);
  out += "}\n";
  return out;
}

}  // namespace sallyport::audit_log
