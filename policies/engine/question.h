// Question: one thing that could be asked of a policy, as `explain`, `tests:` and `diff` write it.
//
//   GET http://api.example/v1/x?a=b    a request
//   tls://cdn.example                  a connection that begins with TLS for that name; port 443
//   tcp://db.example:5432              a connection that carries anything
//   dns://api.example                  whether the name may be known
//   TXT dns://api.example              a lookup of another record type
//   GET https://api.example/v1/x       what is decided of it today: the tunnel, as tls://
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "policies/engine/path.h"
#include "policies/engine/policy.h"
#include "policies/engine/record_type.h"
#include "policies/engine/verdict.h"

namespace sallyport::policy {

struct Question {
  enum class Kind : std::uint8_t { kRequest, kTls, kTcp, kName, kRecord };
  Kind kind;
  Target target;
  Port port;                                            // of kRequest, kTls and kTcp
  std::string method = {};                              // of kRequest
  std::optional<CanonicalTarget> path = std::nullopt;   // of kRequest
  std::string content_type = {};                        // of kRequest; when not empty the request has a body of that type
  RecordType record = kRecordA;                         // of kRecord
  bool hidden_path = false;                             // https://: method and path were written and are not looked at

  // kInvalid with one sentence that says what is wrong and what to write.
  static Result<Question> parse(std::string_view text);
  // In the form that parse reads.
  std::string text() const;
};

// What the policy says, whichever decide_* answers it. A readable connection is not a tunnel: kTls or kTcp where only http://
// rules are is denied with kNotHttp.
Verdict ask(const CompiledPolicy& policy, const Question& question);

}  // namespace sallyport::policy
