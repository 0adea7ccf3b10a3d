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
  // Continues where an earlier reader, perhaps killed, last called accept(): what that one had taken since comes again,
  // and the caller knows from its log which of it is written already (Taken::end names a record for good).
  // kInvalid when the memory is no sealed ring, or when its cursors contradict each other;
  // kDenied when an earlier reader has closed the ring.
  static Result<RingReader> open(RingDescriptors descriptors);

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

  // Puts the record taken last back: the next take() gives it again. Once after each take() that gave one.
  void give_back() noexcept { cursor_ = before_; }

  // Bytes written and not yet taken; 0 when the cursors make no sense (take() will say so).
  std::uint64_t pending() const noexcept;
  // Where the next take() begins.
  Sequence position() const noexcept { return {cursor_}; }
  // Where the space that is still in use begins.
  Sequence accepted() const noexcept { return {accepted_}; }

  // Records that were not written one by one but counted, since the ring was made, and how many of them the log's
  // `coalesced` lines account for. Kept in the ring so that the difference outlives a killed reader.
  struct Tally {
    std::uint64_t folded = 0;
    std::uint64_t reported = 0;
  };
  // As of the last accept(), also of an earlier reader. Only as true as the writer is honest.
  Tally tally() const noexcept { return tally_; }

  // Everything taken so far is in the log, or counted in `tally`: frees its space and signals a writer that waits for it.
  void accept(Tally tally) noexcept;
  void accept() noexcept { accept(tally_); }
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
  RingReader(std::unique_ptr<RingMemory> memory, RingDescriptors descriptors, std::uint64_t tail);
  void signal_writer() noexcept;

  std::unique_ptr<RingMemory> memory_;
  RingDescriptors descriptors_;
  std::uint64_t cursor_;
  std::uint64_t accepted_;
  std::uint64_t before_ = 0;  // where the record taken last begins
  Tally tally_;
  unsigned next_slot_ = 0;
  bool broken_ = false;
  std::vector<std::byte> copy_;
};

}  // namespace sallyport::audit
