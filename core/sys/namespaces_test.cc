#include "core/sys/namespaces.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/sys/test_child.h"

namespace sallyport::sys {
namespace {

using testing::exited;
using testing::fork_child;
using testing::in_child;
using testing::kSetupFailed;

constexpr auto kNet = NamespaceKind::kNetwork;

TEST(Namespace, IsIdentifiedHoweverItIsReached) {
  auto current = current_netns().value();
  EXPECT_EQ(current.id(), Namespace::open("/proc/self/ns/net", kNet).value().id());
  EXPECT_EQ(current.id(), Namespace::of_process(getpid(), kNet).value().id());
  EXPECT_EQ(current.id(), current_namespace_id(kNet).value());
  UniqueFd self = open_pidfd(getpid()).value();
  EXPECT_EQ(pid_of_pidfd(self.get()).value(), getpid());
  EXPECT_EQ(current.id(), Namespace::of_pidfd(self.get(), kNet).value().id());
  EXPECT_EQ(current.id(), Namespace::adopt(UniqueFd(open("/proc/self/ns/net", O_RDONLY)), kNet).value().id());
}

TEST(Namespace, RefusesAnotherKind) {
  for (auto kind : {NamespaceKind::kUser, NamespaceKind::kMount, NamespaceKind::kPid, NamespaceKind::kIpc,
                    NamespaceKind::kUts, NamespaceKind::kCgroup}) {
    EXPECT_TRUE(Namespace::current(kind)) << to_string(kind);
    EXPECT_EQ(Namespace::open("/proc/self/ns/net", kind).error().kind, ErrorKind::kInvalid) << to_string(kind);
  }
}

TEST(Namespace, RefusesWhatIsNoNamespace) {
  char path[] = "/tmp/sallyport-ns-XXXXXX";
  ASSERT_NE(mkdtemp(path), nullptr);
  std::string fifo = std::string(path) + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(Namespace::open(fifo, kNet).error().kind, ErrorKind::kInvalid) << "and it does not block";
  unlink(fifo.c_str());
  rmdir(path);
  for (auto file : {"/etc/passwd", "/dev/null", "/proc/self/status", "/tmp"})
    EXPECT_EQ(Namespace::open(file, kNet).error().kind, ErrorKind::kInvalid) << file;
  EXPECT_EQ(Namespace::open("/nonexistent", kNet).error().kind, ErrorKind::kUnavailable);
  EXPECT_FALSE(Namespace::adopt(UniqueFd(socket(AF_INET, SOCK_DGRAM, 0)), kNet));
  EXPECT_FALSE(Namespace::adopt(UniqueFd(), kNet));
  EXPECT_FALSE(Namespace::of_process(-1, kNet));
  EXPECT_EQ(Namespace::of_process(0x7ffffff0, kNet).error().kind, ErrorKind::kUnavailable);
}

// A child in its own user and network namespace, waiting.
class Isolated {
 public:
  Isolated() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    UniqueFd ready(ends[0]), tell(ends[1]);
    child_.emplace(fork_child([&] {
      if (!testing::become_ordinary_user() || unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return kSetupFailed;
      prctl(PR_SET_DUMPABLE, 1);
      [[maybe_unused]] ssize_t written = write(tell.get(), "x", 1);
      sleep(25);
      return 0;
    }));
    tell.reset();
    char byte = 0;
    works_ = read(ready.get(), &byte, 1) == 1;
  }
  bool works() const { return works_; }
  ChildProcess& process() { return *child_; }

 private:
  std::optional<ChildProcess> child_;
  bool works_ = false;
};

TEST(Namespace, TellsItsOwner) {
  Isolated isolated;
  if (!isolated.works()) GTEST_SKIP() << "no user namespaces here";
  auto net = Namespace::of_process(isolated.process().pid(), kNet).value();
  auto user = Namespace::of_process(isolated.process().pid(), NamespaceKind::kUser).value();
  EXPECT_NE(net.id(), current_netns().value().id());
  EXPECT_EQ(net.owner().value().id(), user.id());
  EXPECT_NE(user.id(), current_namespace_id(NamespaceKind::kUser).value());
  uid_t expected = geteuid() == 0 ? testing::kNobody.uid : geteuid();
  EXPECT_EQ(user.owner_uid().value(), expected);
  EXPECT_EQ(user.owner().value().id(), current_namespace_id(NamespaceKind::kUser).value()) << "its parent";
  EXPECT_FALSE(is_initial_user_namespace(user.id()));
  EXPECT_FALSE(net.owner_uid()) << "only user namespaces have one";
}

TEST(Namespace, IsEnteredByDescriptor) {
  Isolated isolated;
  if (!isolated.works()) GTEST_SKIP() << "no user namespaces here";
  auto net = Namespace::of_process(isolated.process().pid(), kNet).value();
  auto user = net.owner().value();
  EXPECT_EQ(in_child([&] {
              if (!user.enter() || !net.enter()) return 1;
              return current_namespace_id(kNet).value() == net.id() ? 0 : 2;
            }),
            exited(0));
  if (geteuid() == 0) {
    EXPECT_EQ(in_child([&] {
                if (!net.enter()) return kSetupFailed;
                UniqueFd inside(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
                return Namespace::of_socket(inside.get()).value().id() == net.id() ? 0 : 1;
              }),
              exited(0));
  }
}

TEST(Namespace, OfAProcessThatHasEndedIsRefused) {
  Isolated isolated;
  if (!isolated.works()) GTEST_SKIP() << "no user namespaces here";
  int pidfd = isolated.process().pidfd();
  EXPECT_TRUE(Namespace::of_pidfd(pidfd, kNet));
  ASSERT_TRUE(isolated.process().signal(SIGKILL));
  ASSERT_TRUE(isolated.process().wait(Deadline::after(std::chrono::seconds(5))));
  EXPECT_EQ(Namespace::of_pidfd(pidfd, kNet).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(pid_of_pidfd(0).error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(open_pidfd(0x7ffffff0).error().kind, ErrorKind::kUnavailable);
}

TEST(Namespace, OfPid1IsComparedWithoutRightsOverIt) {
  Isolated isolated;
  if (!isolated.works()) GTEST_SKIP() << "no user namespaces here";
  pid_t pid = isolated.process().pid();
  EXPECT_TRUE(shares_network_namespace(getpid()).value());
  EXPECT_FALSE(shares_network_namespace(pid).value());
  EXPECT_EQ(shares_network_namespace(0x7ffffff0).error().kind, ErrorKind::kUnavailable);
  // Where the usual way is open, both say the same.
  auto id = pid1_namespace_id(kNet);
  auto shared = shares_network_namespace(1);
  ASSERT_TRUE(shared);
  if (id) EXPECT_EQ(shared.value(), id.value() == current_netns().value().id());
  EXPECT_EQ(in_child([&] {
              if (!testing::become_ordinary_user()) return kSetupFailed;
              auto refused = pid1_namespace_id(kNet);
              if (refused || refused.error().kind != ErrorKind::kDenied) return 1;
              auto known = shares_network_namespace(1);
              return known && known.value() == shared.value() ? 0 : 2;
            }),
            exited(0));
}

}  // namespace
}  // namespace sallyport::sys
