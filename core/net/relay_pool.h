// RelayPool: what the tunnels of a thread share while bytes move: a buffer for copying, and pipes for moving bytes in the kernel.
//
// A pipe is on lease only from its filling until it is empty again, so few serve many tunnels; without one a tunnel copies. Large pipes
// are for streams that have proved bulky. Not thread-safe; outlives its leases.
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/net/pipe.h"

namespace sallyport::net {

// What one task holds of a thread's pool, and of memory for bytes that a receiver does not take.
struct RelayShare {
  static constexpr std::size_t kMaxPipes = 32;
  static constexpr std::size_t kMaxKept = 16 << 20;  // bytes; past it a tunnel reads in small pieces
  std::size_t pipes = 0;
  std::size_t kept = 0;
};

class RelayPool {
 public:
  static constexpr std::size_t kMaxPipes = 64;    // on lease and idle
  static constexpr std::size_t kMaxLarge = 32;    // of them
  static constexpr std::size_t kMaxIdle = 16;     // kept open for the next lease
  static constexpr std::size_t kLargeSlots = 256;  // 1 MiB by the kernel's count: kMaxLarge of them are half of what a user may have
  static constexpr std::size_t kScratch = 64 * 1024;

  // A pipe on lease, or none. Gives it back when destroyed; a pipe that is not empty is closed.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept { swap(other); }
    Lease& operator=(Lease&& other) noexcept {
      Lease gone(std::move(other));
      swap(gone);
      return *this;
    }
    ~Lease();
    explicit operator bool() const noexcept { return pipe_ != nullptr; }
    Pipe* operator->() const noexcept { return pipe_.get(); }
    std::size_t held() const noexcept { return pipe_ ? pipe_->held() : 0; }

   private:
    friend class RelayPool;
    Lease(RelayPool& pool, RelayShare& share, std::unique_ptr<Pipe> pipe) noexcept : pool_(&pool), share_(&share), pipe_(std::move(pipe)) {}
    void swap(Lease& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(share_, other.share_);
      std::swap(pipe_, other.pipe_);
    }
    RelayPool* pool_ = nullptr;
    RelayShare* share_ = nullptr;
    std::unique_ptr<Pipe> pipe_;
  };

  enum class Size : std::uint8_t { kOrdinary, kLarge };

  RelayPool() = default;
  RelayPool(const RelayPool&) = delete;
  RelayPool& operator=(const RelayPool&) = delete;

  // None when the task's share or the pool is used up, or the kernel gives no more.
  Lease lease(RelayShare& share, Size size) noexcept;
  // For bytes between a read and the write that follows at once. Never held across a wait.
  std::span<char> scratch() noexcept;

  std::size_t open() const noexcept { return open_; }
  std::size_t large() const noexcept { return large_; }
  std::size_t idle() const noexcept { return idle_.size(); }

 private:
  std::unique_ptr<Pipe> take(Size size) noexcept;
  std::unique_ptr<Pipe> take_idle(Size size) noexcept;
  void enlarge(Pipe& pipe) noexcept;
  void give_back(std::unique_ptr<Pipe> pipe) noexcept;
  static bool is_large(const Pipe& pipe) noexcept { return pipe.slots() >= kLargeSlots; }

  std::vector<std::unique_ptr<Pipe>> idle_;
  std::size_t open_ = 0;
  std::size_t large_ = 0;
  std::unique_ptr<char[]> scratch_;
};

}  // namespace sallyport::net
