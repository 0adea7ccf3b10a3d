#include "policies/review/inquiry.h"

#include <algorithm>

#include "core/base/escape.h"
#include "policies/engine/advice.h"
#include "policies/engine/floor.h"
#include "policies/engine/method.h"
#include "policies/engine/rule_terms.h"

namespace sallyport::policy::review {
namespace {

using Text = std::string_view;
using Kind = Inquiry::Kind;

constexpr Text kForms =
    "write 'GET http://host/path', 'tls://host', 'tcp://host:port', 'CONNECT host:port', or a name alone for a lookup";

auto invalid(const std::string& what) { return fail(ErrorKind::kInvalid, what); }

std::string lower(Text text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

struct Authority {
  Target target;
  std::optional<Port> port;
};

Result<Authority> read_authority(Text text) {
  if (text.find('@') != text.npos) return invalid("a user name before the host ('@') is not part of what is decided");
  auto colon = text.rfind(':');
  bool has_port = colon != text.npos && (!text.starts_with('[') || (colon > 0 && text[colon - 1] == ']'));
  Text host = has_port ? text.substr(0, colon) : text;
  auto target = Target::parse(host);
  if (!target)
    return invalid("'" + escape_text(host, 80) + "' is neither a host name nor an address: " + target.error().detail);
  Authority out{std::move(target).value(), std::nullopt};
  if (!has_port) return out;
  auto port = Port::parse(text.substr(colon + 1));
  if (!port) return invalid("'" + escape_text(text.substr(colon + 1), 40) + "' is no port: write 1 to 65535");
  out.port = port.value();
  return out;
}

class Reading {
 public:
  explicit Reading(Text text) : text_(text) {}

  Result<Inquiry> read() {
    if (text_.size() > Inquiry::kMaxText) return invalid("longer than 16384 bytes");
    if (text_.empty()) return invalid("nothing was asked: " + std::string(kForms));
    Text rest = text_, method;
    if (auto space = rest.find(' '); space != rest.npos) {
      method = rest.substr(0, space);
      rest.remove_prefix(space + 1);
      if (rest.empty() || rest.find(' ') != rest.npos || method.empty())
        return invalid("one method, one space, one destination: " + std::string(kForms));
    }
    if (method.find("://") != method.npos)
      return invalid("something stands after the destination: " + std::string(kForms));
    auto mark = rest.find("://");
    if (mark != rest.npos) return with_scheme(method, lower(rest.substr(0, mark)), rest.substr(mark + 3));
    if (lower(method) == "connect") return connect(rest);
    if (!method.empty() && record_type_of(method)) return lookup(method, rest);
    if (!method.empty())
      return invalid("the scheme is missing: write '" + escape_text(method, 32) + " http://" + escape_text(rest, 120) +
                     "'");
    return bare(rest);
  }

 private:
  Result<Inquiry> with_scheme(Text method, const std::string& scheme, Text rest) {
    auto end = std::min(rest.find_first_of("/?#"), rest.size());
    Text authority = rest.substr(0, end), path = rest.substr(end);
    if (lower(method) == "connect") return invalid("CONNECT has no scheme: write 'CONNECT host:port'");
    if (scheme == "http") return http(method, authority, path);
    if (scheme == "dns")
      return path.empty() ? lookup(method, authority)
                          : Result<Inquiry>(invalid("a lookup has no path: write dns://host"));
    if (scheme == "https" || scheme == "wss") return inside_tls(method, scheme, authority, path);
    if (scheme != "tls" && scheme != "tcp")
      return invalid("unknown scheme '" + escape_text(scheme, 32) + "://': " + std::string(kForms));
    if (!method.empty() || !path.empty())
      return invalid(scheme + ":// is a tunnel: nothing there has a method or a path");
    return tunnel(scheme == "tls" ? Kind::kTls : Kind::kTcp, authority);
  }

  Result<Inquiry> lookup(Text type, Text name) {
    BOOST_OUTCOME_TRY(auto where, read_authority(name));
    if (where.port) return invalid("a lookup has no port: write dns://" + where.target.text());
    if (where.target.is_literal())
      return invalid("an address is not looked up: write tcp://" + escape_text(name, 60) + ":PORT");
    Inquiry inquiry{type.empty() ? Kind::kName : Kind::kRecord, std::move(where.target)};
    if (type.empty()) return inquiry;
    auto number = record_type_of(type);
    if (!number) return invalid("'" + escape_text(type, 32) + "' is no record type: write 'TXT dns://host'");
    inquiry.record = *number;
    return inquiry;
  }

  Result<Inquiry> tunnel(Kind kind, Text authority) {
    BOOST_OUTCOME_TRY(auto where, read_authority(authority));
    if (!where.port && kind == Kind::kTcp)
      return invalid("a tcp:// destination has a port: write 'tcp://" + where.target.text() + ":PORT'");
    return Inquiry{kind, std::move(where.target), where.port.value_or(Port::of(443))};
  }

  Result<Inquiry> inside_tls(Text method, const std::string& scheme, Text authority, Text path) {
    BOOST_OUTCOME_TRY(auto inquiry, tunnel(Kind::kTls, authority));
    std::string note = scheme + ":// is not read: what is decided is the tunnel";
    if (!method.empty() || path.size() > 1) note += ", whatever its method and path";
    inquiry.notes.push_back(note);
    return inquiry;
  }

  Result<Inquiry> http(Text method, Text authority, Text path) {
    BOOST_OUTCOME_TRY(auto where, read_authority(authority));
    if (auto fragment = path.find('#'); fragment != path.npos)
      path = path.substr(0, fragment), notes_.push_back("a fragment ('#') never reaches a server and was left out");
    std::string origin_form(path);
    if (!path.starts_with('/')) origin_form.insert(0, "/");
    auto target = CanonicalTarget::parse(origin_form);
    if (!target)
      return invalid("no server would be asked for this: " + target.error().detail +
                     "; such a request is refused as malformed");
    if (method.empty()) notes_.push_back("without a method: asked as GET");
    Inquiry inquiry{Kind::kHttp, std::move(where.target), where.port.value_or(Port::of(80))};
    inquiry.method = method.empty() ? "GET" : std::string(method);
    if (auto upper = upper_of(method); upper != method)
      notes_.push_back("methods are case-sensitive: '" + escape_text(method, 32) + "' is not " +
                       escape_text(upper, 32));
    if (target.value().path.text() != origin_form.substr(0, origin_form.find('?')))
      notes_.push_back("decided and sent in its canonical form");
    inquiry.request = std::move(target).value();
    inquiry.notes = std::move(notes_);
    return inquiry;
  }

  static std::string upper_of(Text text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return out;
  }

  Result<Inquiry> connect(Text rest) {
    BOOST_OUTCOME_TRY(auto where, read_authority(rest));
    if (!where.port) return invalid("CONNECT names host and port: write 'CONNECT " + where.target.text() + ":443'");
    return Inquiry{Kind::kConnect, std::move(where.target), *where.port};
  }

  Result<Inquiry> bare(Text rest) {
    if (MethodSet::of(rest)) return invalid("a method without a destination: " + std::string(kForms));
    if (rest.find('/') != rest.npos) return invalid("the scheme is missing: " + std::string(kForms));
    BOOST_OUTCOME_TRY(auto where, read_authority(rest));
    if (where.port) return Inquiry{Kind::kConnect, std::move(where.target), *where.port};
    if (where.target.is_literal())
      return invalid("an address is not looked up: write 'tcp://" + escape_text(rest, 60) + ":PORT' or 'GET http://" +
                     escape_text(rest, 60) + "/'");
    return Inquiry{Kind::kName, std::move(where.target)};
  }

  Text text_;
  std::vector<std::string> notes_;
};

void take(Answer& answer, const Verdict& verdict) { static_cast<Verdict&>(answer) = verdict; }

// The proxy refuses what the connection turns out to be, once it shows.
void refuse(Answer& answer, ReasonCode reason) {
  answer.reason = reason;
  answer.nearest = answer.rule;
  answer.rule.reset();
  answer.treatment.reset();
}

Answer ask_connection(const CompiledPolicy& policy, const Inquiry& inquiry) {
  Answer answer;
  auto verdict = decide_connection(policy, {inquiry.target, inquiry.port});
  take(answer, verdict);
  if (!verdict.allowed()) return answer;
  answer.treatment = verdict.treatment;
  if (inquiry.kind == Kind::kConnect) return answer;
  if (verdict.treatment == Treatment::kHttp) refuse(answer, ReasonCode::kNotHttp);
  if (verdict.treatment == Treatment::kTlsTunnel && inquiry.kind == Kind::kTcp) refuse(answer, ReasonCode::kNotTls);
  return answer;
}

Answer ask_http(const CompiledPolicy& policy, const Inquiry& inquiry) {
  Answer answer;
  MethodOverrides overrides;
  if (!inquiry.override.empty()) overrides.see("x-http-method-override", inquiry.override);
  ContentType body;
  if (!inquiry.content_type.empty()) {
    body.set_body(true);
    body.see("content-type", inquiry.content_type);
  }
  const CanonicalTarget& request = *inquiry.request;
  auto verdict =
      decide_http(policy, {inquiry.target, inquiry.port, inquiry.method, request.path, request.query, overrides, body});
  take(answer, verdict);
  answer.limits_methods = verdict.limits_methods;
  if (verdict.allowed()) answer.treatment = Treatment::kHttp;
  return answer;
}

}  // namespace

Result<Inquiry> Inquiry::parse(std::string_view text) { return Reading(text).read(); }

Inquiry Inquiry::of(const Question& question) {
  auto kind_of = [](Question::Kind kind) {
    switch (kind) {
      case Question::Kind::kRequest:
        return Kind::kHttp;
      case Question::Kind::kTls:
        return Kind::kTls;
      case Question::Kind::kTcp:
        return Kind::kTcp;
      case Question::Kind::kName:
        return Kind::kName;
      case Question::Kind::kRecord:
        return Kind::kRecord;
    }
    return Kind::kName;
  };
  Inquiry out{kind_of(question.kind), question.target, question.port, question.method, question.path};
  out.content_type = question.content_type;
  out.record = question.record;
  return out;
}

std::string Inquiry::text() const {
  std::string where = kind == Kind::kName || kind == Kind::kRecord ? target.text() : target.authority(port);
  switch (kind) {
    case Kind::kName:
      return where;
    case Kind::kRecord:
      return record_type_text(record) + " dns://" + where;
    case Kind::kConnect:
      return "CONNECT " + where;
    case Kind::kTls:
      return "tls://" + where;
    case Kind::kTcp:
      return "tcp://" + where;
    case Kind::kHttp:
      break;
  }
  if (port == Port::of(80)) where.resize(where.size() - Text(":80").size());
  std::string out =
      escape_text(method, 64) + " http://" + where + escape_text(request->wire(), 2 * CanonicalPath::kMaxLength);
  if (!content_type.empty()) out += " (with a body of " + escape_text(content_type, 80) + ")";
  if (!override.empty()) out += " (with X-HTTP-Method-Override: " + escape_text(override, 64) + ")";
  return out;
}

Answer ask(const CompiledPolicy& policy, const Inquiry& inquiry) {
  if (const HostName* name = inquiry.target.host();
      name != nullptr && (is_never_resolved(*name) || is_own_name(*name))) {
    Answer answer;
    answer.reason = policy.is_absent() ? ReasonCode::kNoPolicy : ReasonCode::kAddressRefused;
    return answer;
  }
  if (inquiry.kind == Kind::kHttp) return ask_http(policy, inquiry);
  if (inquiry.kind != Kind::kName && inquiry.kind != Kind::kRecord) return ask_connection(policy, inquiry);
  Answer answer;
  const HostName& name = *inquiry.target.host();
  auto verdict = inquiry.kind == Kind::kName ? decide_name(policy, name) : decide_record(policy, name, inquiry.record);
  take(answer, verdict);
  answer.real_addresses = verdict.real_addresses;
  return answer;
}

std::optional<std::string> rule_for(const Inquiry& inquiry) {
  if (inquiry.kind == Kind::kHttp)
    return policy::rule_for(
        HttpRequest{inquiry.target, inquiry.port, inquiry.method, inquiry.request->path, inquiry.request->query});
  if (inquiry.kind == Kind::kRecord) return std::nullopt;
  if (inquiry.kind == Kind::kName) return policy::rule_for(ConnectionRequest{inquiry.target, Port::of(443)});
  auto line = policy::rule_for(ConnectionRequest{inquiry.target, inquiry.port});
  if (!line || line->starts_with("- allow: tcp://")) return line;
  if (inquiry.kind == Kind::kTcp) return "- allow: tcp://" + inquiry.target.authority(inquiry.port);
  // On port 80 a bare connection is taken for HTTP; this one was said to be TLS.
  if (inquiry.kind == Kind::kTls && line->starts_with("- allow: http://"))
    return "- allow: tls://" + inquiry.target.authority(inquiry.port);
  return line;
}

std::optional<std::string> rule_for(const CompiledPolicy& policy, const Inquiry& inquiry) {
  if (inquiry.kind != Kind::kHttp) return rule_for(inquiry);
  if (inquiry.request->path.ambiguous()) return std::nullopt;
  auto answer = ask(policy, inquiry);
  RequestBounds bounds;
  bounds.query = answer.reason == ReasonCode::kQueryNotAllowed;
  for (const Rule& rule : policy.rules()) {
    const RuleTerms& terms = policy.terms(rule.index);
    if (rule.action != Action::kAllow || terms.request == nullptr || terms.port != inquiry.port) continue;
    if (terms.request->query && terms.host.matches(inquiry.target)) bounds.query = true;
  }
  if (answer.nearest)
    if (const auto& request = policy.terms(answer.nearest->index).request)
      bounds.content_types = request->content_types;
  ContentType body;
  if (!inquiry.content_type.empty()) {
    body.set_body(true);
    body.see("content-type", inquiry.content_type);
    auto type = media_type_of(inquiry.content_type);
    bool limited = !bounds.content_types.empty() || answer.reason == ReasonCode::kContentTypeNotAllowed;
    if (limited && !type) return std::nullopt;
    if (limited) bounds.content_types = {*type};
  }
  const CanonicalTarget& request = *inquiry.request;
  return policy::rule_for(
      HttpRequest{inquiry.target, inquiry.port, inquiry.method, request.path, request.query, {}, body}, bounds);
}

}  // namespace sallyport::policy::review
