#include "sandbox-launcher/rootfs/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "sandbox-launcher/rootfs/etc_files.h"
#include "sandbox-launcher/rootfs/stage.h"

namespace sallyport::launcher {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

const RootEntry* find(const RootPlan& plan, const std::string& path) {
  const RootEntry* found = nullptr;
  for (const auto& entry : plan.entries)
    if (entry.path == path) found = &entry;
  return found;
}

RootRequest request() {
  RootRequest request;
  request.host_name = "t-1";
  request.resolver = IpAddress::v4({198, 18, 0, 1});
  request.tmp_size = ByteCount{1 << 20};
  request.task_id = geteuid();
  return request;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class Root : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/launcher-rootfs-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
    fs::permissions(top_, fs::perms(0755));
  }
  void TearDown() override { fs::remove_all(top_); }

  fs::path make(const std::string& name) {
    fs::create_directories(top_ / name);
    return top_ / name;
  }
  // Stages `plan` in a child and looks at it there; the child's exit status.
  int staged(const RootPlan& plan, const std::function<bool(const fs::path&)>& look) {
    pid_t child = fork();
    if (child == 0) {
      auto entered = enter_private_mounts();
      auto built = entered ? build_stage(plan, "/mnt") : Result<void>(fail(entered.error()));
      if (!built) {
        fprintf(stderr, "%s\n", built.error().to_string().c_str());
        _exit(built.error().kind == ErrorKind::kDenied ? 3 : 2);
      }
      _exit(look("/mnt") ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
  }
  fs::path top_;
};

TEST(EtcFiles, SayWhoAndWhereTheTaskIs) {
  std::map<std::string, std::string> files;
  for (auto& [name, content] : written_etc_files("t-1", IpAddress::v4({198, 18, 0, 1}))) files[name] = content;
  EXPECT_THAT(files["passwd"], HasSubstr("task:x:1000:1000:task:/home/task:/bin/sh\n"));
  EXPECT_EQ(std::count(files["passwd"].begin(), files["passwd"].end(), '\n'), 3);
  EXPECT_THAT(files["hosts"], HasSubstr("127.0.1.1 t-1\n"));
  EXPECT_EQ(files["resolv.conf"].find("nameserver 198.18.0.1\n"), 0u);
  EXPECT_THAT(files["resolv.conf"], Not(HasSubstr("search")));
  EXPECT_THAT(files["nsswitch.conf"], HasSubstr("hosts: files dns\n"));
}

TEST_F(Root, OfTheHostIsAnAllowList) {
  auto plan = plan_root(request());
  ASSERT_TRUE(plan.has_value());
  ASSERT_NE(find(plan.value(), "/usr"), nullptr);
  EXPECT_FALSE(find(plan.value(), "/usr")->writable);
  for (const auto& entry : plan.value().entries) {
    if (entry.kind != RootEntry::Kind::kBind) continue;
    bool expected = entry.path == "/usr" || entry.path.starts_with("/etc/") || entry.path.starts_with("/lib") ||
                    entry.path == "/bin" || entry.path == "/sbin";
    EXPECT_TRUE(expected) << entry.path;
    EXPECT_EQ(entry.path, entry.source);
  }
  for (const char* path :
       {"/root", "/srv", "/opt", "/sys", "/boot", "/etc/shadow", "/etc/gitconfig", "/etc/ssh", "/etc/ssl/private"})
    EXPECT_EQ(find(plan.value(), path), nullptr) << path;
  EXPECT_EQ(find(plan.value(), "/etc/passwd")->kind, RootEntry::Kind::kFile);
}

TEST_F(Root, OfAGivenTreeTakesItsEntriesAndOurFiles) {
  make("tree/usr/bin");
  make("tree/app");
  make("tree/etc");
  make("tree/proc");
  make("tree/home/other");
  std::ofstream(top_ / "tree/etc/passwd") << "evil:x:0:0::/:/bin/sh\n";
  std::ofstream(top_ / "tree/etc/app.conf") << "x";
  std::ofstream(top_ / "tree/etc/private") << "x";
  fs::permissions(top_ / "tree/etc/private", fs::perms(0600));
  fs::create_symlink("usr/bin", top_ / "tree/bin");
  RootRequest asked = request();
  asked.rootfs = pin_directory(top_ / "tree", "--rootfs").value();
  auto plan = plan_root(std::move(asked));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(find(plan.value(), "/app")->source, (top_ / "tree/app").string());
  EXPECT_EQ(find(plan.value(), "/bin")->kind, RootEntry::Kind::kSymlink);
  EXPECT_EQ(find(plan.value(), "/etc/app.conf")->kind, RootEntry::Kind::kBind);
  EXPECT_EQ(find(plan.value(), "/etc/private"), nullptr);
  EXPECT_EQ(find(plan.value(), "/etc/passwd")->kind, RootEntry::Kind::kFile);
  EXPECT_EQ(find(plan.value(), "/proc")->kind, RootEntry::Kind::kDirectory);
  EXPECT_EQ(find(plan.value(), "/home")->kind, RootEntry::Kind::kDirectory);
}

TEST_F(Root, OfAGivenTreeWithALinkForEtcIsRefused) {
  make("tree");
  RootRequest asked = request();
  fs::create_symlink("/etc", top_ / "tree/etc");
  asked.rootfs = pin_directory(top_ / "tree", "--rootfs").value();
  EXPECT_EQ(plan_root(std::move(asked)).error().kind, ErrorKind::kInvalid);
}

TEST_F(Root, IsStagedReadOnlyWithAWritableWorkspaceAndScratch) {
  make("shared");
  std::ofstream(make("data") / "file") << "data";
  RootRequest asked = request();
  asked.workspace = pin_directory(top_ / "shared", "--workspace").value();
  asked.read_only.push_back(pin_directory(top_ / "data", "--ro").value());
  auto plan = plan_root(std::move(asked));
  ASSERT_TRUE(plan.has_value());
  std::string data = (top_ / "data/file").string();
  EXPECT_EQ(staged(plan.value(),
                   [&](const fs::path& at) {
                     auto writes = [&](const std::string& name) {
                       return static_cast<bool>(std::ofstream(at / name) << "x" << std::flush);
                     };
                     return fs::exists(at / "usr/bin/env") && text_of(at / "etc/hostname") == "t-1\n" &&
                            text_of(at.string() + data) == "data" && writes("tmp/x") && writes("home/task/x") &&
                            writes("workspace/x") && !writes("x") && !writes("etc/x") && !writes("usr/x") &&
                            !writes(data.substr(1)) && !fs::exists(at / "root") && !fs::exists(at / "srv");
                   }),
            0);
  EXPECT_EQ(text_of(top_ / "shared/x"), "x");
  EXPECT_FALSE(fs::exists("/mnt/usr/bin/env"));  // nothing shows outside
}

TEST_F(Root, RefusesADirectoryThatWasReplacedAfterTheCheck) {
  make("shared");
  make("other");
  RootRequest asked = request();
  asked.workspace = pin_directory(top_ / "shared", "--workspace").value();
  auto plan = plan_root(std::move(asked));
  EXPECT_EQ(staged(plan.value(), [](const fs::path&) { return true; }), 0);
  fs::rename(top_ / "shared", top_ / "moved");
  fs::rename(top_ / "other", top_ / "shared");
  EXPECT_EQ(staged(plan.value(), [](const fs::path&) { return true; }), 3);
  fs::remove(top_ / "shared");
  fs::create_directory_symlink("/root", top_ / "shared");
  EXPECT_EQ(staged(plan.value(), [](const fs::path&) { return true; }), 3);
}

TEST(StagePoint, LiesApartFromTheState) {
  EXPECT_EQ(choose_stage_point("/tmp/state").value(), "/mnt");
  EXPECT_NE(choose_stage_point("/mnt/state").value(), "/mnt");
  EXPECT_EQ(choose_stage_point("/mntx").value(), "/mnt");
}

}  // namespace
}  // namespace sallyport::launcher
