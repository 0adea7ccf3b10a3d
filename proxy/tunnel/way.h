// Way: one direction of a tunnel. Moves what one side sends to the other, exactly as far as the allowance reaches.
//
// A state machine without waits: step() moves what can be moved now and says what to wait for. What arrives is copied through the
// thread's scratch buffer; once a stream proves bulky it goes through a pipe inside the kernel (splice(2)). Either way a byte leaves the
// sender's socket only under an allowance already taken, nothing is held while nothing arrives, and nothing more is read before the
// receiver has taken what was read. A byte that is urgent (RFC 6093) when it is reached is not carried on.
#pragma once

#include <memory>
#include <optional>

#include "core/base/deadline.h"
#include "core/net/input_buffer.h"
#include "core/net/relay_pool.h"
#include "core/net/socket_stream.h"
#include "proxy/limits/limit_set.h"

namespace sallyport::proxy {

class Way {
 public:
  static constexpr std::size_t kTurn = 1 << 20;               // bytes moved before others get the thread
  static constexpr std::size_t kBulk = 256 * 1024;            // within kBulkTime: from here on spliced
  static constexpr auto kBulkTime = std::chrono::milliseconds(100);
  static constexpr std::size_t kLargeBulk = 4 << 20;          // spliced so far: worth a large pipe
  static constexpr std::size_t kSpliceMost = 1 << 20;         // held in a pipe at most
  static constexpr std::size_t kShortSplice = 64 * 1024;      // less than this: the sender's socket is probably empty now
  static constexpr std::size_t kSmallPiece = 8 * 1024;        // pieces like this are cheaper to copy,
  static constexpr int kSmallPieces = 16;                     // so many in a row end splicing
  static constexpr std::size_t kScarcePiece = 4 * 1024;       // read at once when the task keeps too much already
  // Where a budget is shared, what one stream holds of it is bounded by a part of what is here.
  static constexpr std::size_t kFairPart = 8;
  static constexpr std::size_t kFairLeast = 64 * 1024;

  enum class Next : std::uint8_t {
    kRead,       // wait until the sender's socket is readable
    kWrite,      // wait until the receiver's socket is writable
    kAllowance,  // wait until the limits give something, or have been reached
    kYield,      // others have been waiting
    kEnded,      // all has been passed on, the end too
    kFailed,     // one of the connections is broken
  };

  // Borrows all; they outlive it. `resource`: kUpload or kDownload. `first`: what was read from the sender before, not paid for yet.
  Way(net::SocketStream& from, net::SocketStream& to, LimitSet limits, Resource resource, net::RelayPool& pool, net::RelayShare& share,
      net::InputBuffer first) noexcept;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;
  // Gives back the allowance of bytes that the receiver never got.
  ~Way();

  Next step(Clock::time_point now);
  // Hands on what is held, as far as the receiver takes it at once.
  void flush() noexcept;

  net::SocketStream& from() noexcept { return from_; }
  net::SocketStream& to() noexcept { return to_; }
  Resource resource() const noexcept { return resource_; }
  // Bytes of the upstream connection: handed to the upstream socket (upload), or taken from it (download).
  std::uint64_t counted() const noexcept { return counted_; }
  // Read and not yet handed on.
  std::size_t held() const noexcept { return kept_size_ + pipe_.held(); }
  bool splicing() const noexcept { return splicing_; }

 private:
  bool hand_on() noexcept;
  void handed(std::size_t count) noexcept;
  std::size_t piece() const noexcept;
  std::optional<Next> send_first() noexcept;
  std::optional<Next> pull(Clock::time_point now);
  std::optional<Next> pull_through_pipe(std::uint64_t taken, Clock::time_point now) noexcept;
  std::optional<Next> pull_through_memory(std::uint64_t taken, Clock::time_point now);
  std::optional<Next> nothing_moved(net::Transfer transfer) noexcept;
  Next look_without_allowance() noexcept;
  void arrived(std::size_t count, Clock::time_point now) noexcept;
  void keep(std::string_view rest);
  void drop_kept() noexcept;
  bool counts_when_handed() const noexcept { return resource_ == Resource::kUpload; }

  net::SocketStream& from_;
  net::SocketStream& to_;
  LimitSet limits_;
  net::RelayPool& pool_;
  net::RelayShare& share_;
  net::InputBuffer first_;
  net::RelayPool::Lease pipe_;  // only while something is in it
  std::unique_ptr<char[]> kept_;
  std::uint32_t kept_at_ = 0, kept_size_ = 0;
  std::uint64_t counted_ = 0;
  std::uint64_t spliced_ = 0;
  Clock::time_point window_{};
  std::uint32_t window_bytes_ = 0;
  std::uint32_t turn_ = 0;
  Resource resource_;
  std::uint8_t small_pieces_ = 0;
  bool splicing_ = false;
  bool woken_ = true;       // nothing was tried since the sender's socket became readable
  bool failed_ = false;
  bool read_short_ = false;  // the sender's socket is probably empty
};

}  // namespace sallyport::proxy
