#include "core/http/chunk_decoder.h"

#include <gtest/gtest.h>

#include <string>

#include "core/http/writer.h"

namespace sallyport::http {
namespace {

using namespace std::string_literals;
using State = ChunkDecoder::State;

struct Outcome {
  State state = State::kNeedMore;
  std::string body;
  std::size_t consumed = 0;
  std::string reason;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Feeds pieces of `size` bytes until an end.
Outcome decode(std::string_view text, std::size_t size, ChunkDecoder::Limits limits = {}) {
  ChunkDecoder decoder(limits);
  Outcome out;
  while (out.consumed < text.size()) {
    auto step = decoder.decode(text.substr(out.consumed, size));
    out.state = step.state;
    out.consumed += step.consumed;
    out.body += step.data;
    out.reason = step.reason;
    if (step.state == State::kDone || step.state == State::kRefused) break;
  }
  if (out.state == State::kData) out.state = State::kNeedMore;
  EXPECT_EQ(decoder.data_bytes(), out.body.size());
  EXPECT_EQ(decoder.done(), out.state == State::kDone);
  return out;
}

Outcome decode(std::string_view text, ChunkDecoder::Limits limits = {}) {
  Outcome whole = decode(text, text.size(), limits);
  for (std::size_t size : {1u, 2u, 3u, 7u})
    EXPECT_EQ(decode(text, size, limits), whole) << text << " in pieces of " << size;
  return whole;
}

void expect_refused(std::string_view text) { EXPECT_EQ(decode(text).state, State::kRefused) << text; }

TEST(ChunkDecoder, ReadsChunksAndStopsBehindThem) {
  std::string text = "5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n";
  auto out = decode(text + "GET / HTTP/1.1\r\n");
  EXPECT_EQ(out.state, State::kDone);
  EXPECT_EQ(out.body, "hello0123456789");
  EXPECT_EQ(out.consumed, text.size());
  EXPECT_EQ(decode("0\r\n\r\n").state, State::kDone);
}

TEST(ChunkDecoder, PointsIntoItsInput) {
  std::string text = "5\r\nhello\r\n";
  ChunkDecoder decoder;
  auto step = decoder.decode(text);
  ASSERT_EQ(step.state, State::kData);
  EXPECT_EQ(step.data.data(), text.data() + 3);
  EXPECT_EQ(step.consumed, 8u);
  step = decoder.decode(std::string_view(text).substr(8));
  EXPECT_EQ(step.state, State::kNeedMore);
  EXPECT_EQ(step.consumed, 2u);
}

// http1-014
TEST(ChunkDecoder, DeniesLooseSizes) {
  for (const char* size : {"0x5", "+5", "-0", "5_0", "5 ", "", "1zz", "fffffffffffffffff1", " 5", "5\t",
                           "8000000000000000", "00000000000000005", "g", "5.", "\"5\"", "5,5", "5 ;x"})
    expect_refused(size + "\r\nhello\r\n0\r\n\r\n"s);
  for (const char* size : {"5", "05", "0000000000000005", "5;", "5;x", "5;x=\"y z\"", "5;\tx"})
    EXPECT_EQ(decode(size + "\r\nhello\r\n0\r\n\r\n"s).body, "hello") << size;
}

TEST(ChunkDecoder, DeniesEveryByteThatIsNoSize) {
  for (int c = 0; c < 256; ++c) {
    auto out = decode("1"s + static_cast<char>(c));
    bool fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == ';' || c == '\r';
    EXPECT_EQ(out.state == State::kRefused, !fine) << c;
  }
}

// http1-015
TEST(ChunkDecoder, DeniesBareLineEnds) {
  for (const char* text : {"5\nhello\r\n0\r\n\r\n", "5\r\rQ;zz\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello\r0\r\n\r\n",
                           "5\r\nhello\r\n0\n\r\n", "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\r\nX: y\n\r\n",
                           "5;x\nhello\r\n0\r\n\r\n", "0\r\n\rX"})
    expect_refused(text);
}

// http1-016
TEST(ChunkDecoder, DeniesControlBytesAndBoundsExtensions) {
  expect_refused("3;\0q\r\nabc\r\n0\r\n\r\n"s);
  for (int c = 0; c < 0x20; ++c)
    if (c != '\t' && c != '\r') expect_refused("3;q"s + static_cast<char>(c) + "\r\nabc\r\n0\r\n\r\n");
  std::string flood;
  for (int i = 0; i < 17; ++i) flood += "1;" + std::string(3999, 'x') + "\r\na\r\n";
  flood += "0\r\n\r\n";
  expect_refused(flood);
  expect_refused("1;" + std::string(5000, 'x') + "\r\na\r\n0\r\n\r\n");
  EXPECT_EQ(decode("1;" + std::string(3999, 'x') + "\r\na\r\n0\r\n\r\n").body, "a");
}

// http1-017
TEST(ChunkDecoder, DeniesDataWithoutLineEnd) {
  expect_refused("5\r\nhelloXX0\r\n\r\n");
  expect_refused("5\r\nhelloX\n0\r\n\r\n");
  expect_refused("5\r\nhello\rX0\r\n\r\n");
  expect_refused("\r\n\r\n");
  expect_refused("5\r\nhello\r\n\r\n0\r\n\r\n");
  expect_refused("5\r\nhell\r\n0\r\n\r\n");
  // A trailer named Y, consumed and dropped; nothing of it is a request.
  auto out = decode("0\r\nY:PUT / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(out.state, State::kDone);
  EXPECT_EQ(out.body, "");
}

// http1-018
TEST(ChunkDecoder, ConsumesAndDropsTrailers) {
  std::string text =
      "3\r\nabc\r\n0\r\nHost: denied.test\r\nContent-Length: 9\r\nAuthorization: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n";
  auto out = decode(text + "rest");
  EXPECT_EQ(out.state, State::kDone);
  EXPECT_EQ(out.body, "abc");
  EXPECT_EQ(out.consumed, text.size());
}

TEST(ChunkDecoder, DeniesMalformedAndExcessiveTrailers) {
  for (auto trailer : {"X"s, "X y: z"s, ": y"s, " X: y"s, "X : y"s, "X: a\0b"s, "X: a\r b"s, "X\0: b"s})
    expect_refused("0\r\n" + trailer + "\r\n\r\n");
  ChunkDecoder::Limits limits;
  limits.max_trailers = 2;
  EXPECT_EQ(decode("0\r\nA: b\r\nC: d\r\n\r\n", limits).state, State::kDone);
  EXPECT_EQ(decode("0\r\nA: b\r\nC: d\r\nE: f\r\n\r\n", limits).state, State::kRefused);
  limits.max_line_bytes = 5;
  EXPECT_EQ(decode("0\r\nA: bc\r\n\r\n", limits).state, State::kDone);
  EXPECT_EQ(decode("0\r\nA: bcd\r\n\r\n", limits).state, State::kRefused);
}

TEST(ChunkDecoder, StaysAtItsEnd) {
  ChunkDecoder decoder;
  EXPECT_EQ(decoder.decode("0\r\n\r\n").state, State::kDone);
  auto again = decoder.decode("5\r\n");
  EXPECT_EQ(again.state, State::kDone);
  EXPECT_EQ(again.consumed, 0u);
  ChunkDecoder refused;
  auto first = refused.decode("zz");
  EXPECT_EQ(first.state, State::kRefused);
  auto second = refused.decode("0\r\n\r\n");
  EXPECT_EQ(second.state, State::kRefused);
  EXPECT_EQ(second.consumed, 0u);
  EXPECT_STREQ(second.reason, first.reason);
}

TEST(ChunkDecoder, ReadsWhatTheWriterWrites) {
  for (std::uint64_t size : {std::uint64_t{1}, std::uint64_t{15}, std::uint64_t{16}, std::uint64_t{255},
                             std::uint64_t{65536}, std::uint64_t{1'000'000}}) {
    std::string body(size, 'b');
    std::string text = std::string(ChunkPrefix(size).text()) + body + std::string(kChunkEnd) + std::string(kLastChunk);
    auto out = decode(text, text.size());
    EXPECT_EQ(out.state, State::kDone);
    EXPECT_EQ(out.body, body);
    EXPECT_EQ(out.consumed, text.size());
  }
  EXPECT_EQ(ChunkPrefix(0x7fff'ffff'ffff'ffff).text(), "7fffffffffffffff\r\n");
  EXPECT_EQ(ChunkPrefix(~std::uint64_t{0}).text(), "ffffffffffffffff\r\n");
}

}  // namespace
}  // namespace sallyport::http
