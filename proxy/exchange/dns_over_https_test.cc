#include "proxy/exchange/dns_over_https.h"

#include <gtest/gtest.h>

#include <string>

#include "core/http/request_head.h"

namespace sallyport::proxy {
namespace {

bool refused(const std::string& target, const std::string& fields) {
  std::string text = "GET " + target + " HTTP/1.1\r\nHost: dns.test\r\n" + fields + "\r\n";
  http::RequestHead head;
  auto parsed = http::parse_request_head(text, http::Limits{}, head);
  EXPECT_EQ(parsed.state, http::ParseState::kDone) << parsed.reason;
  return is_dns_over_https(head.fields, head.query);
}

TEST(DnsOverHttps, RefusesTheMediaTypeInAnySpelling) {  // dns-009
  EXPECT_TRUE(refused("/dns-query", "Content-Type: application/dns-message\r\n"));
  EXPECT_TRUE(refused("/x", "content-type: Application/DNS-Message; charset=x\r\n"));
  EXPECT_TRUE(refused("/x", "Accept: text/html, application/dns-json\r\n"));
  EXPECT_FALSE(refused("/dns-query", "Content-Type: application/json\r\nAccept: */*\r\n"));
  EXPECT_FALSE(refused("/x", "X-Note: application/dns-message\r\n"));
}

TEST(DnsOverHttps, RefusesTheQueryForm) {  // dns-009
  EXPECT_TRUE(refused("/dns-query?dns=AAABAAABAAAAAAAAB2V4YW1wbGUEdGVzdAAAAQAB", ""));
  EXPECT_TRUE(refused("/q?a=1&dns=AAABAAABAAAAAAAA", ""));
  EXPECT_TRUE(refused("/q?d%6es=AAABAAABAAAAAAAA", ""));
  EXPECT_FALSE(refused("/zone?dns=enabled", ""));
  EXPECT_FALSE(refused("/q?mydns=AAABAAABAAAAAAAA&x", ""));
  EXPECT_FALSE(refused("/q", ""));
}

}  // namespace
}  // namespace sallyport::proxy
