// `query:`, `content_type:`, `dns:` and {task} of rules, decided.
#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"

namespace sallyport::policy {
namespace {

using namespace testing;
using enum ReasonCode;

ReasonCode ask_query(const std::string& rule, std::string_view query, std::string_view path = "/x") {
  return ask_http(*policy_of({rule}), "GET", "a.test", std::string(path) + "?" + std::string(query));
}

TEST(Query, RefusesRepeatedRenamedAndHiddenKeys) {  // policy-010
  std::string rule = "{allow: 'GET http://a.test/x', query: {project: '42'}}";
  for (auto query : {"project=42&project=7", "project=7&project=42", "project[]=7&project=42", "project%5B%5D=7&project=42", "PROJECT=7",
                     "PROJECT=42", "project=42;project=7", "project=42%3Bproject=7", "proj%65ct=7", "project=7", "project=", "project", "",
                     "project=42&", "&project=42", "project=42&&", "project=42&=", "project=42&x=1", "project=042", "project=42%00",
                     "project=42%0A", "project=%2542", "project=4%C0%B2", "project=42%", "project=42%zz", "+project=42", "project+=42",
                     "project=42=", "project=%34%32&proj%65ct=42"})
    EXPECT_EQ(ask_query(rule, query), kQueryNotAllowed) << query;
  for (auto query : {"project=42", "proj%65ct=42", "project=%342", "%70roject=%34%32"}) EXPECT_EQ(ask_query(rule, query), kAllowed) << query;
}

TEST(Query, NoneAllowsNone) {  // policy-007
  std::string rule = "{allow: 'GET http://a.test/graphql', query: none}";
  EXPECT_EQ(ask_query(rule, "query=mutation%7BdeleteAll%7D", "/graphql"), kQueryNotAllowed);
  EXPECT_EQ(ask_query(rule, "", "/graphql"), kAllowed);
  EXPECT_EQ(ask_query("allow: GET http://a.test/graphql", "query=mutation%7BdeleteAll%7D", "/graphql"), kAllowed);
}

TEST(Query, RefusesAKeyThatWouldFetchForOthers) {  // policy-015
  EXPECT_EQ(ask_query("{allow: 'GET http://a.test/proxy', query: {id: {length: 20}}}", "url=https://denied.test/", "/proxy"), kQueryNotAllowed);
  EXPECT_EQ(ask_query("{allow: 'GET http://a.test/redirect', query: none}", "to=https://denied.test/", "/redirect"), kQueryNotAllowed);
}

TEST(Query, KnowsOptionalKeysAndEachKindOfValue) {
  std::string rule = "{allow: 'GET http://a.test/x', query: {c: {one_of: [EUR, USD]}, page: {regex: '[0-9]{1,4}', optional: true}, q: {length: 3, optional: true}}}";
  for (auto query : {"c=EUR", "c=USD&page=1", "page=1234&c=EUR", "q=abc&c=EUR", "c=EUR&q=", "c=EUR&q=a%20b"}) EXPECT_EQ(ask_query(rule, query), kAllowed) << query;
  for (auto query : {"page=1", "c=eur", "c=GBP", "c=EUR&page=12345", "c=EUR&page=a", "c=EUR&page=", "c=EUR&page=1%0A", "c=EUR&q=abcd"})
    EXPECT_EQ(ask_query(rule, query), kQueryNotAllowed) << query;
}

TEST(Query, TakesAPlusOnlyWhereBothReadingsMatch) {
  std::string exact = "{allow: 'GET http://a.test/x', query: {q: 'a b'}}", both = "{allow: 'GET http://a.test/x', query: {q: {regex: '[a-z+ ]*'}}}";
  EXPECT_EQ(ask_query(exact, "q=a%20b"), kAllowed);
  EXPECT_EQ(ask_query(exact, "q=a+b"), kQueryNotAllowed);
  EXPECT_EQ(ask_query(both, "q=a+b"), kAllowed);
  EXPECT_EQ(ask_query("{allow: 'GET http://a.test/x', query: {q: {regex: '[a-z+]*'}}}", "q=a+b"), kQueryNotAllowed);
}

TEST(Query, IsPartOfTheMatch) {
  auto p = policy_of({"{id: one, allow: 'GET http://a.test/x', query: {a: '1'}}", "{id: two, allow: 'GET http://a.test/x', query: {b: '1'}}"});
  EXPECT_EQ(verdict_http(*p, "GET", "a.test", "/x?b=1").rule->id, "two");
  auto verdict = verdict_http(*p, "GET", "a.test", "/x?c=1");
  EXPECT_EQ(verdict.reason, kQueryNotAllowed);
  EXPECT_EQ(verdict.nearest->id, "one");
  EXPECT_EQ(ask_http(*p, "POST", "a.test", "/x?c=1"), kMethodNotAllowed);
}

TEST(Query, CoversOnlyWhatIsNarrower) {
  auto covered = [](const std::string& first, const std::string& second) {
    auto rule = [](const std::string& terms) { return "{allow: 'GET http://a.test/x'" + terms + "}"; };
    return !load_rules({rule(first), rule(second)}).policy;
  };
  EXPECT_TRUE(covered("", ", query: {a: '1'}"));
  EXPECT_FALSE(covered(", query: {a: '1'}", ""));
  EXPECT_TRUE(covered(", query: {a: {one_of: [x, y]}}", ", query: {a: x}"));
  EXPECT_FALSE(covered(", query: {a: x}", ", query: {a: {one_of: [x, y]}}"));
  EXPECT_TRUE(covered(", query: {a: {regex: '[0-9]+'}, b: {length: 3, optional: true}}", ", query: {a: '12', b: abc}"));
  EXPECT_FALSE(covered(", query: {a: {regex: '[0-9]+'}, b: {length: 3}}", ", query: {a: '12'}"));
  EXPECT_TRUE(covered(", query: {b: {length: 3, optional: true}}", ", query: none"));
  EXPECT_FALSE(covered(", query: none", ", query: {b: {length: 3, optional: true}}"));
  EXPECT_TRUE(covered(", content_type: [a/b, c/d]", ", content_type: a/b"));
  EXPECT_FALSE(covered(", content_type: a/b", ", content_type: [a/b, c/d]"));
  EXPECT_FALSE(covered(", content_type: a/b", ""));
}

struct Body {
  std::vector<std::string> types;
  bool has_body = true;
};

ReasonCode ask_body(const std::string& rule, const Body& body) {
  ContentType seen;
  seen.set_body(body.has_body);
  for (const auto& type : body.types) seen.see("Content-Type", type);
  auto p = policy_of({rule});
  auto path = CanonicalPath::parse("/x").value();
  return decide_http(*p, {Target(name("a.test")), Port::of(80), "POST", path, "", {}, seen}).reason;
}

TEST(ContentTypeTerm, IsTheWholeTypeOfTheOnlyField) {
  std::string rule = "{allow: 'POST http://a.test/x', content_type: [application/json, text/csv]}";
  for (auto type : {"application/json", "Application/JSON", "application/json; charset=utf-8", " text/csv ;header=present", "application/json;"})
    EXPECT_EQ(ask_body(rule, {{type}}), kAllowed) << type;
  for (auto type : {"", "text/plain", "application/json, text/plain", "application/jsonp", "application", "application/json x", "multipart/form-data; a=application/json",
                    "application/json\x01", "application /json"})
    EXPECT_EQ(ask_body(rule, {{type}}), kContentTypeNotAllowed) << type;
  EXPECT_EQ(ask_body(rule, {{}}), kContentTypeNotAllowed);
  EXPECT_EQ(ask_body(rule, {{"application/json", "application/json"}}), kContentTypeNotAllowed);
  EXPECT_EQ(ask_body(rule, {{"text/plain", "application/json"}}), kContentTypeNotAllowed);
  EXPECT_EQ(ask_body(rule, {{}, false}), kAllowed);
  EXPECT_EQ(ask_body(rule, {{"text/plain"}, false}), kContentTypeNotAllowed);
  EXPECT_EQ(ask_body("allow: POST http://a.test/x", {{"text/plain", "a/b"}}), kAllowed);
}

TEST(DnsTerm, GrantsTypesAndRealAddresses) {
  auto p = policy_of({"{id: mail, allow: 'tcp://mail.test:25', dns: [MX, TXT]}", "{allow: 'tls://*.real.test', dns: real}", "allow: tls://plain.test",
                      "{allow: 'tls://shut.test', dns: TXT}", "allow: tls://shut.test:8443"});
  EXPECT_EQ(decide_record(*p, name("mail.test"), 15).rule->id, "mail");
  EXPECT_EQ(decide_record(*p, name("mail.test"), 33).reason, kRecordTypeNotAllowed);
  EXPECT_EQ(decide_record(*p, name("plain.test"), 16).reason, kRecordTypeNotAllowed);
  EXPECT_EQ(decide_record(*p, name("other.test"), 16).reason, kNoRule);
  EXPECT_TRUE(decide_record(*p, name("plain.test"), kRecordAaaa).allowed());
  EXPECT_TRUE(decide_name(*p, name("a.real.test")).real_addresses);
  EXPECT_FALSE(decide_name(*p, name("mail.test")).real_addresses);
  EXPECT_TRUE(decide_record(*p, name("shut.test"), 16).allowed());
}

TEST(DnsTerm, GrantsNothingUnderADenial) {
  auto p = policy_of({"{allow: 'tls://*.a.test', dns: [TXT, real]}", "deny: tls://b.a.test", "allow: tcp://b.a.test:22"});
  EXPECT_TRUE(decide_name(*p, name("b.a.test")).allowed());
  EXPECT_FALSE(decide_name(*p, name("b.a.test")).real_addresses);
  EXPECT_EQ(decide_record(*p, name("b.a.test"), 16).reason, kRecordTypeNotAllowed);
}

TEST(TaskPlaceholder, IsTheTasksIdOrItself) {
  std::string text = "policy: p/1\nrules: [{allow: 'PUT http://a.test/drafts/{task}/r-{task}.json'}]\n";
  auto p = load(text, "p", {nullptr, "t-7"}).policy;
  ASSERT_TRUE(p);
  EXPECT_EQ(ask_http(*p, "PUT", "a.test", "/drafts/t-7/r-t-7.json"), kAllowed);
  EXPECT_EQ(ask_http(*p, "PUT", "a.test", "/drafts/t-8/r-t-8.json"), kPathNotAllowed);
  EXPECT_EQ(ask_http(*p, "PUT", "a.test", "/drafts/{task}/r-{task}.json"), kPathNotAllowed);
  auto unbound = load(text, "p").policy;
  EXPECT_EQ(ask_http(*unbound, "PUT", "a.test", "/drafts/{task}/r-{task}.json"), kAllowed);
  EXPECT_EQ(ask_http(*unbound, "PUT", "a.test", "/drafts/t-7/r-t-7.json"), kPathNotAllowed);
}

TEST(Question, ReadsWhatItWrites) {
  for (std::string text : {"GET http://a.test/x?a=b", "POST http://a.test:8080/", "tls://a.test", "tls://a.test:8443", "tcp://[2001:db8::1]:22", "dns://a.test", "TXT dns://a.test"}) {
    auto question = Question::parse(text);
    ASSERT_TRUE(question) << text;
    EXPECT_EQ(question.value().text(), text);
  }
  EXPECT_EQ(Question::parse("http://a.test/x").value().method, "GET");
  EXPECT_TRUE(Question::parse("POST https://a.test/x").value().hidden_path);
}

TEST(Question, IsAnsweredByTheRuleOfItsKind) {
  auto p = policy_of({"allow: GET http://a.test/x", "allow: tls://b.test", "allow: tcp://c.test:443", "{allow: 'tls://d.test', dns: TXT}"});
  auto asked = [&](std::string_view text) { return ask(*p, Question::parse(text).value()).reason; };
  EXPECT_EQ(asked("GET http://a.test/x"), kAllowed);
  EXPECT_EQ(asked("tls://a.test:80"), kNotHttp);
  EXPECT_EQ(asked("tls://b.test"), kAllowed);
  EXPECT_EQ(asked("GET https://b.test/any"), kAllowed);
  EXPECT_EQ(asked("tcp://b.test:443"), kNotTls);
  EXPECT_EQ(asked("tcp://c.test:443"), kAllowed);
  EXPECT_EQ(asked("tls://c.test"), kAllowed);
  EXPECT_EQ(asked("dns://c.test"), kAllowed);
  EXPECT_EQ(asked("TXT dns://d.test"), kAllowed);
  EXPECT_EQ(asked("MX dns://d.test"), kRecordTypeNotAllowed);
}

}  // namespace
}  // namespace sallyport::policy
