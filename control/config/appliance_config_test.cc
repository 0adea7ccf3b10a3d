#include "control/config/appliance_config.h"

#include <gtest/gtest.h>

namespace sallyport::control {
namespace {

TEST(ApplianceConfig, ReadsEveryKey) {
  auto outcome = load_appliance_config(
      "resolver:\n  servers: [198.51.100.53, \"[2001:db8::53]:5353\"]\naddresses:\n  permit: [10.0.0.0/8, \"2001:db8::/32\"]\n"
      "sandbox:\n  memory: 512MiB\n  processes: 64\naudit:\n  durability: strict\n",
      "appliance.yaml");
  ASSERT_TRUE(outcome.config);
  EXPECT_EQ(outcome.config->resolver_servers.size(), 2u);
  EXPECT_EQ(outcome.config->permit.size(), 2u);
  EXPECT_EQ(outcome.config->memory->value, 512u << 20);
  EXPECT_EQ(outcome.config->processes, 64u);
  EXPECT_TRUE(outcome.config->strict_audit);
}

TEST(ApplianceConfig, IsTheDefaultWhenEmpty) {
  auto outcome = load_appliance_config("", "x");
  ASSERT_TRUE(outcome.config);
  EXPECT_TRUE(outcome.config->permit.empty());
}

TEST(ApplianceConfig, RefusesWhatItDoesNotKnowAndSaysWhere) {
  struct Bad {
    const char* text;
    std::uint32_t line;
  };
  for (auto bad : {Bad{"adresses:\n  permit: [10.0.0.0/8]\n", 1}, Bad{"addresses:\n  permit: [10.0.0.1/8]\n", 2},
                   Bad{"addresses:\n  permit: 10.0.0.0/8\n", 2}, Bad{"resolver:\n  servers: [dns.example]\n", 2},
                   Bad{"trust:\n  ca_file: /x\n", 1}, Bad{"audit:\n  durability: none\n", 2}, Bad{"sandbox:\n  memory: 512\n", 2},
                   Bad{"sandbox:\n  memory: 1GiB\n  memory: 2GiB\n", 3}, Bad{"resolver:\n  servers: [1.2.3.4:0]\n", 2}}) {
    auto outcome = load_appliance_config(bad.text, "appliance.yaml");
    EXPECT_FALSE(outcome.config) << bad.text;
    ASSERT_FALSE(outcome.diagnostics.empty()) << bad.text;
    EXPECT_EQ(outcome.diagnostics[0].line, bad.line) << bad.text;
  }
}

}  // namespace
}  // namespace sallyport::control
