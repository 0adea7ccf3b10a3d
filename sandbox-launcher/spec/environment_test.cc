#include "sandbox-launcher/spec/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace sallyport::launcher {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::map<std::string, std::string> kCaller = {
    {"GITHUB_TOKEN", "ghp_secret"}, {"AWS_SECRET_ACCESS_KEY", "secret"}, {"SSH_AUTH_SOCK", "/run/agent"},
    {"LANG", "de_DE.UTF-8"},        {"TZ", "../../etc/shadow"},          {"TERM", "screen-256color"},
    {"LD_PRELOAD", "/evil.so"},     {"HTTPS_PROXY", "http://corp:8080"}, {"PATH", "/root/bin"},
    {"CHOSEN", "by name"}};

std::optional<std::string> caller(const std::string& name) {
  auto found = kCaller.find(name);
  if (found == kCaller.end()) return std::nullopt;
  return found->second;
}

SandboxSpec spec() {
  SandboxSpec spec;
  spec.task = TaskId::parse("t-1").value();
  spec.argv = {"true"};
  return spec;
}

// launcher-006
TEST(Environment, TakesNothingOfTheCallersThatWasNotAskedFor) {
  auto built = build_environment(spec(), caller);
  ASSERT_TRUE(built.has_value());
  for (const auto& variable : built.value().variables) {
    for (const char* name : {"GITHUB_TOKEN", "AWS_", "SSH_AUTH_SOCK", "LD_PRELOAD"})
      EXPECT_THAT(variable, Not(StartsWith(name)));
    EXPECT_THAT(variable, Not(HasSubstr("/root")));
    EXPECT_THAT(variable, Not(HasSubstr("corp")));
    EXPECT_THAT(variable, Not(StartsWith("TZ=")));    // not a plain zone name
    EXPECT_THAT(variable, Not(StartsWith("TERM=")));  // no terminal
  }
  EXPECT_THAT(built.value().variables, Contains("LANG=de_DE.UTF-8"));
  EXPECT_THAT(built.value().variables, Contains("HOME=/home/task"));
}

TEST(Environment, CarriesTheTerminalsNameWithATerminal) {
  SandboxSpec s = spec();
  s.stdio = StdioKind::kTerminal;
  EXPECT_THAT(build_environment(s, caller).value().variables, Contains("TERM=screen-256color"));
}

// launcher-003
TEST(Environment, SetsProxyVariablesInBothCasesAndExemptsOnlyLoopbackLiterals) {
  SandboxSpec s = spec();
  s.proxy_port = Port::of(4000);
  auto variables = build_environment(s, caller).value().variables;
  for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
    EXPECT_THAT(variables, Contains(std::string(name) + "=http://127.0.0.1:4000"));
  for (const char* name : {"no_proxy", "NO_PROXY"})
    EXPECT_THAT(variables, Contains(std::string(name) + "=localhost,127.0.0.1,::1"));
}

// client-003
TEST(Environment, TellsJavaItsProxyAndKeepsTheCallersOptions) {
  SandboxSpec s = spec();
  s.environment = {"JAVA_TOOL_OPTIONS=-Xmx64m -Dhttps.proxyHost=elsewhere"};
  EXPECT_THAT(
      build_environment(s, caller).value().variables,
      Contains(::testing::MatchesRegex("JAVA_TOOL_OPTIONS=-Xmx64m .*elsewhere.* -Dhttps.proxyHost=127.0.0.1 "
                                       "-Dhttps.proxyPort=3128 -Dhttp.nonProxyHosts=localhost.127.0.0.1..::1.")));
}

// launcher-004
TEST(Environment, OverridesProxyVariablesOfTheTaskWithAWarning) {
  SandboxSpec s = spec();
  s.environment = {"HTTPS_PROXY=http://elsewhere:1", "no_proxy=*", "PLAIN=1"};
  auto built = build_environment(s, caller);
  EXPECT_THAT(built.value().variables, Contains("HTTPS_PROXY=http://127.0.0.1:3128"));
  EXPECT_THAT(built.value().variables, Contains("no_proxy=localhost,127.0.0.1,::1"));
  EXPECT_THAT(built.value().variables, Contains("PLAIN=1"));
  ASSERT_EQ(built.value().warnings.size(), 2u);
  EXPECT_THAT(built.value().warnings[0], HasSubstr("HTTPS_PROXY"));
}

TEST(Environment, CopiesANamedVariableAndRefusesOneThatIsNotSet) {
  SandboxSpec s = spec();
  s.environment = {"CHOSEN"};
  EXPECT_THAT(build_environment(s, caller).value().variables, Contains("CHOSEN=by name"));
  s.environment = {"ABSENT"};
  EXPECT_EQ(build_environment(s, caller).error().kind, ErrorKind::kInvalid);
}

TEST(Environment, RefusesNamesThatAreNoneAndReservedOnes) {
  for (const char* text : {"", "=x", "1A=x", "A B=x", "A-B=x", "SALLYPORT_TASK=other"}) {
    SandboxSpec s = spec();
    s.environment = {text};
    EXPECT_FALSE(build_environment(s, caller).has_value()) << text;
  }
  SandboxSpec s = spec();
  s.environment = {"_a1=x=y"};
  EXPECT_THAT(build_environment(s, caller).value().variables, Contains("_a1=x=y"));
}

TEST(Runtime, IsParsedStrictly) {
  EXPECT_EQ(parse_runtime("runc").value(), RuntimeKind::kRunc);
  EXPECT_EQ(parse_runtime("bwrap").value(), RuntimeKind::kBwrap);
  for (const char* text : {"", "Runc", "runc ", "crun"}) EXPECT_FALSE(parse_runtime(text).has_value()) << text;
  EXPECT_EQ(default_runtime(0), RuntimeKind::kRunc);
  EXPECT_EQ(default_runtime(1000), RuntimeKind::kBwrap);
}

}  // namespace
}  // namespace sallyport::launcher
