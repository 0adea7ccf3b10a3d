// Inquiry: what a person asks of a policy: may this name be looked up, this connection be made, this request be sent?
//
// Written as the thing itself is:
//   GET http://api.example/v2/x?page=1   a request (a method left out is GET)
//   tls://api.example[:443]              an encrypted tunnel
//   tcp://db.example:5432                any other connection
//   CONNECT api.example:443              what a client asks its proxy for
//   api.example                          a lookup of its addresses (also dns://api.example)
//   TXT dns://api.example                a lookup of other records
//
// Wider than policy::Question, which `tests:` write: it also knows what a client asks its proxy for, and fields that
// would have a server read another method.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/engine/decide.h"
#include "policies/engine/question.h"

namespace sallyport::policy::review {

struct Inquiry {
  enum class Kind : std::uint8_t { kName, kRecord, kConnect, kTls, kTcp, kHttp };

  Kind kind;
  Target target;
  Port port = Port::of(1);                      // meaningless for lookups
  std::string method = {};                      // of kHttp; may be one that nobody knows
  std::optional<CanonicalTarget> request = {};  // of kHttp
  // Of kHttp: the type of the body that is sent; empty: no body.
  std::string content_type = {};
  RecordType record = kRecordA;  // of kRecord
  // Of kHttp: the value of an X-HTTP-Method-Override field that is sent along; empty: none.
  std::string override = {};
  // What the reader should know of how the text was understood; safe for a terminal.
  std::vector<std::string> notes = {};

  // Untrusted text of at most kMaxText bytes. kInvalid with one sentence that says what to write.
  static constexpr std::size_t kMaxText = 16 * 1024;
  static Result<Inquiry> parse(std::string_view text);
  static Inquiry of(const Question& question);

  // As parse() would take it, in its canonical form and escaped for a terminal; an override field is told behind it.
  std::string text() const;
};

// The policy's word on a inquiry, whichever kind it is.
struct Answer : Verdict {
  // Of connections that are allowed.
  std::optional<Treatment> treatment;
  // Of requests that are allowed: the rule looks at methods, and form bodies are read for them.
  bool limits_methods = false;
  // Of names that are allowed: the task is told the true addresses.
  bool real_addresses = false;
};

// What comes of it at the proxy, as far as the policy decides: a tunnel that is asked for where only requests are read
// is refused, though decide_connection allows the connection. Borrows its RuleRefs from `policy`.
Answer ask(const CompiledPolicy& policy, const Inquiry& inquiry);

// The rule line that is for it alone; see rule_for in policies/engine/advice.h. Knows no policy: what other rules say
// of queries and bodies it does not say.
std::optional<std::string> rule_for(const Inquiry& inquiry);
// The line for this policy: where the rules of the host limit queries or bodies, it does too. Nothing for a path that
// only a rule for every path could allow.
std::optional<std::string> rule_for(const CompiledPolicy& policy, const Inquiry& inquiry);

}  // namespace sallyport::policy::review
