#include "core/base/result.h"

#include <cerrno>
#include <system_error>

namespace sallyport {
namespace {

ErrorKind kind_of(int code) {
  switch (code) {
    case EPERM:
    case EACCES:
      return ErrorKind::kDenied;
    case EAGAIN:
    case ECONNREFUSED:
    case EHOSTUNREACH:
    case ENETUNREACH:
    case ENOENT:
      return ErrorKind::kUnavailable;
    case ETIMEDOUT:
      return ErrorKind::kTimedOut;
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
      return ErrorKind::kDisconnected;
    case EMFILE:
    case ENFILE:
    case ENOMEM:
    case ENOBUFS:
      return ErrorKind::kOverloaded;
    case EINVAL:
      return ErrorKind::kInvalid;
    default:
      return ErrorKind::kInternal;
  }
}

}  // namespace

std::string_view to_string(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::kDenied: return "denied";
    case ErrorKind::kInvalid: return "invalid";
    case ErrorKind::kTimedOut: return "timed out";
    case ErrorKind::kOverloaded: return "overloaded";
    case ErrorKind::kDisconnected: return "disconnected";
    case ErrorKind::kUnavailable: return "unavailable";
    case ErrorKind::kInternal: return "internal";
  }
  return "internal";
}

Error Error::from_errno(std::string_view what) { return from_errno(what, errno); }

Error Error::from_errno(std::string_view what, int code) {
  std::string detail(what);
  detail += ": ";
  detail += std::generic_category().message(code);
  return Error{kind_of(code), code, std::move(detail)};
}

std::string Error::to_string() const {
  std::string text(sallyport::to_string(kind));
  text += ": ";
  text += detail;
  return text;
}

}  // namespace sallyport
