// The pipes of a task's standard streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "sandbox-launcher/stdio/relay.h"

namespace sallyport::launcher {

struct TaskStreams {
  StdioEnds near;
  UniqueFd input, output, error;  // the task's
};

// Three new pipes, close-on-exec. With `owner` they belong to that uid, so that the task may open /dev/stdout and the
// like.
Result<TaskStreams> make_streams(std::optional<std::uint32_t> owner);

// What lies in a pipe now, without waiting; at most 4 KiB.
std::string peek_output(int fd);

}  // namespace sallyport::launcher
