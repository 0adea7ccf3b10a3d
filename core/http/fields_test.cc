#include "core/http/fields.h"

#include <gtest/gtest.h>

#include "core/http/test_messages.h"

namespace sallyport::http {
namespace {

TEST(Fields, KnowsSpecialNamesInAnyCase) {
  EXPECT_EQ(field_id("Host"), FieldId::kHost);
  EXPECT_EQ(field_id("hOsT"), FieldId::kHost);
  EXPECT_EQ(field_id("TE"), FieldId::kTe);
  EXPECT_EQ(field_id("CONTENT-LENGTH"), FieldId::kContentLength);
  EXPECT_EQ(field_id("transfer-encoding"), FieldId::kTransferEncoding);
  EXPECT_EQ(field_id("X-HTTP-Method-Override"), FieldId::kMethodOverride);
  EXPECT_EQ(field_id("Proxy-Anything"), FieldId::kProxy);
  EXPECT_EQ(field_id("X-Forwarded-Whatever"), FieldId::kForwarding);
  EXPECT_EQ(field_id("X-Forwarded"), FieldId::kForwarding);
  EXPECT_EQ(field_id("Fly-Src"), FieldId::kForwarding);
}

TEST(Fields, LeavesOrdinaryNamesAlone) {
  for (const char* name : {"Hosts", "Hos", "User-Agent", "Accept", "Proxy", "X-Forward", "Fly", "T", "", "X-Api-Key",
                           "my_header", "Content-Lengths", "Xproxy-a", "a_b_c_d_e_f_g_h_i_j_k_l_m_n_o_p"})
    EXPECT_EQ(field_id(name), FieldId::kOther) << name;
}

// CGI-like origins turn both '-' and '_' into '_': a name spelt so must not slip past as another.
TEST(Fields, MarksUnderscoreAliases) {
  for (const char* name :
       {"Content_Length", "Transfer_Encoding", "HOST_", "x_forwarded_for", "X-Forwarded_For", "Proxy_Authorization",
        "proxy_x", "X_HTTP_Method_Override", "X_Forwarded_Something_Very_Long_Indeed"}) {
    bool is_alias = std::string_view(name) != "HOST_";
    EXPECT_EQ(field_id(name), is_alias ? FieldId::kUnderscoreAlias : FieldId::kOther) << name;
  }
}

TEST(Fields, FindsByIdAndName) {
  auto parsed = parse_request(get_with("X-A: 1\r\nx-a: 2\r\nCookie: c\r\nEmpty:\r\n"));
  ASSERT_TRUE(parsed.done());
  const Fields& fields = parsed->fields;
  EXPECT_EQ(fields.size(), 5u);
  EXPECT_EQ(fields.find("X-a"), "1");
  EXPECT_EQ(fields.count("X-A"), 2u);
  EXPECT_EQ(fields.find(FieldId::kCookie), "c");
  EXPECT_EQ(fields.find("empty"), "");
  EXPECT_FALSE(fields.find("X-B"));
  EXPECT_FALSE(fields.find(FieldId::kExpect));
  EXPECT_EQ(fields.count(FieldId::kExpect), 0u);
  std::size_t seen = 0;
  for (Field field : fields) seen += !field.name.empty();
  EXPECT_EQ(seen, 5u);
}

}  // namespace
}  // namespace sallyport::http
