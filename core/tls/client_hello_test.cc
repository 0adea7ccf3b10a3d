#include "core/tls/client_hello.h"

#include <gtest/gtest.h>

#include <string>

#include "core/tls/test_hellos.h"

namespace sallyport::tls {
namespace {

using namespace std::string_literals;

struct Read {
  Bytes bytes;  // what the hello's views point into
  ClientHello hello;
  HelloResult result;
  bool done() const { return result.state == HelloState::kDone; }
  bool refused() const { return result.state == HelloState::kRefused; }
};

// Whole, and that no prefix says anything else but "incomplete" or the same.
Read read(Bytes given) {
  Read out;
  out.bytes = std::move(given);
  const Bytes& bytes = out.bytes;
  out.result = parse_client_hello(bytes, out.hello);
  for (std::size_t n = 0; n < bytes.size(); n += bytes.size() > 2000 ? 61 : 1) {
    ClientHello hello;
    HelloResult prefix = parse_client_hello(std::span(bytes).first(n), hello);
    if (prefix.state == HelloState::kIncomplete) continue;
    EXPECT_EQ(prefix.state, out.result.state) << n;
    EXPECT_STREQ(prefix.reason, out.result.reason) << n;
    EXPECT_EQ(prefix.alert, out.result.alert) << n;
  }
  return out;
}
Read read(const HelloParts& parts) { return read(in_records(parts.message())); }
Read with_name(std::string_view name) { return read(hello_with(server_name(name))); }

TEST(ClientHello, ReadsTheName) {
  auto got = with_name("Allowed.TEST");
  ASSERT_TRUE(got.done()) << got.result.reason;
  EXPECT_EQ(got.hello.sni->text(), "allowed.test");
}

// connect-006
TEST(ClientHello, TellsOtherProtocolsApart) {
  for (auto text : {"SSH-2.0-x\r\n"s, "GET / HTTP/1.1\r\n"s, "\x80\x2e\x01"s, "\0"s, "\x15\x03\x01\0\2\2\x28"s,
                    "\x17\x03\x03"s, "\x16\x02\x00"s, "\x16\x04"s, std::string(300, '\xa7')}) {
    auto got = read(Bytes(text.begin(), text.end()));
    EXPECT_EQ(got.result.state, HelloState::kNotTls) << text;
  }
  EXPECT_EQ(read(Bytes{0x16, 0x03}).result.state, HelloState::kIncomplete);
  EXPECT_EQ(read(Bytes{}).result.state, HelloState::kIncomplete);
}

// connect-005: absent is a result, not a fault.
TEST(ClientHello, TellsThatThereIsNoName) {
  auto got = read(hello_with(""));
  ASSERT_TRUE(got.done());
  EXPECT_FALSE(got.hello.sni);
  HelloParts old;
  old.with_extensions = false;
  got = read(old);
  ASSERT_TRUE(got.done());
  EXPECT_FALSE(got.hello.sni);
}

// tls-008
TEST(ClientHello, DeniesOddNames) {
  for (auto name :
       {""s, "allowed.test."s, "."s, "allowed..test"s, "denied.test\0.allowed.test"s, "allowed.test\0"s, "10.0.0.1"s,
        "::1"s, "[::1]"s, "0x7f.1"s, "2130706433"s, "*.allowed.test"s, "a b"s, "allowed.test:443"s,
        "b\xc3\xbc"
        "cher.test"s,
        "-a.test"s, std::string(300, 'a'), std::string(64, 'a') + ".test", "user@allowed.test"s}) {
    auto got = with_name(name);
    EXPECT_TRUE(got.refused()) << name;
    EXPECT_EQ(got.result.alert, AlertDescription::kUnrecognizedName);
    EXPECT_FALSE(got.hello.sni);
  }
  for (const char* name : {"localhost", "a.b", "xn--bcher-kva.test", "_dmarc.test"})
    EXPECT_TRUE(with_name(name).done()) << name;
}

TEST(ClientHello, DeniesEveryByteThatIsNoHostByte) {
  for (int c = 0; c < 256; ++c) {
    bool fine =
        (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '.' || c == '_';
    EXPECT_EQ(with_name("x"s + static_cast<char>(c) + "y.test").done(), fine) << c;
  }
}

TEST(ClientHello, DeniesSeveralNamesAndOddLists) {
  std::string a = server_name_entry("allowed.test"), b = server_name_entry("denied.test");
  EXPECT_TRUE(read(hello_with(extension(0, prefixed(a, 2)))).done());
  EXPECT_TRUE(read(hello_with(extension(0, prefixed(a + b, 2)))).refused());
  EXPECT_TRUE(read(hello_with(extension(0, prefixed(a + a, 2)))).refused());
  EXPECT_TRUE(read(hello_with(extension(0, prefixed("", 2)))).refused());
  EXPECT_TRUE(read(hello_with(extension(0, ""))).refused());
  EXPECT_TRUE(read(hello_with(extension(0, prefixed(a, 2) + "x"))).refused());
  EXPECT_TRUE(read(hello_with(extension(0, prefixed(server_name_entry("allowed.test", 1), 2)))).refused());
  EXPECT_TRUE(read(hello_with(extension(0, prefixed(a + "\0"s, 2)))).refused());
  EXPECT_TRUE(read(hello_with(extension(0, a))).refused());
}

TEST(ClientHello, DeniesRepeatedExtensions) {
  EXPECT_TRUE(read(hello_with(server_name("allowed.test") + server_name("allowed.test"))).refused());
  EXPECT_TRUE(read(hello_with(extension(77, "a") + extension(78, "") + extension(77, "b"))).refused());
  EXPECT_TRUE(read(hello_with(extension(77, "a") + extension(78, "") + extension(79, "b"))).done());
  EXPECT_TRUE(read(hello_with(extension(0xfe0d, "a") + extension(0xfe0d, "b"))).refused());
}

// tls-010
TEST(ClientHello, ReportsEncryptedNames) {
  EXPECT_EQ(read(hello_with(server_name("allowed.test"))).hello.ech, EchState::kAbsent);
  auto got = read(hello_with(server_name("allowed.test") + extension(0xfe0d, "grease")));
  ASSERT_TRUE(got.done());
  EXPECT_EQ(got.hello.ech, EchState::kPresent);
  EXPECT_EQ(got.hello.sni->text(), "allowed.test");
  EXPECT_EQ(read(hello_with(extension(0xffce, ""))).hello.ech, EchState::kEsni);
  EXPECT_EQ(read(hello_with(extension(0xffce, "") + extension(0xfe0d, ""))).hello.ech, EchState::kEsni);
  EXPECT_TRUE(read(hello_with(extension(0xfd00, ""))).refused());
}

// tls-011
TEST(ClientHello, ReportsEarlyDataAndResumption) {
  auto got = read(hello_with(extension(42, "") + extension(41, "psk")));
  ASSERT_TRUE(got.done());
  EXPECT_TRUE(got.hello.early_data);
  EXPECT_TRUE(got.hello.pre_shared_key);
  EXPECT_TRUE(read(hello_with(extension(41, "psk") + extension(42, ""))).refused());
  EXPECT_FALSE(read(hello_with("")).hello.early_data);
}

// tls-012: all are reported as offered; what is negotiated is another's choice.
TEST(ClientHello, ReadsProtocols) {
  auto alpn = [](std::string_view list) { return read(hello_with(extension(16, prefixed(list, 2)))); };
  auto got = alpn(prefixed("acme-tls/1", 1) + prefixed("h3", 1));
  ASSERT_TRUE(got.done());
  EXPECT_TRUE(got.hello.has_alpn);
  EXPECT_TRUE(got.hello.offers_protocol("acme-tls/1"));
  EXPECT_FALSE(got.hello.offers_protocol("h2"));
  EXPECT_TRUE(alpn("").refused());
  EXPECT_TRUE(alpn("\0"s).refused());
  EXPECT_TRUE(alpn("\x05h2").refused());
  EXPECT_TRUE(read(hello_with(extension(16, ""))).refused());
  EXPECT_TRUE(read(hello_with(extension(16, prefixed(prefixed("h2", 1), 2) + "x"))).refused());
  std::string many;
  for (std::size_t i = 0; i < ClientHello::kMaxProtocols; ++i) many += prefixed("p", 1);
  EXPECT_TRUE(alpn(many).done());
  EXPECT_TRUE(alpn(many + prefixed("p", 1)).refused());
}

TEST(ClientHello, ReadsVersions) {
  auto versions = [](std::string_view list) { return read(hello_with(extension(43, prefixed(list, 1)))); };
  EXPECT_EQ(versions("\x7a\x7a\x03\x04\x03\x03").hello.newest_version(), 0x0304);
  EXPECT_EQ(versions("\x03\x03").hello.newest_version(), 0x0303);
  EXPECT_EQ(read(hello_with("")).hello.newest_version(), 0x0303);
  EXPECT_TRUE(versions("").refused());
  EXPECT_TRUE(versions("\x03").refused());
  EXPECT_TRUE(versions(std::string(66, '\3')).refused());
  EXPECT_TRUE(versions(std::string(64, '\3')).done());
}

TEST(ClientHello, DeniesMalformedParts) {
  auto refuses = [](auto change) {
    HelloParts parts;
    change(parts);
    return read(parts).refused();
  };
  EXPECT_FALSE(refuses([](auto&) {}));
  EXPECT_TRUE(refuses([](auto& p) { p.version = "\x03\x00"s; }));
  EXPECT_TRUE(refuses([](auto& p) { p.version = "\x03\x04"; }));
  EXPECT_TRUE(refuses([](auto& p) { p.version = "\xfe\xfd"; }));
  EXPECT_TRUE(refuses([](auto& p) { p.session = prefixed(std::string(33, 's'), 1); }));
  EXPECT_TRUE(refuses([](auto& p) { p.suites = prefixed("", 2); }));
  EXPECT_TRUE(refuses([](auto& p) { p.suites = prefixed("abc", 2); }));
  EXPECT_TRUE(refuses([](auto& p) { p.compression = prefixed("", 1); }));
  EXPECT_TRUE(refuses([](auto& p) { p.compression = prefixed("\x01", 1); }));
  EXPECT_TRUE(refuses([](auto& p) { p.tail = "x"; }));
  EXPECT_TRUE(refuses([](auto& p) { p.extensions = "x"; }));
  EXPECT_TRUE(refuses([](auto& p) { p.extensions += "\0\1\0\5abc"s; }));
  EXPECT_TRUE(refuses([](auto& p) {
    p.compression = prefixed("\0\1"s, 1);
    p.extensions = extension(43, prefixed("\x03\x04", 1));
  }));
  EXPECT_FALSE(refuses([](auto& p) { p.compression = prefixed("\0\1"s, 1); }));
  std::string many;
  for (std::size_t i = 0; i < 128; ++i) many += extension(1000 + i, "");
  EXPECT_FALSE(refuses([&](auto& p) { p.extensions = many; }));
  EXPECT_TRUE(refuses([&](auto& p) { p.extensions = many + extension(2000, ""); }));
}

// Every truncation of the message whose lengths were made to agree again.
TEST(ClientHello, DeniesEveryShorterMessage) {
  std::string message = HelloParts{}.message();
  for (std::size_t n = 4; n < message.size(); ++n) {
    std::string cut = message.substr(0, n);
    std::string length = prefixed(std::string(n - 4, 'x'), 3).substr(0, 3);
    cut.replace(1, 3, length);
    bool without_extensions = n == message.size() - prefixed(HelloParts{}.extensions, 2).size();
    EXPECT_EQ(read(in_records(cut)).done(), without_extensions) << n;
  }
}

TEST(ClientHello, DeniesBytesBehindTheMessageInItsRecord) {
  std::string message = HelloParts{}.message();
  EXPECT_TRUE(read(in_records(message)).done());
  EXPECT_TRUE(read(in_records(message + "x")).refused());
  EXPECT_TRUE(read(in_records(message + message)).refused());
  EXPECT_TRUE(read(in_records(message + "x", message.size() - 3)).refused());
  // Behind a message without extensions, bytes that would read as extensions.
  HelloParts old;
  old.with_extensions = false;
  EXPECT_TRUE(read(in_records(old.message() + prefixed(server_name("allowed.test"), 2))).refused());
  Bytes followed = in_records(message);
  std::size_t size = followed.size();
  append(followed, "\x14\x03\x03\0\1\1"s);
  auto got = read(followed);
  EXPECT_TRUE(got.done());
  EXPECT_EQ(got.hello.record_bytes, size);
}

TEST(ClientHello, ReadsMessagesSplitOverRecords) {
  std::string message = HelloParts{}.message();
  for (std::size_t fragment = 1; fragment <= message.size(); ++fragment) {
    Bytes bytes = in_records(message, fragment);
    std::size_t records = (message.size() + fragment - 1) / fragment;
    auto got = read(bytes);
    EXPECT_EQ(got.done(), records <= kMaxHelloRecords) << fragment;
    if (!got.done()) continue;
    EXPECT_EQ(got.hello.sni->text(), "allowed.test");
    EXPECT_EQ(got.hello.record_bytes, bytes.size());
  }
}

TEST(ClientHello, DeniesOddRecords) {
  std::string message = HelloParts{}.message();
  Bytes good = in_records(message, 40);
  ASSERT_TRUE(read(good).done());
  auto refuses = [&](std::size_t at, std::uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    return read(bytes).refused();
  };
  EXPECT_TRUE(refuses(45, 0x17));  // another record type in between
  EXPECT_TRUE(refuses(46, 0x02));
  EXPECT_TRUE(refuses(2, 0x00));  // SSL 3.0
  EXPECT_TRUE(refuses(2, 0x04));
  EXPECT_TRUE(refuses(5, 0x02));  // not a ClientHello
  EXPECT_TRUE(refuses(3, 0x41));  // longer than 2^14
  EXPECT_TRUE(read(Bytes{0x16, 3, 1, 0, 0}).refused());
  EXPECT_EQ(read(Bytes{0x16, 3, 1, 0x40, 0}).result.state, HelloState::kIncomplete);
  EXPECT_TRUE(read(Bytes{0x16, 3, 1, 0x40, 1}).refused());
}

TEST(ClientHello, BoundsItsSize) {
  auto of_size = [](std::size_t padding) {
    HelloParts parts;
    std::string extensions = server_name("allowed.test");
    for (std::size_t type = 3000; padding > 0; ++type) {
      std::size_t piece = std::min<std::size_t>(padding, 16'000);
      extensions += extension(type, std::string(piece, 'p'));
      padding -= piece;
    }
    parts.extensions = extensions;
    return in_records(parts.message());
  };
  EXPECT_TRUE(read(of_size(60'000)).done());
  EXPECT_TRUE(read(of_size(65'400)).refused());
  // The announced size is enough to refuse.
  EXPECT_TRUE(read(Bytes{0x16, 3, 1, 0x40, 0, 1, 2, 0, 0}).refused());
}

TEST(ClientHello, ForgetsWhatWasInIt) {
  ClientHello hello;
  const Bytes first = hello_with(server_name("allowed.test") + extension(0xfe0d, "")), second = hello_with("");
  ASSERT_EQ(parse_client_hello(first, hello).state, HelloState::kDone);
  ASSERT_EQ(parse_client_hello(second, hello).state, HelloState::kDone);
  EXPECT_FALSE(hello.sni);
  EXPECT_EQ(hello.ech, EchState::kAbsent);
}

TEST(ClientHello, MovesWithItsOwnBytes) {
  Bytes bytes = in_records(HelloParts{.extensions = extension(16, prefixed(prefixed("h2", 1), 2))}.message(), 20);
  ClientHello hello;
  ASSERT_EQ(parse_client_hello(bytes, hello).state, HelloState::kDone);
  ClientHello moved = std::move(hello);
  bytes.assign(bytes.size(), 0);
  EXPECT_TRUE(moved.offers_protocol("h2"));
}

TEST(Alert, IsOneFatalRecord) {
  auto alert = fatal_alert(AlertDescription::kUnrecognizedName);
  EXPECT_EQ(alert, (std::array<std::uint8_t, 7>{0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 112}));
}

}  // namespace
}  // namespace sallyport::tls
