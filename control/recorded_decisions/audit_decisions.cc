#include "control/recorded_decisions/audit_decisions.h"

#include <fcntl.h>

#include "control/audit_log/line.h"
#include "control/audit_log/line_reader.h"
#include "core/base/unique_fd.h"

namespace sallyport::control {
namespace {

namespace review = policy::review;
using review::Inquiry;

// The inside of a JSON string of the log; nothing for characters beyond ASCII, which no name, method or path has.
std::optional<std::string> plain(std::string_view value) {
  std::string out;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != '\\') {
      out += value[i];
      continue;
    }
    if (++i >= value.size() || value[i] == 'u') return std::nullopt;
    out += value[i];
  }
  return out;
}

std::optional<std::string> text(const audit_log::Line& line, std::string_view key) {
  auto value = line.text(key);
  return value ? plain(*value) : std::nullopt;
}

std::optional<Inquiry> inquiry_of(const audit_log::Line& line) {
  auto layer = text(line, "layer"), name = text(line, "name_used");
  if (!layer || !name) return std::nullopt;
  bool v6 = name->find(':') != std::string::npos;
  auto target = policy::Target::parse(v6 ? "[" + *name + "]" : *name);
  if (!target) return std::nullopt;
  if (*layer == "dns") {
    if (target.value().is_literal()) return std::nullopt;
    Inquiry inquiry{Inquiry::Kind::kName, std::move(target).value()};
    auto type = text(line, "query_type");
    if (!type || *type == "A" || *type == "AAAA") return inquiry;
    auto number = policy::record_type_of(*type);
    if (!number) return inquiry;
    inquiry.kind = Inquiry::Kind::kRecord;
    inquiry.record = *number;
    return inquiry;
  }
  auto port = line.number("port");
  if (!port || *port == 0 || *port > 65535) return std::nullopt;
  Port number = Port::of(static_cast<std::uint16_t>(*port));
  if (*layer == "tls") return Inquiry{Inquiry::Kind::kTls, std::move(target).value(), number};
  auto method = text(line, "method"), path = text(line, "path");
  // A connection that was refused, and then said what it was for.
  bool told = method && path && *method != "CONNECT";
  if (*layer == "connect" && !told) return Inquiry{Inquiry::Kind::kConnect, std::move(target).value(), number};
  if ((*layer != "http" && *layer != "connect") || !method || !path) return std::nullopt;
  auto canonical = policy::CanonicalTarget::parse(*path);
  if (!canonical) return std::nullopt;
  Inquiry inquiry{Inquiry::Kind::kHttp, std::move(target).value(), number};
  inquiry.method = *std::move(method);
  inquiry.request = std::move(canonical).value();
  return inquiry;
}

}  // namespace

std::optional<review::Recorded> decision_of(std::string_view text_of_line, std::string_view task,
                                            std::uint64_t& records, std::uint64_t& unread) {
  auto parsed = audit_log::parse_line(text_of_line);
  if (!parsed) return std::nullopt;
  ++records;
  const audit_log::Line& line = parsed.value();
  bool again = line.kind == "coalesced" && line.text("of") == "decision";
  if (line.kind != "decision" && !again) return std::nullopt;
  if (!task.empty() && line.text("task") != task) return std::nullopt;
  auto reason = policy::reason_of(line.text("reason").value_or(""));
  auto inquiry = inquiry_of(line);
  if (!reason || !inquiry || line.text("cut")) {
    ++unread;
    return std::nullopt;
  }
  return review::Recorded{*std::move(inquiry), *reason, again ? line.number("repeated").value_or(1) : 1};
}

Result<AuditDecisions> read_decisions(const std::string& path, std::string_view task) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return fail_errno(path);
  audit_log::LineReader reader(file.get(), audit_log::kMaxLineBytes);
  AuditDecisions out;
  bool whole = true;  // the piece begins a line
  for (;;) {
    BOOST_OUTCOME_TRY(auto piece, reader.next());
    if (!piece) return out;
    if (whole && piece->ended)
      if (auto decision = decision_of(piece->text, task, out.records, out.unread))
        out.decisions.push_back(*std::move(decision));
    whole = piece->ended;
    if (out.decisions.size() > kMostDecisions)
      return fail(ErrorKind::kOverloaded, path + " holds more than 2000000 decisions");
  }
}

}  // namespace sallyport::control
