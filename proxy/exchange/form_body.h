// FormBody: whether a request's body is a form that a server may read a method from (policy-006).
#pragma once

#include <cstdint>
#include <string_view>

#include "core/http/fields.h"

namespace sallyport::proxy {

enum class FormBody : std::uint8_t {
  kNo,
  kPlain,    // application/x-www-form-urlencoded, readable as it is
  kEncoded,  // the same inside a content coding
};

// By Content-Type and Content-Encoding, whatever their case, parameters and number: a field that mentions the form's type counts.
FormBody form_body(const http::Fields& fields) noexcept;

// ASCII search without regard to case; `part` is in lower case.
bool contains_ignoring_case(std::string_view text, std::string_view part) noexcept;

}  // namespace sallyport::proxy
