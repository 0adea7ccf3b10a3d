// Peers, signals and the place of the executable.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>

#include "core/sys/executable.h"
#include "core/sys/peer.h"
#include "core/sys/signals.h"
#include "core/sys/test_child.h"

namespace sallyport::sys {
namespace {

using testing::exited;
using testing::in_child;
using testing::kSetupFailed;

TEST(Peer, IsWhoMadeTheConnection) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  UniqueFd ours(ends[0]), theirs(ends[1]);
  auto peer = peer_credentials(ours.get()).value();
  EXPECT_EQ(peer.pid, getpid());
  EXPECT_EQ(peer.uid, geteuid());
  EXPECT_EQ(peer.gid, getegid());
  auto pidfd = peer_pidfd(ours.get());
  if (!pidfd && pidfd.error().kind == ErrorKind::kUnavailable) GTEST_SKIP() << "no SO_PEERPIDFD";
  EXPECT_EQ(pid_of_pidfd(pidfd.value().get()).value(), getpid());
}

TEST(Peer, IsUnknownOfOtherSockets) {
  UniqueFd lonely(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  UniqueFd internet(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  UniqueFd file(open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (int fd : {lonely.get(), internet.get(), file.get(), -1}) {
    EXPECT_FALSE(peer_credentials(fd)) << fd;
    EXPECT_FALSE(peer_pidfd(fd)) << fd;
  }
}

TEST(SignalReader, ReadsWhatWasSent) {
  EXPECT_EQ(in_child([] {
              auto reader = SignalReader::open({SIGTERM, SIGCHLD});
              if (!reader || reader.value().read().value().has_value()) return kSetupFailed;
              raise(SIGTERM);
              auto received = reader.value().read().value();
              if (!received || received->number != SIGTERM || received->pid != getpid()) return 1;
              pid_t child = fork();
              if (child == 0) _exit(7);
              pollfd wait{reader.value().fd(), POLLIN, 0};
              if (poll(&wait, 1, 5000) != 1) return 2;
              received = reader.value().read().value();
              return received && received->number == SIGCHLD && received->pid == child && received->status == 7 ? 0 : 3;
            }),
            exited(0));
}

TEST(SignalReader, GivesTheMaskBack) {
  auto ends_by_signal = [](bool reading) {
    return in_child([=]() -> int {
      std::optional<SignalReader> reader(SignalReader::open({SIGTERM}).value());
      if (!reading) reader.reset();
      raise(SIGTERM);
      _exit(0);
    });
  };
  EXPECT_EQ(ends_by_signal(true), exited(0));
  EXPECT_EQ(ends_by_signal(false), testing::killed_by(SIGTERM));
  EXPECT_FALSE(SignalReader::open({999}));
}

TEST(Signals, IgnoredSigpipeBecomesAnError) {
  auto write_to_nobody = [](bool ignore) {
    return in_child([=] {
      if (ignore) ignore_sigpipe();
      int ends[2];
      if (pipe(ends) != 0) return kSetupFailed;
      close(ends[0]);
      return testing::outcome(write(ends[1], "x", 1));
    });
  };
  EXPECT_EQ(write_to_nobody(true), exited(EPIPE));
  EXPECT_EQ(write_to_nobody(false), testing::killed_by(SIGPIPE));
}

TEST(Executable, IsWhereThisTestIs) {
  auto directory = executable_directory().value();
  EXPECT_EQ(directory, std::filesystem::read_symlink("/proc/self/exe").parent_path().string());
  EXPECT_TRUE(std::filesystem::exists(directory + "/test_core_sys"));
}

}  // namespace
}  // namespace sallyport::sys
