// Result<T>: a value or the Error that prevented it. Functions that can fail return it; nothing throws across
// an interface. A denial by policy is not an Error but a policy::Verdict.
//
// Propagate with BOOST_OUTCOME_TRY(auto x, call()) and, in coroutines, BOOST_OUTCOME_CO_TRY(auto x, std::move(r))
// on an already awaited result.
#pragma once

#include <boost/outcome/basic_result.hpp>
#include <boost/outcome/policy/terminate.hpp>
#include <boost/outcome/success_failure.hpp>
#include <boost/outcome/try.hpp>
#include <string>
#include <string_view>
#include <utility>

namespace sallyport {

enum class ErrorKind {
  kDenied,        // a check refused it
  kInvalid,       // input does not have the required form
  kTimedOut,      // a deadline passed
  kOverloaded,    // a named maximum is reached
  kDisconnected,  // the other side went away
  kUnavailable,   // something needed is not there now
  kInternal,      // a bug or an impossible answer of the system
};

std::string_view to_string(ErrorKind kind) noexcept;

// Why something failed. `code` is an errno value or a number of the failing part (0: none). `detail` is one
// line for an operator: what, where, what to do; text from outside in it is already escaped.
struct [[nodiscard]] Error {
  ErrorKind kind = ErrorKind::kInternal;
  int code = 0;
  std::string detail;

  static Error make(ErrorKind kind, std::string detail) { return Error{kind, 0, std::move(detail)}; }
  // From errno as it stands; `what` names the failed step. EAGAIN-like codes are kUnavailable,
  // EPERM/EACCES kDenied, ETIMEDOUT kTimedOut, resets kDisconnected, EMFILE/ENOMEM kOverloaded, else kInternal.
  static Error from_errno(std::string_view what);
  static Error from_errno(std::string_view what, int code);

  // "denied: detail"
  std::string to_string() const;
};

template <class T>
using Result = BOOST_OUTCOME_V2_NAMESPACE::basic_result<T, Error, BOOST_OUTCOME_V2_NAMESPACE::policy::terminate>;

inline auto success() { return BOOST_OUTCOME_V2_NAMESPACE::success(); }

// `return fail(ErrorKind::kInvalid, "port: …");`
inline auto fail(ErrorKind kind, std::string detail) {
  return BOOST_OUTCOME_V2_NAMESPACE::failure(Error::make(kind, std::move(detail)));
}
inline auto fail(Error error) { return BOOST_OUTCOME_V2_NAMESPACE::failure(std::move(error)); }
inline auto fail_errno(std::string_view what) { return BOOST_OUTCOME_V2_NAMESPACE::failure(Error::from_errno(what)); }

}  // namespace sallyport
