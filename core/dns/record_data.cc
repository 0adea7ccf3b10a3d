#include "core/dns/record_data.h"

#include <algorithm>
#include <array>

#include "core/dns/name.h"
#include "core/dns/wire.h"

namespace sallyport::dns {
namespace {

// The pieces of which RDATA is made, in order.
enum class Piece {
  kByte,
  kU16,
  kU32,
  kName,
  kText,   // a character-string: a length and that many bytes
  kTexts,  // one or more of them, to the end
  kTag,    // a character-string of ASCII letters and digits, at least one
  kRest,   // at least one byte, to the end
};

struct Form {
  Type type;
  std::array<Piece, 7> pieces;
  std::size_t count;
};

template <class... Pieces>
constexpr Form form(Type type, Pieces... pieces) {
  return {type, {pieces...}, sizeof...(pieces)};
}

constexpr Form kForms[] = {
    form(Type::kNs, Piece::kName),
    form(Type::kCname, Piece::kName),
    form(Type::kSoa, Piece::kName, Piece::kName, Piece::kU32, Piece::kU32, Piece::kU32, Piece::kU32, Piece::kU32),
    form(Type::kMx, Piece::kU16, Piece::kName),
    form(Type::kTxt, Piece::kTexts),
    form(Type::kSrv, Piece::kU16, Piece::kU16, Piece::kU16, Piece::kName),
    form(Type::kNaptr, Piece::kU16, Piece::kU16, Piece::kText, Piece::kText, Piece::kText, Piece::kName),
    form(Type::kDs, Piece::kU16, Piece::kByte, Piece::kByte, Piece::kRest),
    form(Type::kSshfp, Piece::kByte, Piece::kByte, Piece::kRest),
    form(Type::kDnskey, Piece::kU16, Piece::kByte, Piece::kByte, Piece::kRest),
    form(Type::kTlsa, Piece::kByte, Piece::kByte, Piece::kByte, Piece::kRest),
    form(Type::kSmimea, Piece::kByte, Piece::kByte, Piece::kByte, Piece::kRest),
    form(Type::kOpenpgpkey, Piece::kRest),
    form(Type::kUri, Piece::kU16, Piece::kU16, Piece::kRest),
    form(Type::kCaa, Piece::kByte, Piece::kTag, Piece::kRest),
};

const Form* form_of(Type type) noexcept {
  auto found = std::ranges::find(kForms, type, &Form::type);
  return found == std::end(kForms) ? nullptr : &*found;
}

bool is_alphanumeric(std::uint8_t c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// Reads from `at` to `end` of a message and appends what it read.
class Copier {
 public:
  Copier(std::span<const std::uint8_t> message, std::size_t at, std::size_t end) : message_(message), at_(at), end_(end) {}

  bool copy(Piece piece) {
    switch (piece) {
      case Piece::kByte:
        return bytes(1);
      case Piece::kU16:
        return bytes(2);
      case Piece::kU32:
        return bytes(4);
      case Piece::kName:
        return name();
      case Piece::kText:
        return text().has_value();
      case Piece::kTexts:
        do {
          if (!text()) return false;
        } while (at_ < end_);
        return true;
      case Piece::kTag: {
        auto tag = text();
        return tag && !tag->empty() && std::ranges::all_of(*tag, is_alphanumeric);
      }
      case Piece::kRest:
        return at_ < end_ && bytes(end_ - at_);
    }
    return false;
  }
  bool at_end() const noexcept { return at_ == end_; }
  std::vector<std::uint8_t> take() && { return std::move(out_); }

 private:
  bool bytes(std::size_t size) {
    if (end_ - at_ < size) return false;
    auto from = message_.subspan(at_, size);
    out_.insert(out_.end(), from.begin(), from.end());
    at_ += size;
    return true;
  }
  bool name() {
    auto read = Name::read(message_, at_);
    if (!read || at_ > end_) return false;
    out_.insert(out_.end(), read->wire().begin(), read->wire().end());
    return true;
  }
  std::optional<std::span<const std::uint8_t>> text() {
    if (at_ >= end_) return std::nullopt;
    std::size_t size = message_[at_];
    auto inside = message_.subspan(at_ + 1, std::min(size, end_ - at_ - 1));
    if (!bytes(1 + size)) return std::nullopt;
    return inside;
  }

  std::span<const std::uint8_t> message_;
  std::size_t at_, end_;
  std::vector<std::uint8_t> out_;
};

}  // namespace

bool has_record_data(Type type) noexcept { return form_of(type) != nullptr; }

std::optional<std::vector<std::uint8_t>> canonical_record_data(Type type, std::span<const std::uint8_t> message,
                                                               std::size_t at, std::size_t length) {
  const Form* form = form_of(type);
  if (form == nullptr || at > message.size() || length > message.size() - at) return std::nullopt;
  Copier copier(message, at, at + length);
  for (std::size_t i = 0; i < form->count; ++i)
    if (!copier.copy(form->pieces[i])) return std::nullopt;
  if (!copier.at_end()) return std::nullopt;
  return std::move(copier).take();
}

}  // namespace sallyport::dns
