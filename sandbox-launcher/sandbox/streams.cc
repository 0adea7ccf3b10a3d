#include "sandbox-launcher/sandbox/streams.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>

namespace sallyport::launcher {
namespace {

Result<void> make_pipe(UniqueFd& reader, UniqueFd& writer, std::optional<std::uint32_t> owner) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return fail_errno("pipe");
  reader = UniqueFd(ends[0]);
  writer = UniqueFd(ends[1]);
  if (owner && fchown(ends[0], *owner, *owner) < 0) return fail_errno("give a pipe to the task");
  return success();
}

}  // namespace

Result<TaskStreams> make_streams(std::optional<std::uint32_t> owner) {
  TaskStreams streams;
  BOOST_OUTCOME_TRY(make_pipe(streams.input, streams.near.input, owner));
  BOOST_OUTCOME_TRY(make_pipe(streams.near.output, streams.output, owner));
  BOOST_OUTCOME_TRY(make_pipe(streams.near.error, streams.error, owner));
  return streams;
}

std::string peek_output(int fd) {
  std::array<char, 4096> text{};
  pollfd polled{fd, POLLIN, 0};
  if (fd < 0 || poll(&polled, 1, 0) <= 0 || (polled.revents & POLLIN) == 0) return "";
  ssize_t size = read(fd, text.data(), text.size());
  return size <= 0 ? "" : std::string(text.data(), static_cast<std::size_t>(size));
}

}  // namespace sallyport::launcher
