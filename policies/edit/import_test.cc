#include "policies/edit/import.h"

#include <gtest/gtest.h>

#include "policies/engine/engine_test_support.h"
#include "policies/review/inquiry.h"

namespace sallyport::policy::edit {
namespace {

Imported take(Source source, std::string_view text, std::string role = {}) {
  return import_policy(source, text, "source", {"imported", std::move(role)});
}

std::string said(const Imported& imported) {
  std::string out;
  for (const auto& d : imported.diagnostics) out += render(d);
  return out;
}

bool allows(const Imported& imported, std::string_view question) {
  if (!imported.text) return false;
  auto loaded = load(*imported.text, "made");
  EXPECT_TRUE(loaded.policy) << *imported.text;
  return loaded.policy && review::ask(*loaded.policy, review::Inquiry::parse(question).value()).allowed();
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

constexpr std::string_view kAcl = R"(---
version: v1
services:
  - name: strict
    project: pay
    action: enforce
    allowed_domains:
      - api.example.com
      - "*.partner.example"
      - "api.*.example.com"
      - special.bad.example
  - name: watched
    project: web
    action: report
    allowed_domains: [www.example.com]
  - name: loose
    project: web
    action: open
default:
  project: other
  action: enforce
  allowed_domains: [status.example.com]
global_allow_list: [metrics.example.com, "*.cdn.example", gone.example.com]
global_deny_list: [evil.cdn.example, gone.example.com, "*.bad.example"]
)";

// What the README of smokescreen says of its ACL, each line as a case.
TEST(ImportSmokescreen, EnforceAllowsOnlyTheList) {
  auto strict = take(Source::kSmokescreen, kAcl, "strict");
  ASSERT_TRUE(strict.text) << said(strict);
  EXPECT_TRUE(allows(strict, "tls://api.example.com"));
  EXPECT_TRUE(allows(strict, "GET http://api.example.com/x"));
  EXPECT_FALSE(allows(strict, "tls://other.example.com"));
}

TEST(ImportSmokescreen, AStarInFrontIsEverythingBelowAndNotTheNameItself) {
  auto strict = take(Source::kSmokescreen, kAcl, "strict");
  EXPECT_TRUE(allows(strict, "tls://a.partner.example"));
  EXPECT_FALSE(allows(strict, "tls://partner.example"));
}

TEST(ImportSmokescreen, OtherStarsAreNotValidAndAreTold) {
  auto strict = take(Source::kSmokescreen, kAcl, "strict");
  EXPECT_NE(said(strict).find("api.*.example.com"), std::string::npos) << said(strict);
}

TEST(ImportSmokescreen, TheGlobalAllowListCountsForEnforceToo) {
  EXPECT_TRUE(allows(take(Source::kSmokescreen, kAcl, "strict"), "tls://metrics.example.com"));
}

TEST(ImportSmokescreen, TheGlobalDenyListWinsOverTheGlobalAllowList) {
  auto strict = take(Source::kSmokescreen, kAcl, "strict");
  EXPECT_TRUE(allows(strict, "tls://a.cdn.example"));
  EXPECT_FALSE(allows(strict, "tls://evil.cdn.example"));
  EXPECT_FALSE(allows(strict, "tls://gone.example.com"));
}

TEST(ImportSmokescreen, TheGlobalDenyListDoesNotTakeWhatTheServiceLists) {
  EXPECT_TRUE(allows(take(Source::kSmokescreen, kAcl, "strict"), "tls://special.bad.example"));
}

TEST(ImportSmokescreen, ReportAndOpenCannotBeSaidAndBecomeTheirLists) {
  auto watched = take(Source::kSmokescreen, kAcl, "watched");
  EXPECT_TRUE(allows(watched, "tls://www.example.com"));
  EXPECT_FALSE(allows(watched, "tls://anything.example"));
  EXPECT_NE(said(watched).find("the action report lets everything pass"), std::string::npos);
  EXPECT_NE(said(take(Source::kSmokescreen, kAcl, "loose")).find("the action open"), std::string::npos);
}

TEST(ImportSmokescreen, AsksForTheServiceWhereThereAreSeveral) {
  auto none = take(Source::kSmokescreen, kAcl);
  EXPECT_FALSE(none.text);
  EXPECT_NE(said(none).find("--role and one of: strict, watched, loose, default"), std::string::npos) << said(none);
  EXPECT_FALSE(take(Source::kSmokescreen, kAcl, "nobody").text);
  EXPECT_TRUE(allows(take(Source::kSmokescreen, kAcl, "default"), "tls://status.example.com"));
}

TEST(ImportSandboxRuntime, CarriesDomainsPortsAndDenials) {
  auto out = take(Source::kSandboxRuntime, R"({
	"network": {
		"allowedDomains": ["github.com", "*.github.com", "api.example.com:8443", "[2001:db8::1]:5432", "npmjs.org:443"],
		"deniedDomains": ["gist.github.com", "raw.github.com:80"],
		"allowUnixSockets": ["/var/run/docker.sock"],
		"allowLocalBinding": false
	},
	"filesystem": {"denyRead": ["~/.ssh"]}
})");
  ASSERT_TRUE(out.text) << said(out);
  EXPECT_TRUE(allows(out, "tls://github.com"));
  EXPECT_TRUE(allows(out, "tls://api.github.com"));
  EXPECT_TRUE(allows(out, "tcp://api.example.com:8443"));
  EXPECT_TRUE(allows(out, "tcp://[2001:db8::1]:5432"));
  EXPECT_FALSE(allows(out, "tls://api.example.com"));
  EXPECT_FALSE(allows(out, "GET http://npmjs.org/"));
  EXPECT_FALSE(allows(out, "tls://gist.github.com"));
  EXPECT_FALSE(allows(out, "GET http://raw.github.com/"));
  EXPECT_TRUE(allows(out, "tls://raw.github.com"));
  EXPECT_EQ(count(said(out), "warning"), 3u) << said(out);
}

TEST(ImportSandboxRuntime, DenyAllLeavesNothing) {
  auto out =
      take(Source::kSandboxRuntime,
           R"({"network": {"allowedDomains": ["a.example.com", "b.example.com:22"], "deniedDomains": ["*:22"]}})");
  EXPECT_FALSE(allows(out, "tcp://b.example.com:22"));
  EXPECT_TRUE(allows(out, "tls://a.example.com"));
  EXPECT_FALSE(allows(
      take(Source::kSandboxRuntime, R"({"network": {"allowedDomains": ["a.example.com"], "deniedDomains": ["*"]}})"),
      "tls://a.example.com"));
  EXPECT_FALSE(allows(
      take(Source::kSandboxRuntime, R"({"network": {"allowedDomains": ["a.example.com"], "deniedDomains": ["x*y"]}})"),
      "tls://a.example.com"));
  EXPECT_FALSE(
      allows(take(Source::kSandboxRuntime, R"({"network": {"allowedDomains": ["*"]}})"), "tls://a.example.com"));
}

TEST(ImportSandboxRuntime, LeavesOutWhatDoesNotLoadHere) {
  auto out = take(Source::kSandboxRuntime,
                  R"({"network": {"allowedDomains": ["*.com", "a.example.com", "169.254.169.254"]}})");
  EXPECT_TRUE(allows(out, "tls://a.example.com"));
  EXPECT_FALSE(allows(out, "tls://b.com"));
  EXPECT_GE(count(said(out), "left out"), 2u) << said(out);
}

constexpr std::string_view kSquid = R"(# minimal
acl localnet src 10.0.0.0/8
acl SSL_ports port 443
acl Safe_ports port 80
acl Safe_ports port 443
acl Safe_ports port 1025-65535
acl good dstdomain .example.com www.other.test
acl bad dstdomain bad.example.com
acl night time 22:00-23:00
http_access deny !Safe_ports
http_access deny CONNECT !SSL_ports
http_access allow localhost manager
http_access deny manager
http_access deny bad
http_access allow good
http_access allow localnet
http_access deny all
http_port 3128
)";

