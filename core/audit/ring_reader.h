// RingReader: the audit process's end of an audit ring.
//
// The writer may be compromised and may change the shared memory at any time: every cursor and length is copied once
// and checked, and records are handed out as private copies.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/audit/ring.h"

namespace sallyport::audit {

// One process at a time reads a ring; single-threaded. Taking a record does not free its space: accept() does, after
// the caller has written it to the log.
class RingReader {
 public:
  // `resume`: where the log says that the last record of this ring ended, if it says so; it wins over the cursor in
  // the shared memory, so that a record written just before an earlier reader died is not taken twice.
  // kInvalid when the memory is no sealed ring, or when cursors and log contradict each other.
  static Result<RingReader> open(RingDescriptors descriptors, std::optional<Sequence> resume = std::nullopt);

  RingReader(RingReader&&) noexcept;
  RingReader& operator=(RingReader&&) noexcept;
  ~RingReader();

  struct Taken {
    std::span<const std::byte> bytes;  // a private copy, valid until the next take()
    Sequence end;
  };
  // The next record; nullopt when there is none. kInvalid when the ring is malformed: it must be closed, no later
  // call succeeds.
  Result<std::optional<Taken>> take();

  // Bytes written and not yet taken; 0 when the cursors make no sense (take() will say so).
  std::uint64_t pending() const noexcept;
  // Where the next take() begins.
  Sequence position() const noexcept { return {cursor_}; }
  // Where the space that is still in use begins.
  Sequence accepted() const noexcept { return {accepted_}; }

  // Everything taken so far is in the log: frees its space and signals a writer that waits for it.
  void accept() noexcept;
  // Everything accepted so far is on disk.
  void mark_durable() noexcept;
  // Refuses the ring for good; the writer's append fails from now on, and a writer that waits is woken.
  void close() noexcept;

  // How the writer is to wake this side. kAsleep: at the next record. kCollecting: when kCollectBytes are pending.
  enum class Wakefulness : std::uint32_t { kAwake = 0, kAsleep = 1, kCollecting = 2 };
  static constexpr std::uint64_t kCollectBytes = 64u << 10;
  // Announces it. Returns true when there is reason to go on at once (records are pending, or enough of them): do not sleep then.
  bool announce(Wakefulness state) noexcept;
  // Readable when the writer rang; take_doorbell() empties it.
  int doorbell_fd() const noexcept;
  void take_doorbell() noexcept;

 private:
  RingReader(std::unique_ptr<RingMemory> memory, RingDescriptors descriptors, std::uint64_t cursor,
             std::uint64_t accepted);
  void signal_writer() noexcept;

  std::unique_ptr<RingMemory> memory_;
  RingDescriptors descriptors_;
  std::uint64_t cursor_;
  std::uint64_t accepted_;
  bool broken_ = false;
  std::vector<std::byte> copy_;
};

}  // namespace sallyport::audit
