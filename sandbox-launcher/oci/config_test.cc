#include "sandbox-launcher/oci/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "sandbox-launcher/oci/cgroup.h"
#include "sandbox-launcher/oci/log.h"

namespace sallyport::launcher {
namespace {

using nlohmann::json;

OciRequest example() {
  OciRequest request;
  request.root = "/mnt";
  request.host_name = "t-1";
  request.cgroup = "/sallyport-t-1";
  request.argv = {"/run/sallyport-init", "--", "true"};
  request.environment = {"HOME=/home/task"};
  request.shm_size = ByteCount{1 << 20};
  return request;
}

TEST(OciConfig, MakesEveryNamespaceAnewAndMapsIdsToNobodys) {
  json config = json::parse(oci_config(example()));
  std::set<std::string> kinds;
  for (const auto& space : config["linux"]["namespaces"]) {
    kinds.insert(space["type"].get<std::string>());
    EXPECT_FALSE(space.contains("path"));  // a path would join an existing one
  }
  EXPECT_EQ(kinds, (std::set<std::string>{"user", "network", "pid", "mount", "ipc", "uts", "cgroup"}));
  for (const char* name : {"uidMappings", "gidMappings"}) {
    ASSERT_EQ(config["linux"][name].size(), 1u);
    EXPECT_EQ(config["linux"][name][0], json({{"containerID", 0}, {"hostID", 1879113728u}, {"size", 65536u}}));
  }
}

TEST(OciConfig, RunsAsTaskWithoutPrivilege) {
  json process = json::parse(oci_config(example()))["process"];
  EXPECT_EQ(process["user"]["uid"], 1000);
  EXPECT_EQ(process["user"]["gid"], 1000);
  EXPECT_FALSE(process["user"].contains("additionalGids"));
  EXPECT_EQ(process["noNewPrivileges"], true);
  EXPECT_EQ(process["capabilities"].size(), 5u);
  for (const auto& set : process["capabilities"]) EXPECT_TRUE(set.empty());
  EXPECT_EQ(process["env"], json({"HOME=/home/task"}));
  EXPECT_EQ(process["args"], json({"/run/sallyport-init", "--", "true"}));
}

TEST(OciConfig, RaisesNoResourceLimit) {
  json limits = json::parse(oci_config(example()))["process"]["rlimits"];
  ASSERT_EQ(limits.size(), 1u);
  EXPECT_EQ(limits[0], json({{"type", "RLIMIT_CORE"}, {"hard", 0}, {"soft", 0}}));
}

TEST(OciConfig, MountsNothingOfTheHosts) {
  json config = json::parse(oci_config(example()));
  EXPECT_EQ(config["root"], json({{"path", "/mnt"}, {"readonly", true}}));
  for (const auto& mount : config["mounts"])
    EXPECT_TRUE(mount["type"] != "bind" && mount["type"] != "sysfs" && mount["type"] != "cgroup") << mount;
  EXPECT_THAT(config["linux"]["maskedPaths"].get<std::vector<std::string>>(), ::testing::Contains("/proc/kcore"));
  EXPECT_THAT(config["linux"]["readonlyPaths"].get<std::vector<std::string>>(), ::testing::Contains("/proc/sys"));
}

TEST(OciConfig, LimitsTheWholeTreeWhenAsked) {
  OciRequest request = example();
  EXPECT_FALSE(json::parse(oci_config(request))["linux"]["resources"].contains("memory"));
  request.memory = ByteCount{64 << 20};
  request.processes = 10;
  json resources = json::parse(oci_config(request))["linux"]["resources"];
  EXPECT_EQ(resources["memory"]["limit"], 64 << 20);
  EXPECT_FALSE(resources["memory"].contains("swap"));
  EXPECT_EQ(resources["pids"]["limit"], 11);
  request.limit_swap = true;
  EXPECT_EQ(json::parse(oci_config(request))["linux"]["resources"]["memory"]["swap"], 64 << 20);
}

TEST(OciConfig, FiltersSystemCallsByAllowList) {
  json seccomp = json::parse(oci_config(example()))["linux"]["seccomp"];
  EXPECT_EQ(seccomp["defaultAction"], "SCMP_ACT_ERRNO");
  EXPECT_EQ(seccomp["architectures"].size(), 1u);
  bool socket_always = false;
  for (const auto& rule : seccomp["syscalls"])
    if (rule["names"][0] == "socket" && rule["action"] == "SCMP_ACT_ALLOW") socket_always |= !rule.contains("args");
  EXPECT_FALSE(socket_always);
}

TEST(RuncLog, GivesTheLastError) {
  EXPECT_EQ(last_runc_error("{\"level\":\"warning\",\"msg\":\"w\"}\n{\"level\":\"error\",\"msg\":\"first\"}\n{"
                            "\"level\":\"error\",\"msg\":\"a\\u001bb\"}\nnot json\n"),
            "a\\x1bb");
  EXPECT_EQ(last_runc_error(""), "");
  EXPECT_EQ(last_runc_error("{\"level\":\"info\",\"msg\":\"x\"}"), "");
}

TEST(Cgroup, IsReadForAProcessOfAnyVersion) {
  // The test's own cgroups: whatever they are, reading them fails nowhere.
  CgroupEvents events = CgroupReader::of(getpid()).read();
  EXPECT_EQ(events.refused_forks, 0u);
  EXPECT_EQ(CgroupReader::of(-1).read().oom_kills, 0u);
}

}  // namespace
}  // namespace sallyport::launcher
