// Fields: the header fields of one parsed message, in order, as views into the buffer it was parsed from.
//
// Only the head parsers fill it, so every name in it is a token and every value free of CR, LF, NUL and other control
// bytes (RFC 9110 section 5.5; HTAB and obs-text may occur). Views are valid while that buffer is neither moved nor
// written. Fixed capacity, no allocation, 2 KiB. Names compare without regard to case.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace sallyport::http {

// Field names that some part of Sallyport treats specially. kOther is everything else.
enum class FieldId : std::uint8_t {
  kOther,
  kAcceptEncoding,
  kAltSvc,
  kAuthorization,
  kConnection,
  kContentLength,
  kContentType,
  kCookie,
  kExpect,
  kForwarding,  // Forwarded, Via, X-Forwarded-*, X-Real-IP and their kin: names or forges who asks
  kHost,
  kHttp2Settings,
  kKeepAlive,
  kMaxForwards,
  kMethodOverride,  // X-HTTP-Method-Override and its kin: another method than policy saw
  kProxy,           // Proxy-*: between client and proxy, or proxy and proxy
  kRange,
  kTargetOverride,  // X-Original-URL and its kin: another target than policy saw
  kTe,
  kTrailer,
  kTransferEncoding,
  kUnderscoreAlias,  // a special name spelt with '_' for '-', which CGI-like origins read as that name
  kUpgrade,
};

// The id of a field name, without regard to case.
FieldId field_id(std::string_view name) noexcept;

// ASCII comparison without regard to case.
bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

struct Field {
  std::string_view name;   // as the sender spelt it
  std::string_view value;  // without surrounding white space
  FieldId id = FieldId::kOther;
  bool listed = false;  // named in the message's Connection field: hop-by-hop
};

class Fields {
 public:
  static constexpr std::size_t kCapacity = 128;

  class Iterator {
   public:
    Iterator(const Fields* fields, std::size_t at) noexcept : fields_(fields), at_(at) {}
    Field operator*() const noexcept { return (*fields_)[at_]; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) noexcept = default;

   private:
    const Fields* fields_;
    std::size_t at_;
  };

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  // `index` below size().
  Field operator[](std::size_t index) const noexcept {
    const Entry& e = entries_[index];
    return {{base_ + e.name, e.name_size}, {base_ + e.value, e.value_size}, e.id, e.listed};
  }
  Iterator begin() const noexcept { return {this, 0}; }
  Iterator end() const noexcept { return {this, size_}; }

  // The value of the first field with this id or name; nullopt if there is none. Look at count() where a second one
  // would matter: the parsers refuse repeats of Host, Content-Length, Transfer-Encoding and Expect only.
  std::optional<std::string_view> find(FieldId id) const noexcept;
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  std::size_t count(FieldId id) const noexcept;
  std::size_t count(std::string_view name) const noexcept;

 private:
  friend class HeadReader;
  struct Entry {
    std::uint32_t name, value, value_size;
    std::uint16_t name_size;
    FieldId id;
    bool listed;
  };

  const char* base_ = nullptr;
  std::size_t size_ = 0;
  std::array<Entry, kCapacity> entries_;  // the first size_ are set
};

}  // namespace sallyport::http
