// The chunk decoder: the same body and end however the bytes are cut, data out of the input only, and agreement with a
// plain second reading of the coding on everything that it accepts.
#include <string>

#include "core/http/chunk_decoder.h"
#include "core/http/fuzz_check.h"
#include "core/http/writer.h"

namespace sallyport::http {
namespace {

using State = ChunkDecoder::State;

struct Outcome {
  State state = State::kNeedMore;
  std::size_t consumed = 0;
  std::string body;
};

template <class NextSize>
Outcome decode(std::string_view text, NextSize next_size) {
  ChunkDecoder decoder;
  Outcome out;
  while (out.consumed < text.size() && out.state != State::kDone && out.state != State::kRefused) {
    std::string_view piece = text.substr(out.consumed, next_size());
    auto step = decoder.decode(piece);
    require(step.consumed <= piece.size(), "no more is taken than there is");
    require(step.state == State::kData || step.data.empty(), "data comes as data");
    if (step.state == State::kData) {
      require(!step.data.empty(), "data is never empty");
      require(step.data.data() >= piece.data() && step.data.data() + step.data.size() == piece.data() + step.consumed,
              "data lies in the input");
    }
    require(step.state != State::kNeedMore || step.consumed == piece.size(), "all is taken before more is asked for");
    out.consumed += step.consumed;
    out.body += step.data;
    out.state = step.state == State::kData ? State::kNeedMore : step.state;
  }
  return out;
}

// For accepted input only: sizes by strtoull, lines by find.
std::string read_plainly(std::string_view text) {
  std::string body;
  for (;;) {
    std::size_t size = std::stoull(std::string(text.substr(0, text.find_first_of("\r;"))), nullptr, 16);
    text.remove_prefix(text.find("\r\n") + 2);
    if (size == 0) return body;
    body += text.substr(0, size);
    require(text.substr(size, 2) == "\r\n", "data is followed by CR LF");
    text.remove_prefix(size + 2);
  }
}

}  // namespace
}  // namespace sallyport::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport::http;
  std::string_view text = as_text(data, size);
  Outcome whole = decode(text, [&] { return text.size(); });
  Cuts cuts(text);
  Outcome cut = decode(text, [&] { return cuts.next(); });
  require(whole.state == cut.state && whole.consumed == cut.consumed && whole.body == cut.body,
          "the outcome does not depend on the cuts");
  if (whole.state != State::kDone) return 0;
  require(text.substr(0, whole.consumed).ends_with("\r\n"), "the coding ends in CR LF");
  require(read_plainly(text) == whole.body, "a plain reading gives the same body");
  std::string again;
  if (!whole.body.empty()) again.append(ChunkPrefix(whole.body.size()).text()).append(whole.body).append(kChunkEnd);
  again += kLastChunk;
  Outcome written = decode(again, [&] { return again.size(); });
  require(written.state == State::kDone && written.body == whole.body && written.consumed == again.size(),
          "what is written reads back");
  return 0;
}
