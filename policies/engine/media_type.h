// Media types (RFC 9110 section 8.3.1) of `content_type:` and of requests.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport::policy {

// What a request says of its body: to be given every field of the head. Borrows the value it saw.
class ContentType {
 public:
  void see(std::string_view field_name, std::string_view value) noexcept;
  void set_body(bool has_body) noexcept { has_body_ = has_body; }

  bool has_body() const noexcept { return has_body_; }
  std::size_t fields() const noexcept { return fields_; }
  // Of the first field; empty when there is none.
  std::string_view value() const noexcept { return value_; }

 private:
  std::string_view value_;
  std::size_t fields_ = 0;
  bool has_body_ = false;
};

// "application/json" of "Application/JSON; charset=utf-8": lower-case, without parameters. Nothing when the value is no single
// media type.
std::optional<std::string> media_type_of(std::string_view value);

}  // namespace sallyport::policy
