#include "proxy/exchange/form_body.h"

#include <algorithm>

namespace sallyport::proxy {

bool contains_ignoring_case(std::string_view text, std::string_view part) noexcept {
  auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; };
  return std::search(text.begin(), text.end(), part.begin(), part.end(), same) != text.end();
}

FormBody form_body(const http::Fields& fields) noexcept {
  bool is_form = false, encoded = false;
  for (auto field : fields) {
    if (field.id == http::FieldId::kContentType) is_form = is_form || contains_ignoring_case(field.value, "application/x-www-form-urlencoded");
    if (http::equal_ignoring_case(field.name, "content-encoding"))
      encoded = encoded || !http::equal_ignoring_case(field.value, "identity");
  }
  if (!is_form) return FormBody::kNo;
  return encoded ? FormBody::kEncoded : FormBody::kPlain;
}

}  // namespace sallyport::proxy
