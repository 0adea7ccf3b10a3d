// Flow: one direction of a relay, with one bounded buffer.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "sandbox-launcher/stdio/relay.h"

namespace sallyport::launcher {

// Reads only when its buffer is empty and writes until it is: the reader's pace is the writer's. `source` and `sink`
// give what read(2) and write(2) give.
class Flow {
 public:
  using Source = std::function<ssize_t(char*, std::size_t)>;
  using Sink = std::function<ssize_t(const char*, std::size_t)>;

  // A flow without a sink counts and drops.
  Flow(int source_fd, Source source, int sink_fd, Sink sink)
      : source_fd_(source_fd), sink_fd_(sink_fd), source_(std::move(source)), sink_(std::move(sink)) {}

  // What to wait for now; fd -1 when for nothing.
  pollfd wants() const noexcept;
  // Acts on what poll answered to wants().
  void on_ready(short events);

  bool source_open() const noexcept { return source_open_; }
  bool sink_open() const noexcept { return sink_open_; }
  bool pending() const noexcept { return begin_ < end_; }
  // Nothing more will come through.
  bool over() const noexcept { return (!source_open_ && !pending()) || !sink_open_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  void stop_reading() noexcept { source_open_ = false; }

 private:
  void fill();
  void drain();

  int source_fd_;
  int sink_fd_;
  Source source_;
  Sink sink_;
  bool source_open_ = true;
  bool sink_open_ = true;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t bytes_ = 0;
  std::array<char, StdioRelay::kBuffer> buffer_;
};

}  // namespace sallyport::launcher
