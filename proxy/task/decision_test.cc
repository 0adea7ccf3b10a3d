#include "proxy/task/decision.h"

#include <gtest/gtest.h>

namespace sallyport::proxy {
namespace {

TEST(AskedFor, NamesARequestByItsUrlAndAConnectionByItsAuthority) {
  policy::Target target = HostName::parse("denied.test").value();
  Decision d;
  d.target = &target;
  d.port = 443;
  EXPECT_EQ(asked_for(d), "denied.test:443");
  d.method = "CONNECT";
  EXPECT_EQ(asked_for(d), "CONNECT denied.test:443");
  d.layer = Layer::kHttp;
  d.method = "GET";
  d.path = "/x";
  EXPECT_EQ(asked_for(d), "GET http://denied.test:443/x");
  d.port = 80;
  EXPECT_EQ(asked_for(d), "GET http://denied.test/x");
}

// lifecycle-008
TEST(AskedFor, EscapesWhatTheClientWrote) {
  policy::Target target = HostName::parse("denied.test").value();
  Decision d;
  d.layer = Layer::kHttp;
  d.target = &target;
  d.port = 80;
  d.method = "G\x1bT";
  d.path = "/\n\x1b[2J";
  auto text = asked_for(d);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

TEST(AskedFor, HasAWordForARequestWithoutATarget) {
  Decision d;
  d.layer = Layer::kHttp;
  EXPECT_EQ(asked_for(d), "a request that cannot be read");
}

}  // namespace
}  // namespace sallyport::proxy
