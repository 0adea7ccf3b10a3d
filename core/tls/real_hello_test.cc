#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <algorithm>

#include "core/tls/client_hello.h"
#include "core/tls/test_hellos.h"

namespace sallyport::tls {
namespace {

int add_padding(SSL*, unsigned, unsigned, const unsigned char** out, std::size_t* size, X509*, std::size_t, int*,
                void* padding) {
  auto& bytes = *static_cast<std::string*>(padding);
  *out = reinterpret_cast<const unsigned char*>(bytes.data());
  *size = bytes.size();
  return 1;
}

}  // namespace

Bytes real_hello(const RealHello& wanted) {
  std::string padding(wanted.padding, 'p');
  SSL_CTX* context = SSL_CTX_new(TLS_client_method());
  if (wanted.max_version != 0) SSL_CTX_set_max_proto_version(context, wanted.max_version);
  for (std::size_t i = 0; wanted.padding != 0 && i < wanted.paddings; ++i)
    SSL_CTX_add_custom_ext(context, static_cast<unsigned>(5000 + i), SSL_EXT_CLIENT_HELLO, add_padding, nullptr,
                           &padding, nullptr, nullptr);
  SSL* ssl = SSL_new(context);
  BIO* out = BIO_new(BIO_s_mem());
  SSL_set_bio(ssl, BIO_new(BIO_s_mem()), out);
  if (wanted.sni != nullptr) SSL_set_tlsext_host_name(ssl, wanted.sni);
  std::string alpn;
  for (const std::string& name : wanted.alpn) alpn += prefixed(name, 1);
  if (!alpn.empty())
    SSL_set_alpn_protos(ssl, reinterpret_cast<const unsigned char*>(alpn.data()), static_cast<unsigned>(alpn.size()));
  SSL_connect(ssl);
  char* data = nullptr;
  long size = BIO_get_mem_data(out, &data);
  Bytes bytes(data, data + size);
  SSL_free(ssl);
  SSL_CTX_free(context);
  return bytes;
}

namespace {

TEST(RealHello, GivesNameProtocolsAndVersions) {
  Bytes bytes = real_hello({.sni = "Www.Allowed.test", .alpn = {"h2", "http/1.1"}});
  ClientHello hello;
  HelloResult result = parse_client_hello(bytes, hello);
  ASSERT_EQ(result.state, HelloState::kDone) << result.reason;
  EXPECT_EQ(hello.sni->text(), "www.allowed.test");
  ASSERT_EQ(hello.alpn().size(), 2u);
  EXPECT_EQ(hello.alpn()[0], "h2");
  EXPECT_TRUE(hello.offers_protocol("http/1.1"));
  EXPECT_FALSE(hello.offers_protocol("http/1"));
  EXPECT_EQ(hello.newest_version(), 0x0304);
  EXPECT_EQ(hello.legacy_version, 0x0303);
  EXPECT_EQ(hello.ech, EchState::kAbsent);
  EXPECT_FALSE(hello.early_data);
  EXPECT_EQ(hello.record_bytes, bytes.size());
}

// connect-005
TEST(RealHello, TellsThatNoNameWasSent) {
  ClientHello hello;
  ASSERT_EQ(parse_client_hello(real_hello({.sni = nullptr}), hello).state, HelloState::kDone);
  EXPECT_FALSE(hello.sni);
  EXPECT_FALSE(hello.has_alpn);
}

TEST(RealHello, ReadsTls12) {
  ClientHello hello;
  ASSERT_EQ(parse_client_hello(real_hello({.max_version = TLS1_2_VERSION}), hello).state, HelloState::kDone);
  EXPECT_EQ(hello.newest_version(), 0x0303);
  EXPECT_EQ(hello.sni->text(), "allowed.test");
}

TEST(RealHello, ReadsBigOnesThatOpenSslSplitsIntoRecords) {
  RealHello wanted;
  wanted.alpn = std::vector<std::string>(30, std::string(200, 'a'));
  wanted.padding = 10'000;
  wanted.paddings = 3;
  Bytes bytes = real_hello(wanted);
  ASSERT_GT(bytes.size(), 30'000u);
  ClientHello hello;
  HelloResult result = parse_client_hello(bytes, hello);
  ASSERT_EQ(result.state, HelloState::kDone) << result.reason;
  EXPECT_EQ(hello.sni->text(), "allowed.test");
  EXPECT_EQ(hello.protocol_count, 30u);
  EXPECT_EQ(hello.protocols[29], std::string(200, 'a'));
  EXPECT_EQ(hello.record_bytes, bytes.size());
  EXPECT_FALSE(hello.joined.empty());
}

TEST(RealHello, IsIncompleteUntilItsLastByte) {
  for (const RealHello& wanted : {RealHello{.alpn = {"h2"}}, RealHello{.padding = 9'000, .paddings = 2}}) {
    Bytes bytes = real_hello(wanted);
    std::size_t step = bytes.size() > 4000 ? 37 : 1;
    for (std::size_t n = 0; n < bytes.size(); n += step) {
      ClientHello hello;
      ASSERT_EQ(parse_client_hello(std::span(bytes).first(n), hello).state, HelloState::kIncomplete) << n;
    }
    ClientHello hello;
    bytes.push_back(0x17);  // what follows is not part of it
    EXPECT_EQ(parse_client_hello(bytes, hello).state, HelloState::kDone);
    EXPECT_EQ(hello.record_bytes, bytes.size() - 1);
  }
}

TEST(RealHello, ReadsItCutIntoManyRecords) {
  Bytes bytes = real_hello({.alpn = {"h2"}});
  std::string message(bytes.begin() + 5, bytes.end());
  for (std::size_t fragment : {std::size_t{7}, std::size_t{50}, message.size() - 1}) {
    Bytes cut = in_records(message, fragment);
    ClientHello hello;
    ASSERT_EQ(parse_client_hello(cut, hello).state, HelloState::kDone) << fragment;
    EXPECT_EQ(hello.sni->text(), "allowed.test");
    EXPECT_TRUE(hello.offers_protocol("h2"));
    EXPECT_EQ(hello.record_bytes, cut.size());
  }
}

}  // namespace
}  // namespace sallyport::tls
