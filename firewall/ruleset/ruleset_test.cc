#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "firewall/inspect/packet_filters.h"
#include "firewall/ruleset/load_ruleset.h"
#include "firewall/testing/new_namespace.h"

namespace sallyport::firewall {
namespace {

std::size_t at(const std::string& text, std::string_view part) {
  std::size_t found = text.find(part);
  EXPECT_NE(found, std::string::npos) << part;
  return found;
}

TEST(RulesetText, CatchesInTheOrderThatMatters) {
  std::string text = ruleset_text(PacketLog::kOff);
  std::size_t own = at(text, "ip daddr { 127.0.0.0/8, 10.77.0.2 } return");
  std::size_t own6 = at(text, "ip6 daddr { ::1, fd77:7370::2 } return");
  std::size_t reply = at(text, "ct direction reply return");
  std::size_t known = at(text, "socket transparent 1 socket wildcard 0 accept");
  std::size_t caught = at(text, "tproxy to :15001 accept");
  EXPECT_LT(own, own6);
  EXPECT_LT(own6, reply);
  EXPECT_LT(reply, known);
  EXPECT_LT(known, caught);
}

TEST(RulesetText, DeniesByDefaultAndLogsOnlyWhenTold) {
  EXPECT_NE(ruleset_text(PacketLog::kOff).find("hook output priority filter; policy drop;"), std::string::npos);
  EXPECT_EQ(ruleset_text(PacketLog::kOff).find("log prefix"), std::string::npos);
  EXPECT_NE(ruleset_text(PacketLog::kOn).find("log prefix"), std::string::npos);
}

TEST(LoadRuleset, LoadsInOneTransactionAndIsRecognised) {
  in_new_namespace([] {
    auto loaded = load_ruleset();
    return holds(loaded) && check_ruleset(loaded.value()).has_value();
  });
}

TEST(LoadRuleset, NoticesEveryLaterChange) {
  for (const char* change :
       {"nft flush ruleset", "nft add table ip other", "nft add rule inet sallyport leaving accept",
        "nft flush ruleset; nft add table inet sallyport", "iptables-legacy -L >/dev/null"}) {
    // Only the kernel's root can make a legacy table here, and see it.
    if (std::string_view(change).starts_with("iptables") && ::geteuid() != 0) continue;
    if (std::string_view(change).starts_with("iptables") && ::access("/usr/sbin/iptables-legacy", X_OK) != 0) continue;
    in_new_namespace([change] {
      auto loaded = load_ruleset();
      if (!loaded || !check_ruleset(loaded.value())) return false;
      if (std::system(change) != 0) return false;
      return !check_ruleset(loaded.value());
    });
  }
}

TEST(LoadRuleset, RefusesBesideAnotherTable) {
  in_new_namespace([] { return std::system("nft add table ip other") == 0 && !load_ruleset(); });
}

TEST(PacketFilters, ListsTablesOfEveryFamily) {
  in_new_namespace([] {
    auto none = list_filter_tables(UnreadableLegacy::kPassOver);
    if (!none || !none.value().empty()) return false;
    if (std::system("nft 'add table ip6 a; add table arp b; add table netdev c; add table inet d'") != 0) return false;
    auto four = list_filter_tables(UnreadableLegacy::kPassOver);
    return four && four.value().size() == 4;
  });
}

}  // namespace
}  // namespace sallyport::firewall
