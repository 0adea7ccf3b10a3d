// Pipe: carries bytes from one socket to another inside the kernel, so that this process never copies them.
//
// Owns both ends, non-blocking. Filled only when empty: then an attempt that blocks speaks of the socket, never of the pipe. Neither
// call waits. How many bytes fit depends on how the sender's packets lie in memory: slots() pieces of up to 64 KiB each.
#pragma once

#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/net/transfer.h"

namespace sallyport::net {

class Pipe {
 public:
  static constexpr std::size_t kSlot = 4096;  // what the kernel counts a slot as

  // With as many slots as the kernel gives without asking (16; 2 when the user holds very many pipes). kOverloaded without descriptors.
  static Result<Pipe> open();

  // Asks for `slots` of them; the kernel may refuse (pipe-user-pages-soft), then it stays as it is.
  void grow(std::size_t slots) noexcept;

  // From a stream socket into the pipe, which is empty, at most `most` bytes. Behind urgent data the kernel blocks here although the
  // socket is readable: then it must be read in the ordinary way.
  Transfer fill(int socket, std::size_t most) noexcept;
  // From the pipe into a stream socket.
  Transfer drain(int socket) noexcept;

  std::size_t held() const noexcept { return held_; }
  std::size_t slots() const noexcept { return slots_; }

 private:
  Pipe(UniqueFd in, UniqueFd out) noexcept : in_(std::move(in)), out_(std::move(out)) {}

  UniqueFd in_, out_;
  std::size_t slots_ = 16;
  std::size_t held_ = 0;
};

}  // namespace sallyport::net
