#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "control/audit_log/line.h"
#include "control/audit_log/tail.h"
#include "control/audit_log/verify.h"
#include "core/base/unique_fd.h"

namespace sallyport::audit_log {
namespace {

// Makes lines as the audit process does.
class Writer {
 public:
  void add(const std::string& kind, const std::string& rest = {}) {
    std::string line = "{\"seq\":" + std::to_string(++last_.sequence) + ",\"time\":\"2026-01-02T03:04:05.000006Z\",\"kind\":\"" +
                       kind + "\"" + rest;
    last_.hash = seal_line(hasher_, last_.hash, line, 0);
    lines_.push_back(line);
  }
  void add_torn(const std::string& torn) {
    lines_.push_back(torn);
    Hasher hasher;
    hasher.add(torn);
    add("recovered", ",\"torn_bytes\":" + std::to_string(torn.size()) + ",\"torn_sha256\":\"" + to_hex(hasher.finish()) + "\"");
  }
  const Anchor& last() const { return last_; }
  std::vector<std::string> lines_;

 private:
  Hasher hasher_;
  Anchor last_;
};

std::string join(const std::vector<std::string>& lines) {
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

VerifyReport check(const std::string& text, const VerifyOptions& options = {}) {
  UniqueFd fd(::memfd_create("log", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::lseek(fd.get(), 0, SEEK_SET);
  return verify(fd.get(), options).value();
}

Writer sample(int records = 12) {
  Writer writer;
  writer.add("opened");
  for (int i = 1; i < records; ++i) writer.add("decision", ",\"task\":\"t-1\",\"verdict\":\"deny\",\"port\":" + std::to_string(i));
  return writer;
}

TEST(Verify, AcceptsAWholeLog) {
  Writer writer = sample();
  VerifyReport report = check(join(writer.lines_));
  EXPECT_TRUE(report.sound()) << render_text(report);
  EXPECT_EQ(report.records, 12u);
  EXPECT_EQ(report.first.sequence, 1u);
  EXPECT_EQ(report.last, writer.last());
  EXPECT_EQ(nlohmann::json::parse(render_json(report))["last"]["seq"], 12);
}

TEST(Verify, DeniesAnEmptyLog) { EXPECT_FALSE(check("").sound()); }

// Property: any single bit flipped anywhere is found.
TEST(Verify, DeniesEveryFlippedBit) {
  std::string whole = join(sample(4).lines_);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = whole;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      EXPECT_FALSE(check(changed).sound()) << "byte " << at << " bit " << bit;
    }
  }
}

// The last line is not protected by a later one: cutting at a line's end is found only with an anchor kept elsewhere.
TEST(Verify, DeniesEveryTruncationExceptAtALineEnd) {
  Writer writer = sample(5);
  std::string whole = join(writer.lines_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::string cut = whole.substr(0, size);
    bool at_line_end = size != 0 && cut.back() == '\n';
    EXPECT_EQ(check(cut).sound(), at_line_end) << size;
    EXPECT_FALSE(check(cut, {.expected = {writer.last()}}).sound()) << size;
  }
  EXPECT_TRUE(check(whole, {.expected = {writer.last()}}).sound());
}

TEST(Verify, DeniesEveryRemovedLineButTheLast) {
  Writer writer = sample();
  for (std::size_t at = 0; at + 1 < writer.lines_.size(); ++at) {
    auto lines = writer.lines_;
    lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
    VerifyReport report = check(join(lines));
    EXPECT_FALSE(report.sound()) << at;
    EXPECT_EQ(report.faults[0].line, at + 1) << render_text(report);
    EXPECT_EQ(report.fault_count, 1u) << "one hole, one fault\n" << render_text(report);
  }
}

TEST(Verify, DeniesEverySwappedPairAndEveryRepeatedLine) {
  Writer writer = sample();
  for (std::size_t a = 0; a < writer.lines_.size(); ++a) {
    for (std::size_t b = a + 1; b < writer.lines_.size(); ++b) {
      auto lines = writer.lines_;
      std::swap(lines[a], lines[b]);
      EXPECT_FALSE(check(join(lines)).sound()) << a << " " << b;
    }
    auto lines = writer.lines_;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(a), lines[a]);
    EXPECT_FALSE(check(join(lines)).sound()) << a;
  }
}

TEST(Verify, DeniesEveryInsertedLine) {
  Writer writer = sample();
  for (const std::string& inserted : {std::string("\n"), std::string("junk\n"), sample(3).lines_[2]}) {
    for (std::size_t at = 0; at <= writer.lines_.size(); ++at) {
      auto lines = writer.lines_;
      if (at < lines.size() && lines[at] == inserted) continue;
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), inserted);
      EXPECT_FALSE(check(join(lines)).sound()) << at << " " << inserted;
    }
  }
}

