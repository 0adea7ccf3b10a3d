// Transfer: what one attempt to move bytes, which never waits, came to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace sallyport::net {

struct Transfer {
  enum class State : std::uint8_t {
    kMoved,    // `count` bytes, at least one
    kBlocked,  // nothing now; wait, then try again
    kEnded,    // the sender has ended its stream
    kFailed,   // the connection is broken or aborted
  };
  State state = State::kFailed;
  std::size_t count = 0;

  bool moved() const noexcept { return state == State::kMoved; }
  bool blocked() const noexcept { return state == State::kBlocked; }
  bool ended() const noexcept { return state == State::kEnded; }
  bool failed() const noexcept { return state == State::kFailed; }

  // From what a system call returned and, below zero, left in errno. Null: interrupted, to be tried again.
  static std::optional<Transfer> from_call(std::ptrdiff_t returned, int error) noexcept;
};

}  // namespace sallyport::net