TEST(ImportSquid, CarriesLinesThatAllowNames) {
  auto out = take(Source::kSquid, kSquid);
  ASSERT_TRUE(out.text) << said(out);
  EXPECT_TRUE(allows(out, "tls://example.com"));
  EXPECT_TRUE(allows(out, "tls://a.example.com"));
  EXPECT_TRUE(allows(out, "GET http://www.other.test/"));
  EXPECT_FALSE(allows(out, "tls://x.www.other.test"));
  EXPECT_FALSE(allows(out, "tls://bad.example.com"));
  EXPECT_FALSE(allows(out, "tls://elsewhere.test"));
}

TEST(ImportSquid, StopsAtADenialThatItDoesNotUnderstand) {
  auto out = take(Source::kSquid,
                  "acl good dstdomain a.example.com\nacl late dstdomain b.example.com\nacl night time "
                  "22:00-23:00\nhttp_access allow good\nhttp_access deny night\nhttp_access allow late\n");
  EXPECT_TRUE(allows(out, "tls://a.example.com"));
  EXPECT_FALSE(allows(out, "tls://b.example.com"));
  EXPECT_EQ(count(said(out), "warning"), 2u) << said(out);
}

TEST(ImportSquid, NeedsEveryAclOfALine) {
  auto out = take(Source::kSquid,
                  "acl good dstdomain a.example.com\nacl web port 80\nacl me src 10.0.0.1\nhttp_access allow good "
                  "web\nhttp_access allow good me\nhttp_access allow !good\n");
  EXPECT_TRUE(allows(out, "GET http://a.example.com/"));
  EXPECT_FALSE(allows(out, "tls://a.example.com"));
}