// A line made with a right hash of its own, put in place of another, does not carry the rest.
TEST(Verify, DeniesAResealedLine) {
  Writer writer = sample();
  Writer other = sample(5);
  other.add("decision", ",\"task\":\"t-1\",\"verdict\":\"allow\"");
  writer.lines_[5] = other.lines_[5];
  VerifyReport report = check(join(writer.lines_));
  EXPECT_FALSE(report.sound());
  EXPECT_EQ(report.faults[0].line, 7u);
}

TEST(Verify, RandomEditsAreFound) {
  std::mt19937 random(7);
  std::string whole = join(sample(30).lines_);
  for (int i = 0; i < 3000; ++i) {
    std::string changed = whole;
    std::size_t from = random() % whole.size(), size = 1 + random() % 300, to = random() % whole.size();
    switch (random() % 3) {
      case 0: changed.erase(from, size); break;
      case 1: changed.insert(to, whole.substr(from, size)); break;
      default: changed.replace(to, std::min(size, whole.size() - to), whole.substr(from, size)); break;
    }
    bool cut_at_line_end = whole.starts_with(changed) && !changed.empty() && changed.back() == '\n';
    EXPECT_EQ(check(changed).sound(), changed == whole || cut_at_line_end) << i;
  }
}

TEST(Verify, AcceptsATornEndThatARecoveredLineNames) {
  for (std::string torn : {std::string("{\"seq\":4,\"ti\n"), std::string(100'000, '\0') + "\n", std::string("a\nb\n\nc\n")}) {
    Writer writer = sample(3);
    writer.add_torn(torn);
    writer.add("opened");
    VerifyReport report = check(join(writer.lines_));
    EXPECT_TRUE(report.sound()) << render_text(report);
    EXPECT_EQ(report.notices.size(), 1u);
    EXPECT_EQ(report.records, 5u);
  }
}

TEST(Verify, DeniesATornEndThatIsChangedOrRemovedOrUnnamed) {
  Writer writer = sample(3);
  writer.add_torn("{\"seq\":4,\"ti\n");
  writer.add("opened");
  auto lines = writer.lines_;
  lines[3][5] ^= 1;
  EXPECT_FALSE(check(join(lines)).sound());
  lines = writer.lines_;
  lines.erase(lines.begin() + 3);
  EXPECT_FALSE(check(join(lines)).sound());
  lines = writer.lines_;
  lines.erase(lines.begin() + 4);
  EXPECT_FALSE(check(join(lines)).sound());
}

TEST(Verify, BoundsItsListOfFaults) {
  std::string junk;
  for (int i = 0; i < 5000; ++i) junk += "x\n";
  VerifyReport report = check(join(sample().lines_) + junk);
  EXPECT_EQ(report.fault_count, 5000u);
  EXPECT_EQ(report.faults.size(), VerifyReport::kMaxFaults);
}

TEST(ParseLine, DeniesWhatTheLogNeverHolds) {
  std::string hash(64, '0');
  auto with = [&](const std::string& middle) {
    return parse_line("{\"seq\":1,\"time\":\"t\",\"kind\":\"k\"" + middle + ",\"hash\":\"" + hash + "\"}").has_value();
  };
  EXPECT_TRUE(with(""));
  EXPECT_TRUE(with(",\"a\":\"\\u00e9\\\"\\\\\",\"b\":0"));
  for (std::string bad : {",\"a\":\"\x01\"", ",\"a\":\"\xc3\xa9\"", ",\"a\":\"\\n\"", ",\"a\":\"\\u00E9\"", ",\"a\":01", ",\"a\":-1",
                          ",\"a\":1.5", ",\"a\":1e3", ",\"a\":null", ",\"a\":true", ",\"a\":{}", ",\"a\":[]", ", \"a\":1", ",\"A\":1",
                          ",\"a\":1,\"a\":2", ",\"kind\":\"x\"", ",\"hash\":\"x\"", ",\"a\":\"\x7f\"", ",", ",\"a\"", ",\"a\":\"x"}) {
    EXPECT_FALSE(with(bad)) << bad;
  }
  EXPECT_FALSE(parse_line("{\"time\":\"t\",\"seq\":1,\"kind\":\"k\",\"hash\":\"" + hash + "\"}").has_value());
  EXPECT_FALSE(parse_line("{\"seq\":1,\"time\":\"t\",\"kind\":\"k\",\"hash\":\"" + hash + "\",\"a\":1}").has_value());
  EXPECT_FALSE(parse_line("").has_value());
}

class TailTest : public testing::Test {
 protected:
  TailTest() {
    char name[] = "/tmp/sallyport-tail-XXXXXX";
    fd_.reset(::mkstemp(name));
    path_ = name;
  }
  ~TailTest() override { ::unlink(path_.c_str()); }
  void append(const std::string& text) { ASSERT_EQ(::write(fd_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size())); }

  UniqueFd fd_;
  std::string path_;
};

TEST_F(TailTest, GivesTheLastLinesAndWhatIsAdded) {
  append("one\ntwo\nthree\n");
  Tail tail = Tail::open(path_, 2).value();
  EXPECT_EQ(tail.next().value(), "two");
  EXPECT_EQ(tail.next().value(), "three");
  EXPECT_EQ(tail.next().value(), std::nullopt);
  append("fo");
  EXPECT_EQ(tail.next().value(), std::nullopt);
  append("ur\n");
  EXPECT_EQ(tail.next().value(), "four");
}

TEST_F(TailTest, GivesAllWhenThereAreFewerAndNoneWhenNoneIsAsked) {
  append("one\ntwo\n");
  EXPECT_EQ(Tail::open(path_, 10).value().next().value(), "one");
  EXPECT_EQ(Tail::open(path_, 0).value().next().value(), std::nullopt);
}

TEST_F(TailTest, PassesOverLinesThatAreTooLong) {
  append(std::string(200'000, 'x') + "\nafter\n");
  Tail tail = Tail::open(path_, 5).value();
  EXPECT_EQ(tail.next().value(), "after");
}

// lifecycle-008: nothing raw reaches a terminal.
TEST(RenderLine, EscapesWhatIsNoLineOfTheLog) {
  std::string shown = render_line("\x1b[2J\r\nfake");
  for (char c : shown) EXPECT_TRUE(c >= 0x20 && c < 0x7f);
  Writer writer;
  writer.add("decision", ",\"task\":\"t-1\",\"verdict\":\"deny\",\"name_asked\":\"\\u001b[2J\",\"port\":443,\"reason\":\"no_rule\"");
  std::string line = writer.lines_[0];
  line.pop_back();
  EXPECT_EQ(render_line(line), "1 2026-01-02T03:04:05.000006Z decision t-1 deny \\u001b[2J:443 reason=no_rule");
}

}  // namespace
}  // namespace sallyport::audit_log
