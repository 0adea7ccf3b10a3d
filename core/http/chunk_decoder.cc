#include "core/http/chunk_decoder.h"

#include <algorithm>

#include "core/http/syntax.h"

namespace sallyport::http {
namespace {

constexpr std::uint8_t kMaxDigits = 16;
constexpr std::uint64_t kMaxChunk = 0x7fff'ffff'ffff'ffff;

unsigned hex_value(char c) noexcept { return static_cast<unsigned>(c <= '9' ? c - '0' : lower(c) - 'a' + 10); }

}  // namespace

ChunkDecoder::Step ChunkDecoder::refuse(std::size_t consumed, const char* reason) noexcept {
  at_ = At::kRefused;
  reason_ = reason;
  return {State::kRefused, consumed, {}, reason};
}

const char* ChunkDecoder::count_framing() noexcept {
  if (++line_ > limits_.max_line_bytes) return "a line of the chunked coding is too long";
  if (++framing_ > limits_.max_framing_bytes) return "chunk extensions and trailers are too long in all";
  return nullptr;
}

// One byte of framing; a fault is static text.
const char* ChunkDecoder::take(char c) noexcept {
  switch (at_) {
    case At::kSizeFirst:
      line_ = 0;
      digits_ = 0;
      left_ = 0;
      if (!is_byte(c, kHexByte)) return "a chunk size is missing or not hexadecimal";
      at_ = At::kSize;
      [[fallthrough]];
    case At::kSize:
      if (is_byte(c, kHexByte)) {
        if (++digits_ > kMaxDigits || left_ > kMaxChunk >> 4) return "a chunk size is too large";
        left_ = (left_ << 4) | hex_value(c);
        return nullptr;
      }
      if (c == '\r') {
        at_ = At::kSizeLf;
        return nullptr;
      }
      if (c != ';') return "a chunk size is followed by something other than CR LF or an extension";
      at_ = At::kExtension;
      return count_framing();
    case At::kExtension:
      if (c == '\r') {
        at_ = At::kSizeLf;
        return nullptr;
      }
      if (!is_byte(c, kValueByte)) return "a chunk extension holds a control byte";
      return count_framing();
    case At::kSizeLf:
      if (c != '\n') return "a chunk size line does not end in CR LF";
      at_ = left_ == 0 ? At::kTrailerFirst : At::kData;
      return nullptr;
    case At::kDataCr:
      if (c != '\r') return "chunk data is not followed by CR LF";
      at_ = At::kDataLf;
      return nullptr;
    case At::kDataLf:
      if (c != '\n') return "chunk data is not followed by CR LF";
      at_ = At::kSizeFirst;
      return nullptr;
    case At::kTrailerFirst:
      line_ = 0;
      if (c == '\r') {
        at_ = At::kEndLf;
        return nullptr;
      }
      if (!is_byte(c, kTokenByte)) return "a trailer line does not begin with a name";
      if (++trailers_ > limits_.max_trailers) return "too many trailer fields";
      at_ = At::kTrailerName;
      return count_framing();
    case At::kTrailerName:
      if (c == ':') {
        at_ = At::kTrailerValue;
      } else if (!is_byte(c, kTokenByte)) {
        return "a trailer line has no colon behind its name";
      }
      return count_framing();
    case At::kTrailerValue:
      if (c == '\r') {
        at_ = At::kTrailerLf;
        return nullptr;
      }
      if (!is_byte(c, kValueByte)) return "a trailer value holds a control byte";
      return count_framing();
    case At::kTrailerLf:
      if (c != '\n') return "a trailer line does not end in CR LF";
      at_ = At::kTrailerFirst;
      return nullptr;
    case At::kEndLf:
      if (c != '\n') return "the chunked coding does not end in CR LF";
      at_ = At::kDone;
      return nullptr;
    case At::kData:
    case At::kDone:
    case At::kRefused:
      break;
  }
  return "the chunked coding is over";
}

ChunkDecoder::Step ChunkDecoder::decode(std::string_view in) noexcept {
  if (at_ == At::kDone) return {State::kDone, 0, {}, ""};
  if (at_ == At::kRefused) return {State::kRefused, 0, {}, reason_};
  for (std::size_t i = 0; i < in.size();) {
    if (at_ == At::kData) {
      auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, in.size() - i));
      left_ -= size;
      data_bytes_ += size;
      if (left_ == 0) at_ = At::kDataCr;
      return {State::kData, i + size, in.substr(i, size), ""};
    }
    if (const char* fault = take(in[i])) return refuse(i, fault);
    ++i;
    if (at_ == At::kDone) return {State::kDone, i, {}, ""};
  }
  return {State::kNeedMore, in.size(), {}, ""};
}

}  // namespace sallyport::http
