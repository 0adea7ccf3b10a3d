#include <gtest/gtest.h>

#include "control/recorded_decisions/audit_decisions.h"
#include "control/recorded_decisions/refusals.h"

namespace sallyport::control {
namespace {

using policy::ReasonCode;
using policy::review::Inquiry;
using policy::review::Recorded;

std::string line(const std::string& kind, const std::string& fields) {
  return R"({"seq":1,"time":"2026-01-02T03:04:05.000000Z","kind":")" + kind + R"(",)" + fields + R"(,"hash":")" +
         std::string(64, '0') + R"("})";
}

struct Read {
  std::optional<Recorded> decision;
  std::uint64_t records = 0, unread = 0;
};
Read read(const std::string& text) {
  Read out;
  out.decision = decision_of(text, {}, out.records, out.unread);
  return out;
}

TEST(AuditDecisions, ReadsEveryLayer) {
  auto http = read(line(
      "decision",
      R"("verdict":"deny","reason":"no_rule","layer":"http","name_used":"a.test","port":80,"method":"GET","path":"/x")"));
  ASSERT_TRUE(http.decision);
  EXPECT_EQ(http.decision->inquiry.text(), "GET http://a.test/x");
  EXPECT_EQ(http.decision->reason, ReasonCode::kNoRule);
  EXPECT_EQ(read(line("decision", R"("reason":"allowed","layer":"dns","name_used":"a.test")")).decision->inquiry.text(),
            "a.test");
  EXPECT_EQ(read(line("decision", R"("reason":"allowed","layer":"dns","name_used":"a.test","query_type":"TXT")"))
                .decision->inquiry.text(),
            "TXT dns://a.test");
  EXPECT_EQ(read(line("decision", R"("reason":"allowed","layer":"connect","name_used":"2001:db8::1","port":443)"))
                .decision->inquiry.text(),
            "CONNECT [2001:db8::1]:443");
  EXPECT_EQ(read(line("decision", R"("reason":"allowed","layer":"tls","name_used":"a.test","port":443)"))
                .decision->inquiry.text(),
            "tls://a.test:443");
  EXPECT_EQ(
      read(line("decision",
                R"("reason":"no_rule","layer":"connect","name_used":"a.test","port":80,"method":"GET","path":"/x")"))
          .decision->inquiry.text(),
      "GET http://a.test/x");
  EXPECT_EQ(read(line("decision",
                      R"("reason":"no_rule","layer":"connect","name_used":"a.test","port":80,"method":"CONNECT")"))
                .decision->inquiry.text(),
            "CONNECT a.test:80");
  auto again =
      read(line("coalesced",
                R"("of":"decision","repeated":7,"reason":"no_rule","layer":"connect","name_used":"a.test","port":22)"));
  ASSERT_TRUE(again.decision);
  EXPECT_EQ(again.decision->count, 7u);
}

TEST(AuditDecisions, CountsWhatCannotBeAskedAgain) {
  for (const char* fields :
       {R"("reason":"no_rule","layer":"http","name_asked":"??")",
        R"("reason":"nonsense","layer":"connect","name_used":"a.test","port":1)",
        R"("reason":"no_rule","layer":"connect","name_used":"a.test","port":70000)",
        R"("reason":"no_rule","layer":"http","name_used":"a.test","port":80,"method":"GET","path":"/x","cut":"path")",
        R"("reason":"no_rule","layer":"http","name_used":"a.test","port":80,"method":"GET","path":"/\u00e9")"}) {
    auto out = read(line("decision", fields));
    EXPECT_FALSE(out.decision) << fields;
    EXPECT_EQ(out.unread, 1u) << fields;
  }
  auto other = read(line("connection", R"("name_used":"a.test","port":1)"));
  EXPECT_FALSE(other.decision);
  EXPECT_EQ(other.records, 1u);
  EXPECT_EQ(other.unread, 0u);
  EXPECT_EQ(read("not a record").records, 0u);
  std::uint64_t records = 0, unread = 0;
  auto of_task = line("decision", R"("task":"t-1","reason":"no_rule","layer":"dns","name_used":"a.test")");
  EXPECT_TRUE(decision_of(of_task, "t-1", records, unread));
  EXPECT_FALSE(decision_of(of_task, "t-2", records, unread));
}

Recorded refused(std::string_view text, std::uint64_t count, ReasonCode reason = ReasonCode::kNoRule) {
  return {Inquiry::parse(text).value(), reason, count};
}

TEST(Refusals, TheMostFrequentComeFirstWithTheirRule) {
  auto out = most_refused(
      {refused("GET http://a.test/x", 2), refused("tls://b.test", 5), refused("GET http://a.test/x", 4),
       refused("a.test", 90), refused("c.test", 1), refused("tls://d.test", 3, ReasonCode::kDeniedByRule),
       refused("tls://e.test", 8, ReasonCode::kBudgetUpload), refused("tls://f.test", 8, ReasonCode::kAllowed)});
  ASSERT_EQ(out.most.size(), 4u);
  EXPECT_EQ(out.most[0].what, "GET http://a.test/x");
  EXPECT_EQ(out.most[0].count, 6u);
  EXPECT_EQ(out.most[0].rule, "- allow: GET http://a.test/x");
  EXPECT_EQ(out.most[1].rule, "- allow: tls://b.test");
  EXPECT_EQ(out.most[2].rule, "");
  EXPECT_EQ(out.most[3].what, "lookup c.test");
  EXPECT_EQ(out.most[3].rule, "- allow: tls://c.test");
  EXPECT_EQ(out.total, 15u);
}

// A rule of method and path alone would void what the policy says of queries and bodies.
TEST(Refusals, OfferNoRuleAgainstTheTermsOfOthers) {
  auto out = most_refused({refused("GET http://a.test/x", 2, ReasonCode::kQueryNotAllowed),
                           refused("POST http://a.test/x", 1, ReasonCode::kContentTypeNotAllowed)});
  ASSERT_EQ(out.most.size(), 2u);
  EXPECT_EQ(out.most[0].rule, "");
  EXPECT_EQ(out.most[1].rule, "");
}

TEST(Refusals, AreBounded) {
  std::vector<Recorded> log;
  for (int i = 0; i < 500; ++i) log.push_back(refused("tls://h" + std::to_string(i) + ".test", 1));
  auto out = most_refused(log);
  EXPECT_EQ(out.most.size(), kRefusalsKept);
  EXPECT_EQ(out.kinds, 500u);
}

}  // namespace
}  // namespace sallyport::control
