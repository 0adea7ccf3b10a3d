#include "sandbox-launcher/workspace/directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sandbox-launcher/workspace/idmap.h"

namespace sallyport::launcher {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Directories : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/launcher-workspace-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    top_ = name;
  }
  void TearDown() override { fs::remove_all(top_); }

  fs::path make(const std::string& name) {
    fs::create_directories(top_ / name);
    return top_ / name;
  }
  Result<void> judge(const fs::path& path, Sensitive sensitive = {}) {
    BOOST_OUTCOME_TRY(auto pinned, pin_directory(path, "--ro"));
    return refuse_sensitive(pinned, sensitive, "--ro");
  }
  Result<void> search(const fs::path& path) {
    BOOST_OUTCOME_TRY(auto pinned, pin_directory(path, "--workspace"));
    return refuse_sockets(pinned, "--workspace");
  }

  fs::path top_;
};

TEST_F(Directories, AreOpenedOnceUnderTheirRealPath) {
  fs::path real = make("real/sub");
  fs::create_directory_symlink(top_ / "real", top_ / "link");
  auto pinned = pin_directory(top_ / "link/sub", "--ro");
  ASSERT_TRUE(pinned.has_value());
  EXPECT_EQ(pinned.value().path, real.string());
  struct stat facts{};
  ASSERT_EQ(stat(real.c_str(), &facts), 0);
  EXPECT_EQ(pinned.value().inode, facts.st_ino);
}

TEST_F(Directories, RefusesWhatIsNoDirectory) {
  std::ofstream(top_ / "file") << "x";
  EXPECT_EQ(pin_directory(top_ / "file", "--ro").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(pin_directory(top_ / "absent", "--ro").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(pin_directory("", "--ro").error().kind, ErrorKind::kInvalid);
}

TEST_F(Directories, RefusesSensitivePlacesAndSaysWhy) {
  for (const char* path :
       {"/", "/proc", "/proc/self", "/sys", "/dev", "/run", "/var/run", "/etc", "/etc/ssl", "/var", "/boot"}) {
    if (!fs::exists(path)) continue;
    auto judged = judge(path);
    ASSERT_FALSE(judged.has_value()) << path;
    EXPECT_EQ(judged.error().kind, ErrorKind::kDenied) << path;
    EXPECT_THAT(judged.error().detail, HasSubstr("refused: it ")) << path;
  }
  EXPECT_TRUE(judge(make("data")).has_value());
  EXPECT_TRUE(judge("/usr").has_value());
}

TEST_F(Directories, RefusesTheWayAroundBySymbolicLink) {
  fs::create_directory_symlink("/etc", top_ / "innocent");
  EXPECT_FALSE(judge(top_ / "innocent").has_value());
}

TEST_F(Directories, RefusesTheStateDirectoryInsideAndOutside) {
  fs::path state = make("state/task");
  make("state/task/inner");
  make("state-of-others");
  Sensitive sensitive{state, {}};
  for (const char* name : {"state", "state/task", "state/task/inner"})
    EXPECT_FALSE(judge(top_ / name, sensitive).has_value()) << name;
  EXPECT_TRUE(judge(top_ / "state-of-others", sensitive).has_value());
}

// launcher-006
TEST_F(Directories, RefusesWholeHomesAndPlacesOfCredentials) {
  fs::path project = make("home/me/project");
  Sensitive sensitive{"", {top_ / "home/me"}};
  EXPECT_FALSE(judge(top_ / "home/me", sensitive).has_value());
  EXPECT_FALSE(judge(top_ / "home", sensitive).has_value());
  EXPECT_TRUE(judge(project, sensitive).has_value());
  EXPECT_FALSE(judge(make("home/me/.ssh"), sensitive).has_value());
  EXPECT_FALSE(judge(make("home/me/.aws/sso/cache"), sensitive).has_value());
  EXPECT_TRUE(judge(make("home/me/.sshx"), sensitive).has_value());
}

// firewall-007
TEST_F(Directories, RefusesASocketAnywhereInside) {
  fs::path deep = make("w/a/b/c");
  std::ofstream(deep / "file") << "x";
  fs::create_directory_symlink("/run", deep / "link-out");
  EXPECT_TRUE(search(top_ / "w").has_value());
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = (deep / "docker.sock").string();
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  auto searched = search(top_ / "w");
  close(fd);
  ASSERT_FALSE(searched.has_value());
  EXPECT_EQ(searched.error().kind, ErrorKind::kDenied);
  EXPECT_THAT(searched.error().detail, HasSubstr("docker.sock"));
}

TEST_F(Directories, GiveAnIdMapAsRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  auto map = make_idmap(0, 0, 1879114728);
  EXPECT_TRUE(map.has_value()) << map.error().to_string();
}

}  // namespace
}  // namespace sallyport::launcher
