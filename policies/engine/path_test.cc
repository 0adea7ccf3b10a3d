#include "policies/engine/path.h"

#include <gtest/gtest.h>

namespace sallyport::policy {
namespace {

std::string canonical(std::string_view raw) {
  auto path = CanonicalPath::parse(raw);
  return path ? std::string(path.value().text()) : "refused: " + path.error().detail;
}

TEST(CanonicalPath, KeepsWhatIsCanonical) {
  for (auto text :
       {"/", "/a", "/a/", "/a/b.c/d~e_f-g", "/%20", "/a:b@c!$&'()*+,=", "/.hidden", "/...", "/a..b/c.", "/caf%C3%A9"})
    EXPECT_EQ(canonical(text), text);
}

TEST(CanonicalPath, RefusesDotSegmentsInEverySpelling) {  // path-001, path-002, path-013
  for (auto text :
       {"/public/../secret", "/public/./../secret", "/public/a/../../secret", "/../../etc", "/public/../../../x", "/..",
        "/.", "/a/..", "/a/.", "/public/%2e%2e/secret", "/public/.%2E/secret", "/public/%2e/x", "/%2E%2e"})
    EXPECT_EQ(canonical(text), "refused: a path has a dot segment") << text;
  EXPECT_EQ(canonical("/public/x%2ejson"), "/public/x.json");
}

TEST(CanonicalPath, TakesOutSegmentsThatMeanNothing) {  // client-009: flat repositories of apt
  EXPECT_EQ(canonical("/debian/./Packages.gz"), "/debian/Packages.gz");
  EXPECT_EQ(canonical("/./a/././b/./"), "/a/b/");
  EXPECT_EQ(canonical("/./"), "/");
  for (auto text : {"/./..", "/a/./../b", "/a/.", "/./.", "/a/.//b", "/a//./b", "/.%2e/./b"})
    EXPECT_TRUE(canonical(text).starts_with("refused")) << text;
}

TEST(CanonicalPath, RefusesEncodedSeparators) {  // path-004
  for (auto text : {"/public%2fsecret", "/public/..%2fsecret", "/public/..%5csecret", "/public%5C..%5csecret"})
    EXPECT_EQ(canonical(text), "refused: a path has an encoded slash") << text;
  EXPECT_EQ(canonical("/public/%3asecret"), "/public/%3Asecret");
}

TEST(CanonicalPath, DecodesWhatIsUnreserved) {  // path-005
  EXPECT_EQ(canonical("/%61dmin/x"), "/admin/x");
  EXPECT_EQ(canonical("/adm%69n/%7E%5f"), "/admin/~_");
  EXPECT_EQ(canonical("/api/%70rojects/1"), "/api/projects/1");
  EXPECT_EQ(canonical("/a%2bb%2Bc+d"), "/a%2Bb%2Bc+d");
}

TEST(CanonicalPath, EncodesWhatClientsSendAgainstTheGrammar) {
  EXPECT_EQ(canonical("/a[0]|{b}^`\"<c>"), "/a%5B0%5D%7C%7Bb%7D%5E%60%22%3Cc%3E");
}

TEST(CanonicalPath, RefusesEmptySegments) {  // path-007
  for (auto text : {"//admin/x", "/a//..//admin/x", "///admin/x", "/a//", "//"})
    EXPECT_NE(canonical(text).find("refused"), std::string::npos) << text;
  EXPECT_EQ(canonical("/admin/x/"), "/admin/x/");
}

TEST(CanonicalPath, RefusesBackslashesControlsAndOtherBytes) {  // path-006, path-010, path-011, input-003
  for (auto text : {"/public\\..\\secret", "/public/%zz", "/public/%", "/public/%4", "/public/%c0%ae%c0%ae/secret",
                    "/public/\xe2\x80\xa5/secret", "~x", "", "x", "/public/x%00.json", "/public/x%0d%0aX:1",
                    "/public/x%09", "/x%7F", "/public#/../secret", "/a b", "/%ff", "/%ed%a0%80"})
    EXPECT_TRUE(canonical(text).starts_with("refused")) << text;
  for (int byte = 0; byte < 256; ++byte) {
    std::string text = std::string("/a") + static_cast<char>(byte) + "b";
    bool printable = byte > 0x20 && byte < 0x7f && byte != '\\' && byte != '#' && byte != '?' && byte != '%';
    EXPECT_EQ(CanonicalPath::parse(text).has_value(), printable) << byte;
  }
}

TEST(CanonicalPath, MarksWhatServersReadDifferently) {  // path-003, path-008
  for (auto text : {"/public/%252e%252e/secret", "/public/%252fsecret", "/public/%25252e%25252e/x", "/admin;x/b",
                    "/public/..;/secret", "/public;/x", "/a%3Bb"})
    EXPECT_TRUE(CanonicalPath::parse(text).value().ambiguous()) << text;
  for (auto text : {"/100%25", "/100%25-off", "/%25zz", "/a,b"})
    EXPECT_FALSE(CanonicalPath::parse(text).value().ambiguous()) << text;
}

TEST(CanonicalPath, HasAMaximum) {  // input-022
  EXPECT_TRUE(CanonicalPath::parse("/" + std::string(CanonicalPath::kMaxLength - 1, 'a')));
  EXPECT_FALSE(CanonicalPath::parse("/" + std::string(CanonicalPath::kMaxLength, 'a')));
  EXPECT_FALSE(CanonicalPath::parse("/" + std::string(CanonicalPath::kMaxLength - 1, '|')));
}

TEST(CanonicalPath, IsStable) {
  for (auto raw : {"/%61%2b|%C3%a9", "/a/%25/b", "/%2525"}) {
    auto once = canonical(raw);
    EXPECT_EQ(canonical(once), once) << raw;
  }
}

TEST(CanonicalTarget, KeepsTheQueryByteForByte) {
  EXPECT_EQ(CanonicalTarget::parse("/%61?x=%61&y[]=../..;#").has_value(), false);
  EXPECT_EQ(CanonicalTarget::parse("/%61?x=%61&y[]=../..;").value().wire(), "/a?x=%61&y[]=../..;");
  EXPECT_EQ(CanonicalTarget::parse("/?").value().wire(), "/?");
  EXPECT_EQ(CanonicalTarget::parse("/").value().wire(), "/");
  EXPECT_EQ(CanonicalTarget::parse("/?a?b").value().query, "a?b");
  for (auto text : {"/?a b", "/?a\nb", "/?\xc3\xa9", "/?\x7f", "*", "http://h/", "?x"})
    EXPECT_FALSE(CanonicalTarget::parse(text)) << text;
}

}  // namespace
}  // namespace sallyport::policy
