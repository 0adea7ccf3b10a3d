#include "policies/engine/question.h"

#include <algorithm>
#include <utility>

#include "core/base/escape.h"
#include "policies/engine/decide.h"
#include "policies/engine/port_reader.h"

namespace sallyport::policy {
namespace {

using Kind = Question::Kind;

auto invalid(std::string sentence) { return fail(ErrorKind::kInvalid, std::move(sentence)); }

struct Parts {
  std::string_view before;  // the method or record type; empty: none
  std::string_view scheme;
  std::string_view authority;
  std::string_view rest;  // from the first '/' or '?'
};

Result<Parts> split(std::string_view text) {
  Parts parts;
  if (auto space = text.find(' '); space != text.npos) {
    parts.before = text.substr(0, space);
    text.remove_prefix(space + 1);
    if (parts.before.empty() || text.find(' ') != text.npos)
      return invalid("too many spaces: write one method, one space, the destination");
  }
  auto mark = text.find("://");
  if (mark == text.npos)
    return invalid("the scheme is missing: write GET http://HOST/PATH, tls://HOST, tcp://HOST:PORT or dns://HOST");
  parts.scheme = text.substr(0, mark);
  text.remove_prefix(mark + 3);
  auto end = std::min(text.find_first_of("/?#"), text.size());
  parts.authority = text.substr(0, end);
  parts.rest = text.substr(end);
  return parts;
}

struct Place {
  Target target;
  std::optional<Port> port;
};

Result<Place> place_of(std::string_view authority) {
  auto split = split_port(authority);
  auto target = Target::parse(split.host);
  if (!target) return invalid("'" + escape_text(split.host, 80) + "' is no host: " + target.error().detail);
  Place place{std::move(target).value(), std::nullopt};
  if (!split.has_port) return place;
  auto port = Port::parse(split.port);
  if (!port) return invalid("'" + escape_text(split.port, 80) + "' is no port: write a number from 1 to 65535");
  place.port = port.value();
  return place;
}

Result<Question> request(const Parts& parts, Place place) {
  if (parts.rest.empty()) return invalid("the path is missing: write http://HOST/ or http://HOST/PATH");
  auto path = CanonicalTarget::parse(parts.rest);
  if (!path) return invalid(path.error().detail);
  Question question{Kind::kRequest, std::move(place.target), place.port.value_or(Port::of(80))};
  question.method = parts.before.empty() ? "GET" : std::string(parts.before);
  question.path = std::move(path).value();
  return question;
}

Result<Question> lookup(const Parts& parts, Place place) {
  if (place.port || !parts.rest.empty()) return invalid("a lookup has no port and no path: write dns://HOST");
  if (place.target.is_literal()) return invalid("a lookup is of a name, not of an address: write dns://HOST");
  Question question{Kind::kName, std::move(place.target), Port::of(53)};
  if (parts.before.empty()) return question;
  auto type = record_type_of(parts.before);
  if (!type) return invalid("'" + escape_text(parts.before, 80) + "' is no record type: write TXT dns://HOST");
  question.kind = Kind::kRecord;
  question.record = *type;
  return question;
}

Result<Question> connection(const Parts& parts, Place place) {
  bool tcp = parts.scheme == "tcp", https = parts.scheme == "https";
  std::string scheme(parts.scheme);
  if (!https && !parts.before.empty()) return invalid(scheme + ":// is a connection, and has no method: write " + scheme + "://HOST:PORT");
  if (!https && !parts.rest.empty()) return invalid(scheme + ":// is a connection, and has no path: write " + scheme + "://HOST:PORT");
  if (!place.port && tcp) return invalid("tcp:// has no port of its own: write tcp://HOST:PORT");
  Question question{tcp ? Kind::kTcp : Kind::kTls, std::move(place.target), place.port.value_or(Port::of(443))};
  question.hidden_path = https;
  return question;
}

}  // namespace

Result<Question> Question::parse(std::string_view text) {
  BOOST_OUTCOME_TRY(auto parts, split(text));
  BOOST_OUTCOME_TRY(auto place, place_of(parts.authority));
  if (parts.scheme == "http") return request(parts, std::move(place));
  if (parts.scheme == "dns") return lookup(parts, std::move(place));
  if (parts.scheme == "tls" || parts.scheme == "tcp" || parts.scheme == "https") return connection(parts, std::move(place));
  return invalid("'" + escape_text(parts.scheme, 80) + "' is no scheme that can be asked about: write http://, tls://, tcp:// or dns://");
}

std::string Question::text() const {
  bool v6 = target.address() != nullptr && !target.address()->is_v4();
  std::string host = v6 ? "[" + target.text() + "]" : target.text(), number = ":" + std::to_string(port.value());
  switch (kind) {
    case Kind::kRequest:
      return method + " http://" + host + (port == Port::of(80) ? "" : number) + path->wire();
    case Kind::kTls:
      return "tls://" + host + (port == Port::of(443) ? "" : number);
    case Kind::kTcp:
      return "tcp://" + host + number;
    case Kind::kName:
      return "dns://" + host;
    case Kind::kRecord:
      return record_type_text(record) + " dns://" + host;
  }
  return {};
}

Verdict ask(const CompiledPolicy& policy, const Question& question) {
  switch (question.kind) {
    case Kind::kRequest: {
      ContentType body;
      if (!question.content_type.empty()) {
        body.set_body(true);
        body.see("content-type", question.content_type);
      }
      return decide_http(policy, {question.target, question.port, question.method, question.path->path, question.path->query, {}, body});
    }
    case Kind::kName:
      return decide_name(policy, *question.target.host());
    case Kind::kRecord:
      return decide_record(policy, *question.target.host(), question.record);
    case Kind::kTls:
    case Kind::kTcp:
      break;
  }
  auto verdict = decide_connection(policy, {question.target, question.port});
  if (!verdict.allowed()) return verdict;
  bool fits = verdict.treatment == Treatment::kTcpTunnel ||
              (verdict.treatment == Treatment::kTlsTunnel && question.kind == Kind::kTls);
  if (fits) return verdict;
  Verdict refused;
  refused.reason = verdict.treatment == Treatment::kHttp ? ReasonCode::kNotHttp : ReasonCode::kNotTls;
  refused.nearest = verdict.rule;
  return refused;
}

}  // namespace sallyport::policy
