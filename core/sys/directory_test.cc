#include "core/sys/directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "core/sys/test_child.h"

namespace sallyport::sys {
namespace {

namespace fs = std::filesystem;

using testing::exited;
using testing::in_child;
using testing::kSetupFailed;

// A directory of the test's own, removed by means other than those under test.
class DirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // In memory where possible: a test makes thousands of directories.
    base_ = access("/dev/shm", W_OK) == 0 ? "/dev/shm/sallyport-dir-XXXXXX" : "/tmp/sallyport-dir-XXXXXX";
    ASSERT_NE(mkdtemp(base_.data()), nullptr);
    fd_.reset(open(base_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { fs::remove_all(base_); }
  std::string at(const std::string& name) const { return base_ + "/" + name; }
  static void touch(const std::string& path) { UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT, 0600)); }
  int fd() const { return fd_.get(); }

  std::string base_;
  UniqueFd fd_;
};

using PrivateDirectoryTest = DirectoryTest;
using RemoveTree = DirectoryTest;

TEST_F(PrivateDirectoryTest, IsMadeForUsAlone) {
  mode_t mask = umask(0);
  auto made = PrivateDirectory::create(at("state"));
  umask(mask);
  ASSERT_TRUE(made);
  struct stat status = {};
  ASSERT_EQ(stat(at("state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700U);
  EXPECT_FALSE(PrivateDirectory::create(at("state"))) << "it must be new";
  EXPECT_TRUE(PrivateDirectory::open_or_create(at("state")));
  EXPECT_TRUE(PrivateDirectory::open_or_create(at("state/"))) << "a trailing slash changes nothing";
  auto first = PrivateDirectory::create_unique(base_, "run-");
  auto second = PrivateDirectory::create_unique(base_, "run-");
  EXPECT_NE(first.value().path(), second.value().path());
}

TEST_F(PrivateDirectoryTest, RefusesWhatOthersMayTouch) {
  ASSERT_EQ(mkdir(at("open").c_str(), 0755), 0);
  EXPECT_EQ(PrivateDirectory::open_or_create(at("open")).error().kind, ErrorKind::kDenied);
  ASSERT_EQ(chmod(at("open").c_str(), 0700), 0);
  EXPECT_TRUE(PrivateDirectory::open_or_create(at("open"))) << "the control";

  ASSERT_EQ(symlink("open", at("link").c_str()), 0);
  EXPECT_EQ(PrivateDirectory::open_or_create(at("link")).error().kind, ErrorKind::kDenied);
  touch(at("file"));
  EXPECT_EQ(PrivateDirectory::open_or_create(at("file")).error().kind, ErrorKind::kDenied);

  ASSERT_EQ(mkdir(at("shared").c_str(), 0700), 0);
  ASSERT_EQ(chmod(at("shared").c_str(), 0777), 0);
  EXPECT_EQ(PrivateDirectory::create(at("shared/state")).error().kind, ErrorKind::kDenied);
  ASSERT_EQ(chmod(at("shared").c_str(), 01777), 0);
  EXPECT_TRUE(PrivateDirectory::create(at("shared/state"))) << "sticky, as /tmp";
  if (geteuid() == 0) {
    ASSERT_EQ(mkdir(at("theirs").c_str(), 0700), 0);
    ASSERT_EQ(chown(at("theirs").c_str(), 65534, 65534), 0);
    EXPECT_EQ(PrivateDirectory::open_or_create(at("theirs")).error().kind, ErrorKind::kDenied);
    EXPECT_EQ(PrivateDirectory::open_or_create(at("theirs/state")).error().kind, ErrorKind::kDenied);
  }
}

TEST_F(PrivateDirectoryTest, TakesOnlySingleNames) {
  auto directory = PrivateDirectory::create(at("state")).value();
  const std::string longest(256, 'a');
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                  std::string("/etc/passwd"), std::string("../x"), longest}) {
    EXPECT_EQ(directory.create_file(name).error().kind, ErrorKind::kInvalid) << name;
    EXPECT_EQ(directory.open_file(name, O_RDONLY).error().kind, ErrorKind::kInvalid) << name;
    EXPECT_EQ(directory.subdirectory(name).error().kind, ErrorKind::kInvalid) << name;
    EXPECT_EQ(directory.remove_file(name).error().kind, ErrorKind::kInvalid) << name;
  }
  EXPECT_EQ(directory.create_file(std::string("a\0b", 3)).error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE(PrivateDirectory::create(at("..")));
  EXPECT_FALSE(PrivateDirectory::create("/"));
  EXPECT_FALSE(PrivateDirectory::create(""));
}

TEST_F(PrivateDirectoryTest, MakesAndOpensRegularFilesOnly) {
  auto directory = PrivateDirectory::create(at("state")).value();
  {
    UniqueFd file = directory.create_file("log").value();
    EXPECT_EQ(write(file.get(), "x", 1), 1);
    EXPECT_EQ(fcntl(file.get(), F_GETFD), FD_CLOEXEC);
  }
  EXPECT_FALSE(directory.create_file("log")) << "it must be new";
  EXPECT_TRUE(directory.open_file("log", O_WRONLY | O_APPEND));
  EXPECT_EQ(directory.open_file("none", O_RDONLY).error().kind, ErrorKind::kUnavailable);
  ASSERT_EQ(symlinkat("log", directory.fd(), "link"), 0);
  EXPECT_FALSE(directory.open_file("link", O_RDONLY));
  EXPECT_FALSE(directory.create_file("link"));
  ASSERT_EQ(mkfifoat(directory.fd(), "fifo", 0600), 0);
  EXPECT_FALSE(directory.open_file("fifo", O_RDONLY)) << "and it does not block";
  auto below = directory.subdirectory("below").value();
  EXPECT_TRUE(below.create_file("x"));
  EXPECT_TRUE(directory.subdirectory("below").value().open_file("x", O_RDONLY));
  EXPECT_TRUE(directory.remove_file("log"));
  EXPECT_EQ(directory.remove_file("log").error().kind, ErrorKind::kUnavailable);
}

TEST_F(PrivateDirectoryTest, IsTheDirectoryThatWasCheckedWhateverItsNameBecomes) {
  auto directory = PrivateDirectory::create(at("state")).value();
  ASSERT_EQ(rename(at("state").c_str(), at("moved").c_str()), 0);
  ASSERT_EQ(symlink("/tmp", at("state").c_str()), 0);
  ASSERT_TRUE(directory.create_file("mine"));
  EXPECT_TRUE(fs::exists(at("moved/mine")));
}

TEST_F(PrivateDirectoryTest, RemovesItself) {
  auto directory = PrivateDirectory::create(at("state")).value();
  ASSERT_TRUE(directory.subdirectory("a").value().subdirectory("b").value().create_file("c"));
  EXPECT_TRUE(directory.remove());
  EXPECT_FALSE(fs::exists(at("state")));
  EXPECT_TRUE(fs::exists(base_));
}

TEST_F(RemoveTree, FollowsNoSymbolicLink) {
  ASSERT_EQ(mkdir(at("kept").c_str(), 0700), 0);
  touch(at("kept/file"));
  ASSERT_EQ(mkdir(at("tree").c_str(), 0700), 0);
  ASSERT_EQ(symlink("../kept", at("tree/link").c_str()), 0);
  ASSERT_EQ(symlink("/", at("tree/root").c_str()), 0);
  ASSERT_EQ(symlink("nowhere", at("tree/dangling").c_str()), 0);
  EXPECT_TRUE(remove_tree(fd(), "tree"));
  EXPECT_FALSE(fs::exists(at("tree")));
  EXPECT_TRUE(fs::exists(at("kept/file")));
  ASSERT_EQ(symlink("kept", at("link").c_str()), 0);
  EXPECT_TRUE(remove_tree(fd(), "link")) << "the link itself";
  EXPECT_TRUE(fs::exists(at("kept/file")));
}

TEST_F(RemoveTree, TakesFilesOddThingsAndNothing) {
  touch(at("file"));
  EXPECT_TRUE(remove_tree(fd(), "file"));
  EXPECT_TRUE(remove_tree(fd(), "absent"));
  ASSERT_EQ(mkdir(at("tree").c_str(), 0700), 0);
  ASSERT_EQ(mkfifo(at("tree/fifo").c_str(), 0), 0);
  touch(at("tree/\x1b[31m\n"));
  EXPECT_TRUE(remove_tree(fd(), "tree"));
  for (auto name : {"", ".", "..", "a/b"}) EXPECT_EQ(remove_tree(fd(), name).error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(fs::is_empty(base_));
}

TEST_F(RemoveTree, HasNoLimitOfDepth) {
  ASSERT_EQ(mkdir(at("tree").c_str(), 0700), 0);
  UniqueFd where(open(at("tree").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  constexpr int kDepth = 3000;  // deeper than PATH_MAX and than descriptors last
  for (int i = 0; i < kDepth; ++i) {
    ASSERT_EQ(mkdirat(where.get(), "d", 0700), 0);
    UniqueFd(openat(where.get(), "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    where.reset(openat(where.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(where);
  }
  where.reset();
  auto removed = remove_tree(fd(), "tree");
  EXPECT_TRUE(removed) << removed.error().to_string();
  EXPECT_TRUE(fs::is_empty(base_));
}

TEST_F(RemoveTree, OpensUpWhatIsOursWithoutPermissions) {
  ASSERT_EQ(chmod(base_.c_str(), 0777), 0);
  EXPECT_EQ(in_child([&] {
              if (!testing::become_ordinary_user()) return kSetupFailed;
              std::string path = at("tree");
              for (int i = 0; i < 40; ++i) {
                if (mkdir(path.c_str(), 0700) != 0) return kSetupFailed;
                path += "/d";
              }
              touch(path);
              for (int i = 0; i < 40; ++i) {
                path.resize(path.size() - 2);
                if (chmod(path.c_str(), 0) != 0) return kSetupFailed;
              }
              return remove_tree(fd(), "tree") ? 0 : 1;
            }),
            exited(0));
  EXPECT_FALSE(fs::exists(at("tree")));
}

TEST_F(RemoveTree, DoesNotEnterAnotherMount) {
  ASSERT_EQ(mkdir(at("kept").c_str(), 0700), 0);
  touch(at("kept/file"));
  fs::create_directories(at("tree/a/mounted"));
  touch(at("tree/other"));
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(in_child([&] {
              if (unshare(CLONE_NEWNS) != 0 || mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
                return kSetupFailed;
              // A bind mount: the same device, so only the mount tells.
              if (mount(at("kept").c_str(), at("tree/a/mounted").c_str(), nullptr, MS_BIND, nullptr) != 0)
                return kSetupFailed;
              // Opened anew: a descriptor from before sees the mounts of the namespace it comes from.
              UniqueFd base(open(base_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
              auto removed = remove_tree(base.get(), "tree");
              return !removed && removed.error().kind == ErrorKind::kDenied ? 0 : 1;
            }),
            exited(0));
  EXPECT_TRUE(fs::exists(at("kept/file")));
  EXPECT_FALSE(fs::exists(at("tree/other"))) << "the rest is removed";
  EXPECT_TRUE(remove_tree(fd(), "tree")) << "the control: without the mount";
}

}  // namespace
}  // namespace sallyport::sys
