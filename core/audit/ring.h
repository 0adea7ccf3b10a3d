// AuditRing: the writing end of an audit ring. Records go through shared memory to the audit process, without a
// system call for each, and outlive both ends: control keeps the descriptors.
//
// One ring has one writing thread and one reading process. A ring is a sealed memfd (a page of cursors, then data of
// a fixed size), a doorbell (writer → audit) and an acknowledgement (audit → writer), both eventfds.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>

#include "core/audit/record.h"
#include "core/base/result.h"
#include "core/base/unique_fd.h"
#include "core/base/units.h"

namespace sallyport::audit {

// A place in the stream of a ring: the position just after a record. Grows with every record; not a count.
struct Sequence {
  std::uint64_t value = 0;
  friend constexpr auto operator<=>(Sequence, Sequence) noexcept = default;
};

// What the ends of a ring share. Control makes one, keeps it, and sends duplicates to the proxy and to audit.
struct RingDescriptors {
  UniqueFd memory;
  UniqueFd doorbell;
  UniqueFd ack;

  Result<RingDescriptors> duplicate() const;
};

class RingMemory;

// Owns its mapping and descriptors. Used by one thread; nothing here blocks. What the shared memory says about the
// reader is checked, not trusted.
class AuditRing {
 public:
  static constexpr ByteCount kDefaultSize{4u << 20};
  static constexpr ByteCount kMinSize{64u << 10};
  static constexpr ByteCount kMaxSize{1u << 30};

  // Makes an empty ring. `data` is a power of two between kMinSize and kMaxSize.
  static Result<RingDescriptors> create(ByteCount data = kDefaultSize);
  // Maps a ring to write into, continuing where an earlier writer (perhaps killed) stopped. At most one writer at a time.
  // kInvalid when the memory is no sealed ring.
  static Result<AuditRing> open(RingDescriptors descriptors);

  AuditRing(AuditRing&&) noexcept;
  AuditRing& operator=(AuditRing&&) noexcept;
  ~AuditRing();

  // Appends one record and wakes the audit process if it asked for that. Success is not yet a record on file: what
  // waits for that waits until accepted() reaches the returned Sequence. kOverloaded when the ring is full (openings:
  // three quarters full): traffic must stop; the loss is noted and a gap record with the count goes before the next
  // record that fits. kUnavailable when the audit process has closed the ring. Costs about 100 ns.
  Result<Sequence> append(const Record& record) noexcept;

  // Everything up to here has been taken by the audit process and written to its log; strict records are on disk.
  Sequence accepted() const noexcept;
  // Everything up to here has been followed by an fdatasync.
  Sequence durable() const noexcept;
  // The end of what has been appended.
  Sequence appended() const noexcept { return {head_}; }
  // True once the audit process has refused the ring for good.
  bool closed() const noexcept;

  // Asks for a signal on ack_fd() once accepted() >= `target`. Returns false when that is so already (no signal will
  // come; a higher target that was armed stays). One target at a time: an earlier, still armed target that is lower stays.
  // To wait for many, ask for the lowest; after the signal look at accepted() and ask for the next.
  bool want_ack(Sequence target) noexcept;
  // Readable after the signal; non-blocking eventfd, owned by the ring.
  int ack_fd() const noexcept;
  // Takes the signal; call when ack_fd() was readable.
  void take_ack() noexcept;

  // Under load the audit process collects for up to a millisecond. A writer that has nothing else to do but to wait
  // for it calls this to be served now: one system call if the audit process was collecting, else none.
  void hurry() noexcept;

 private:
  AuditRing(std::unique_ptr<RingMemory> memory, RingDescriptors descriptors, std::uint64_t head) noexcept;
  bool fits(std::uint64_t need, bool opening) noexcept;
  void write_frame(std::span<const std::byte> record) noexcept;
  void wake_reader() noexcept;

  std::unique_ptr<RingMemory> memory_;
  RingDescriptors descriptors_;
  std::uint64_t head_;
  std::uint64_t seen_tail_ = 0;  // the reader's cursor as last read: spares its cache line
  std::uint64_t missed_ = 0;     // records refused since the last that fitted
};

}  // namespace sallyport::audit
