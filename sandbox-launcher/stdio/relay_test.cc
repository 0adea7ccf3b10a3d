#include "sandbox-launcher/stdio/relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>

namespace sallyport::launcher {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  UniqueFd reader, writer;
};

void put(int fd, std::string_view text) {
  ASSERT_EQ(write(fd, text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

// What comes within `seconds`, up to `size` bytes or the end.
std::string get(int fd, std::size_t size, int seconds = 5) {
  std::string text;
  Deadline deadline = Deadline::after(std::chrono::seconds(seconds));
  while (text.size() < size) {
    pollfd polled{fd, POLLIN, 0};
    if (poll(&polled, 1, deadline.poll_timeout(Clock::now())) <= 0) break;
    char part[65536];
    ssize_t n = read(fd, part, std::min(sizeof part, size - text.size()));
    if (n <= 0) break;
    text.append(part, static_cast<std::size_t>(n));
  }
  return text;
}

// The task's side and the caller's side of a relay, all in this process.
class Relay : public ::testing::Test {
 protected:
  void start() {
    StdioEnds ends;
    ends.input = std::move(task_in.writer);
    ends.output = std::move(task_out.reader);
    ends.error = std::move(task_error.reader);
    auto made = StdioRelay::start(std::move(ends),
                                  {caller_in.reader.get(), caller_out.writer.get(), caller_error.writer.get()});
    ASSERT_TRUE(made.has_value());
    relay = std::move(made).value();
  }
  static Deadline soon() { return Deadline::after(std::chrono::seconds(5)); }
  void task_ends() {
    task_in.reader.reset();
    task_out.writer.reset();
    task_error.writer.reset();
  }

  Pipe task_in, task_out, task_error, caller_in, caller_out, caller_error;
  std::unique_ptr<StdioRelay> relay;
};

TEST_F(Relay, CarriesEachStreamToItsOwn) {
  start();
  put(caller_in.writer.get(), "input");
  EXPECT_EQ(get(task_in.reader.get(), 5), "input");
  put(task_out.writer.get(), "output");
  put(task_error.writer.get(), "error");
  EXPECT_EQ(get(caller_out.reader.get(), 6), "output");
  EXPECT_EQ(get(caller_error.reader.get(), 5), "error");
  task_ends();
  RelayTotals totals = relay->finish(soon());
  EXPECT_EQ(totals.input_bytes, 5u);
  EXPECT_EQ(totals.output_bytes, 6u);
  EXPECT_EQ(totals.error_bytes, 5u);
  EXPECT_FALSE(totals.truncated);
}

TEST_F(Relay, PassesTheEndOfInputOn) {
  start();
  put(caller_in.writer.get(), "last");
  caller_in.writer.reset();
  EXPECT_EQ(get(task_in.reader.get(), 100), "last");
  task_ends();
  relay->finish(soon());
}

TEST_F(Relay, DrainsWhatTheTaskLeft) {
  start();
  std::string text(60000, 'x');
  put(task_out.writer.get(), text);
  task_ends();
  std::thread reader([&] { EXPECT_EQ(get(caller_out.reader.get(), text.size()), text); });
  EXPECT_FALSE(relay->finish(soon()).truncated);
  reader.join();
}

TEST_F(Relay, GivesUpOnAnOutputThatStaysOpenAndSaysSo) {
  start();
  auto begin = Clock::now();
  RelayTotals totals = relay->finish(Deadline::after(std::chrono::milliseconds(100)));
  EXPECT_TRUE(totals.truncated);  // the task's ends are still open
  EXPECT_LT(Clock::now() - begin, std::chrono::seconds(3));
}

TEST_F(Relay, IsNotHeldByACallerThatDoesNotRead) {
  start();
  std::thread writer([&] {
    fcntl(task_out.writer.get(), F_SETFL, O_NONBLOCK);
    std::string block(65536, 'y');
    std::size_t taken = 0;
    for (int i = 0; i < 100; ++i) {
      ssize_t n = write(task_out.writer.get(), block.data(), block.size());
      if (n > 0) taken += static_cast<std::size_t>(n);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_LT(taken, 512u * 1024);  // two pipes and one buffer
    task_out.writer.reset();
  });
  writer.join();
  task_ends();
  EXPECT_TRUE(relay->finish(Deadline::after(std::chrono::milliseconds(200))).truncated);
}

TEST_F(Relay, TellsTheTaskThatTheCallerReadsNoMore) {
  start();
  caller_out.reader.reset();
  put(task_out.writer.get(), "x");
  signal(SIGPIPE, SIG_IGN);
  ssize_t n = 0;
  for (int i = 0; i < 500 && n >= 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    n = write(task_out.writer.get(), "x", 1);
  }
  EXPECT_EQ(n, -1);
  EXPECT_EQ(errno, EPIPE);
  task_ends();
  relay->finish(soon());
}

TEST_F(Relay, LeavesTheCallersFlagsAlone) {
  int before = fcntl(caller_out.writer.get(), F_GETFL);
  start();
  put(task_out.writer.get(), "x");
  get(caller_out.reader.get(), 1);
  EXPECT_EQ(fcntl(caller_out.writer.get(), F_GETFL), before);
  EXPECT_EQ(fcntl(caller_in.reader.get(), F_GETFL) & O_NONBLOCK, 0);
  task_ends();
  relay->finish(soon());
}

TEST_F(Relay, WritesToASocketWithoutBlockingOnIt) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  caller_out.reader = UniqueFd(pair[0]);
  caller_out.writer = UniqueFd(pair[1]);
  start();
  put(task_out.writer.get(), "to a socket");
  EXPECT_EQ(get(caller_out.reader.get(), 11), "to a socket");
  task_ends();
  relay->finish(soon());
}

TEST_F(Relay, CountsAndDropsWithoutACaller) {
  StdioEnds ends;
  ends.output = std::move(task_out.reader);
  ends.error = std::move(task_error.reader);
  ends.input = std::move(task_in.writer);
  auto made = StdioRelay::start(std::move(ends), {-1, -1, -1});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(get(task_in.reader.get(), 1), "");  // end of input at once
  put(task_out.writer.get(), "dropped");
  task_ends();
  EXPECT_EQ(made.value()->finish(soon()).output_bytes, 7u);
}

TEST(RelayTerminal, IsRawMeanwhileAndRestored) {
  int outer = -1, outer_task = -1, inner = -1, inner_task = -1;
  ASSERT_EQ(openpty(&outer, &outer_task, nullptr, nullptr, nullptr), 0);
  winsize size{30, 90, 0, 0};
  ASSERT_EQ(ioctl(outer, TIOCSWINSZ, &size), 0);
  ASSERT_EQ(openpty(&inner, &inner_task, nullptr, nullptr, nullptr), 0);
  termios before{}, during{}, after{};
  tcgetattr(outer_task, &before);
  StdioEnds ends;
  ends.terminal = UniqueFd(inner);
  auto made = StdioRelay::start(std::move(ends), {outer_task, outer_task, -1});
  ASSERT_TRUE(made.has_value());
  tcgetattr(outer_task, &during);
  EXPECT_EQ(during.c_lflag & static_cast<tcflag_t>(ICANON | ECHO | ISIG), 0u);
  put(inner_task, "prompt");
  EXPECT_EQ(get(outer, 6), "prompt");
  winsize seen{};
  ioctl(inner_task, TIOCGWINSZ, &seen);
  EXPECT_EQ(seen.ws_row, 30);
  EXPECT_EQ(seen.ws_col, 90);
  close(inner_task);
  EXPECT_FALSE(made.value()->finish(Deadline::after(std::chrono::seconds(5))).truncated);
  tcgetattr(outer_task, &after);
  EXPECT_EQ(after.c_lflag, before.c_lflag);
  EXPECT_EQ(after.c_iflag, before.c_iflag);
  EXPECT_EQ(after.c_oflag, before.c_oflag);
  close(outer);
  close(outer_task);
}

}  // namespace
}  // namespace sallyport::launcher