// An ACL is one object, wherever its values stand.
TEST(ImportSquid, TakesValuesThatComeAfterTheirUse) {
  std::string before = "acl good dstdomain .example.com\nacl bad dstdomain a.example.com\nhttp_access deny bad\n",
              after = "http_access allow good\nhttp_access deny all\n";
  auto out = take(Source::kSquid, before + "acl bad dstdomain secret.example.com\n" + after);
  EXPECT_TRUE(allows(out, "tls://b.example.com")) << said(out);
  EXPECT_FALSE(allows(out, "tls://a.example.com"));
  EXPECT_FALSE(allows(out, "tls://secret.example.com"));
  EXPECT_FALSE(allows(take(Source::kSquid, before + after + "acl bad dstdomain secret.example.com\n"),
                      "tls://secret.example.com"));
  EXPECT_FALSE(
      allows(take(Source::kSquid, before + "acl bad dstdomain \"/etc/squid/bad\"\n" + after), "tls://b.example.com"));
  EXPECT_FALSE(allows(take(Source::kSquid, before + "acl BAD dstdomain secret.example.com\n" + after),
                      "tls://secret.example.com"));
}

TEST(ImportSquid, AllowsNothingBesideWhatMayDenyUnseen) {
  std::string allow = "acl good dstdomain .example.com\nacl bad dstdomain secret.example.com\nhttp_access allow good\n";
  for (const char* line :
       {"adapted_http_access deny bad", "http_reply_access deny bad", "miss_access deny bad",
        "miss_access \\\n deny bad", "if false\nacl bad dstdomain b.example.com\nendif", "include /etc/squid/more.conf",
        "url_rewrite_program /usr/bin/guard", "ssl_bump terminate bad", "# a comment \\\nhttp_access deny bad"}) {
    for (const auto& text : {allow + line + "\n", line + ("\n" + allow)}) {
      auto out = take(Source::kSquid, text);
      EXPECT_FALSE(allows(out, "tls://secret.example.com")) << text;
      EXPECT_FALSE(allows(out, "tls://b.example.com")) << text;
      EXPECT_EQ(count(said(out), "nothing is allowed"), 1u) << said(out);
    }
  }
  for (const char* line : {"http_reply_access allow all", "icp_access deny all", "ssl_bump splice all", "via off",
                           "# http_reply_access deny bad"})
    EXPECT_TRUE(allows(take(Source::kSquid, allow + line + "\n"), "tls://b.example.com")) << line;
}

TEST(ImportSquid, JoinsLinesThatGoOn) {
  auto out =
      take(Source::kSquid, "acl good dstdomain \\\n  a.example.com \\\n  b.example.com\nhttp_access allow \\\n good\n");
  EXPECT_TRUE(allows(out, "tls://a.example.com")) << said(out);
  EXPECT_TRUE(allows(out, "tls://b.example.com"));
}

TEST(ImportSquid, TakesAnOwnAclForWhatItSays) {
  std::string good = "acl good dstdomain .example.com\n", allow = "http_access allow good\n";
  for (const char* own : {"acl manager dstdomain secret.example.com\nhttp_access deny manager\n",
                          "acl to_localhost dst 10.0.0.0/8\nhttp_access deny to_localhost\n"}) {
    EXPECT_FALSE(allows(take(Source::kSquid, good + own + allow), "tls://secret.example.com")) << own;
    EXPECT_FALSE(allows(take(Source::kSquid, own + good + allow), "tls://b.example.com")) << own;
  }
  EXPECT_FALSE(
      allows(take(Source::kSquid, good + "acl all src 10.0.0.1\nhttp_access allow good all\n"), "tls://b.example.com"));
  // As older versions needed them.
  for (const char* usual :
       {"acl manager proto cache_object\nhttp_access deny manager\n", "acl all src 0.0.0.0/0.0.0.0\n",
        "acl to_localhost dst 127.0.0.0/8 0.0.0.0/32\nhttp_access deny to_localhost\n", "acl CONNECT method CONNECT\n"})
    EXPECT_TRUE(allows(take(Source::kSquid, good + usual + allow), "tls://b.example.com")) << usual;
}

TEST(Import, RefusesWhatItCannotRead) {
  EXPECT_FALSE(take(Source::kSmokescreen, "services: [").text);
  EXPECT_FALSE(take(Source::kSmokescreen, "- a\n").text);
  EXPECT_FALSE(take(Source::kSandboxRuntime, "\x01").text);
  EXPECT_FALSE(source_of("iptables"));
}

}  // namespace
}  // namespace sallyport::policy::edit
