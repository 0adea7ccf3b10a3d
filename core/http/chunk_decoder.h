// ChunkDecoder: the chunked transfer coding taken apart, incrementally and without copying (RFC 9112 section 7.1).
//
// Input is hostile. Sizes are 1 to 16 hexadecimal digits and nothing else; CR LF ends every line; extensions are
// checked for control bytes, counted and dropped; trailer fields are checked as header fields are, counted and dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sallyport::http {

class ChunkDecoder {
 public:
  struct Limits {
    std::uint64_t max_framing_bytes =
        64 * 1024;                          // extensions and trailers of the whole body, names and line ends included
    std::size_t max_line_bytes = 4 * 1024;  // one size line or trailer line
    std::size_t max_trailers = 64;
  };

  enum class State : std::uint8_t {
    kNeedMore,  // all input was taken (consumed == size) and no data is in hand
    kData,      // `data` is body; call again with the input behind `consumed`
    kDone,      // the body ended at `consumed`; what follows is not part of it
    kRefused,   // not chunked coding as required: end the exchange and both connections
  };

  struct Step {
    State state;
    std::size_t consumed;   // bytes of the input taken, `data` included
    std::string_view data;  // part of the input; kData only, never empty
    const char* reason;     // kRefused only, static ASCII
  };

  ChunkDecoder() noexcept = default;
  explicit ChunkDecoder(const Limits& limits) noexcept : limits_(limits) {}

  // Takes as much of `in` as yields one piece of data or an end. After kDone or kRefused it returns the same again and
  // takes nothing.
  Step decode(std::string_view in) noexcept;

  // Body bytes handed out so far.
  std::uint64_t data_bytes() const noexcept { return data_bytes_; }
  bool done() const noexcept { return at_ == At::kDone; }

 private:
  enum class At : std::uint8_t {
    kSizeFirst,
    kSize,
    kExtension,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerFirst,
    kTrailerName,
    kTrailerValue,
    kTrailerLf,
    kEndLf,
    kDone,
    kRefused,
  };

  Step refuse(std::size_t consumed, const char* reason) noexcept;
  const char* take(char c) noexcept;
  const char* count_framing() noexcept;

  Limits limits_;
  At at_ = At::kSizeFirst;
  std::uint8_t digits_ = 0;
  std::size_t line_ = 0;
  std::size_t trailers_ = 0;
  std::uint64_t left_ = 0;  // of the chunk
  std::uint64_t framing_ = 0;
  std::uint64_t data_bytes_ = 0;
  const char* reason_ = "";
};

}  // namespace sallyport::http
