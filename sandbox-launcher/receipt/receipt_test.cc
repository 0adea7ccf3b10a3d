#include "sandbox-launcher/receipt/receipt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace sallyport::launcher {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

Receipt example() {
  Receipt receipt;
  receipt.task = "t-1";
  receipt.policy_name = "catalog-report";
  receipt.policy_version = "3";
  receipt.command = {"curl", "-sS", "http://allowed.test/"};
  receipt.runtime.runtime = "runc";
  receipt.runtime.version = "runc version 1.1.5";
  receipt.runtime.host_uid = 1879114728;
  receipt.runtime.environment_names = {"HOME", "TOKEN"};
  receipt.runtime.limits = {{"memory", "536870912", "cgroup of the whole tree"}};
  receipt.started = std::chrono::system_clock::time_point(std::chrono::milliseconds(1700000000123));
  receipt.ended = receipt.started + std::chrono::milliseconds(1500);
  receipt.outcome = Outcome::kSuccess;
  receipt.exit = ExitStatus{ExitStatus::How::kExited, 0};
  receipt.exit_code = 0;
  receipt.stdout_bytes = 2048;
  receipt.network = {{"http://z.test:80", "http", 1, 0, 10, 20, ""},
                     {"http://a.test:80", "http", 0, 2, 0, 0, "no_rule"}};
  receipt.audit_first = AuditRecordRef{1, "aa"};
  receipt.audit_last = AuditRecordRef{9, "bb"};
  receipt.cleanup = {{"process tree", true, ""}, {"cgroup", true, ""}};
  return receipt;
}

TEST(Receipt, SaysWhatHappenedAndThatItIsNotSigned) {
  json document = json::parse(receipt_json(example()));
  EXPECT_EQ(document["receipt"], "sallyport-receipt/1");
  EXPECT_EQ(document["signed"], false);
  EXPECT_TRUE(document["signature"].is_null());
  EXPECT_EQ(document["started"], "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(document["ended"], "2023-11-14T22:13:21.623Z");
  EXPECT_EQ(document["outcome"], "success");
  EXPECT_EQ(document["exit"]["how"], "exited");
  EXPECT_EQ(document["network"][0]["destination"], "http://a.test:80");
  EXPECT_EQ(document["network"][0]["denied"], 2);
  EXPECT_EQ(document["runtime"]["limits"][0]["enforced_by"], "cgroup of the whole tree");
  EXPECT_EQ(document["runtime"]["environment"], json({"HOME", "TOKEN"}));
  EXPECT_EQ(document["audit"]["last"]["sequence"], 9);
  EXPECT_EQ(document["cleanup"].size(), 2u);
  // printf 'curl\0-sS\0http://allowed.test/\0' | sha256sum
  EXPECT_EQ(document["command"]["sha256"].get<std::string>().size(), 64u);
}

TEST(Receipt, ListsWhatWasRefusedWithTheRuleThatWouldAllowIt) {
  Receipt receipt = example();
  receipt.refused = {{"GET http://a.test/x", "no_rule", 7, "- allow: GET http://a.test/x"},
                     {"tls://\x1b[2J", "denied_by_rule", 1, ""}};
  receipt.refused_kinds = 5;
  json document = json::parse(receipt_json(receipt));
  EXPECT_EQ(document["refused"][0]["count"], 7);
  EXPECT_EQ(document["refused"][0]["rule"], "- allow: GET http://a.test/x");
  EXPECT_EQ(document["refused_kinds"], 5);
  auto summary = receipt_summary(receipt);
  EXPECT_THAT(summary, HasSubstr("GET http://a.test/x (no_rule, 7 times)"));
  EXPECT_THAT(summary, HasSubstr("would need  - allow: GET http://a.test/x"));
  EXPECT_THAT(summary, HasSubstr("3 others"));
  EXPECT_THAT(summary, Not(HasSubstr("\x1b")));
  EXPECT_THAT(receipt_summary(example()), Not(HasSubstr("refused")));
}

TEST(Receipt, HasOneTextWhateverTheOrderOfItsDestinations) {
  Receipt a = example(), b = example();
  std::swap(b.network[0], b.network[1]);
  EXPECT_EQ(receipt_json(a), receipt_json(b));
  b.command.back() = "http://allowed.test/x";
  EXPECT_NE(receipt_json(a), receipt_json(b));
}

TEST(Receipt, TellsCommandsApartThatJoinToTheSameText) {
  Receipt a = example(), b = example();
  a.command = {"sh", "-c", "a b"};
  b.command = {"sh", "-c", "a", "b"};
  EXPECT_NE(json::parse(receipt_json(a))["command"]["sha256"], json::parse(receipt_json(b))["command"]["sha256"]);
}

TEST(Receipt, IsValidAsciiWhateverItIsGiven) {
  Receipt receipt = example();
  receipt.command = {"a\xff\x1b[31m", "\xc3\xa9", std::string("n\0ul", 4)};
  receipt.network[0].destination = "http://\x1b]0;owned\x07/";
  std::string text = receipt_json(receipt);
  for (char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
  json document = json::parse(text);
  EXPECT_EQ(document["command"]["arguments"][1], "\xc3\xa9");
  EXPECT_THAT(document["command"]["arguments"][0].get<std::string>(), HasSubstr("\\xff"));
}

TEST(ReceiptSummary, IsShortAndEscaped) {
  Receipt receipt = example();
  receipt.command = {"printf", "\x1b[2J"};
  receipt.detail = "line\nbreak";
  for (int i = 0; i < 50; ++i)
    receipt.network.push_back({"http://host" + std::to_string(i) + ".test:80", "http", 1, 0, 1, 1, ""});
  std::string text = receipt_summary(receipt, 5);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("line\\x0abreak"));
  EXPECT_THAT(text, HasSubstr("47 more in the receipt"));
  EXPECT_THAT(text, HasSubstr("not signed"));
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
}

TEST(ReceiptSummary, NamesAFailedCleanupStep) {
  Receipt receipt = example();
  EXPECT_THAT(receipt_summary(receipt), HasSubstr("2 steps, all completed"));
  receipt.cleanup[1] = {"cgroup", false, "busy"};
  EXPECT_THAT(receipt_summary(receipt), HasSubstr("cgroup failed: busy"));
}

class ReceiptFile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/launcher-receipt-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
  }
  void TearDown() override { fs::remove_all(top_); }
  std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  fs::path top_;
};

TEST_F(ReceiptFile, IsPrivateAndReplacesAnOldOneWhole) {
  std::ofstream(top_ / "r.json") << "old and much longer than the new one";
  ASSERT_TRUE(write_receipt(top_ / "r.json", "new\n").has_value());
  EXPECT_EQ(text_of(top_ / "r.json"), "new\n");
  struct stat facts{};
  ASSERT_EQ(stat((top_ / "r.json").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(top_), fs::directory_iterator()), 1);
}

TEST_F(ReceiptFile, FollowsNoSymbolicLinkAndReplacesNothingElse) {
  std::ofstream(top_ / "target") << "precious";
  fs::create_symlink(top_ / "target", top_ / "link");
  EXPECT_FALSE(write_receipt(top_ / "link", "x").has_value());
  EXPECT_EQ(text_of(top_ / "target"), "precious");
  fs::create_directory(top_ / "directory");
  EXPECT_FALSE(write_receipt(top_ / "directory", "x").has_value());
  EXPECT_FALSE(write_receipt(top_ / "absent/r.json", "x").has_value());
  EXPECT_FALSE(write_receipt(std::string(top_) + "/", "x").has_value());
}

}  // namespace
}  // namespace sallyport::launcher
