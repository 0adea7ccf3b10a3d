// The shared memory of an audit ring: its layout, its mapping, and copying into and out of it. For ring.cc and ring_reader.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/base/result.h"

namespace sallyport::audit {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kHeaderBytes = 4096;

// What the reader had folded (RingReader::Tally) when its cursor stood at `position`. Two, written in turn before the cursor
// moves: the one whose position equals the cursor is right, whenever the reader is killed.
struct TallySlot {
  std::atomic<std::uint64_t> position;
  std::atomic<std::uint64_t> folded;
  std::atomic<std::uint64_t> reported;
};

// The first page. Each side writes its own lines only; the wake-up words are written by both, by exchange.
struct RingHeader {
  alignas(kCacheLine) std::uint64_t magic;
  std::uint32_t version;
  // The writer's line. Positions are bytes since the ring was made; they never wrap.
  alignas(kCacheLine) std::atomic<std::uint64_t> head;
  // The reader's line.
  alignas(kCacheLine) std::atomic<std::uint64_t> tail;  // accepted: in the log, space free
  std::atomic<std::uint64_t> durable;
  std::atomic<std::uint32_t> closed;
  alignas(kCacheLine) TallySlot tally[2];
  // Each on its own line: read by one side for every record, written seldom.
  alignas(kCacheLine) std::atomic<std::uint32_t> reader_state;  // RingReader::Wakefulness
  alignas(kCacheLine) std::atomic<std::uint64_t> writer_wants;  // signal when tail reaches it; 0: nothing
};

static_assert(sizeof(RingHeader) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

inline constexpr std::uint64_t kRingMagic = 0x676e697264756173;  // "saudring", as little-endian bytes
inline constexpr std::uint32_t kRingVersion = 1;

// Before each record. `position` is where the frame begins: bytes of another age are recognised by it.
struct FrameHeader {
  std::uint32_t magic;
  std::uint32_t size;  // of the record, without header and padding
  std::uint64_t position;
};

inline constexpr std::uint32_t kFrameMagic = 0x7264726eu;
inline constexpr std::size_t kFrameAlign = 8;

constexpr std::uint64_t frame_bytes(std::uint64_t record) noexcept {
  return (sizeof(FrameHeader) + record + kFrameAlign - 1) / kFrameAlign * kFrameAlign;
}

// Owns one mapping of a ring.
class RingMemory {
 public:
  // Maps `fd` after checking its seals, its size and its magic: unsealed memory could be shrunk under the reader (SIGBUS).
  static Result<std::unique_ptr<RingMemory>> map(int fd);
  ~RingMemory();
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;

  RingHeader& header() noexcept { return *reinterpret_cast<RingHeader*>(base_); }
  std::uint64_t size() const noexcept { return size_; }  // of the data; a power of two

  // Copy in and out at a position of the stream, wrapping at the end. At most size() bytes.
  void write(std::uint64_t position, const void* from, std::size_t bytes) noexcept;
  void read(std::uint64_t position, void* to, std::size_t bytes) const noexcept;

 private:
  RingMemory(std::byte* base, std::uint64_t size) noexcept : base_(base), size_(size) {}
  std::byte* base_;
  std::uint64_t size_;
};

}  // namespace sallyport::audit
