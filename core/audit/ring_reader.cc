#include "core/audit/ring_reader.h"

#include <unistd.h>

#include "core/audit/ring_memory.h"

namespace sallyport::audit {

Result<RingReader> RingReader::open(RingDescriptors descriptors) {
  BOOST_OUTCOME_TRY(auto memory, RingMemory::map(descriptors.memory.get()));
  RingHeader& header = memory->header();
  if (header.closed.load() != 0) return fail(ErrorKind::kDenied, "audit ring: it has been closed for good");
  std::uint64_t tail = header.tail.load(std::memory_order_acquire);
  std::uint64_t head = header.head.load(std::memory_order_acquire);
  if (tail % kFrameAlign != 0 || tail > head || head - tail > memory->size()) {
    return fail(ErrorKind::kInvalid, "audit ring: its cursors contradict each other");
  }
  return RingReader(std::move(memory), std::move(descriptors), tail);
}

RingReader::RingReader(std::unique_ptr<RingMemory> memory, RingDescriptors descriptors, std::uint64_t tail)
    : memory_(std::move(memory)), descriptors_(std::move(descriptors)), cursor_(tail), accepted_(tail), copy_(kMaxRecordBytes) {
  for (unsigned slot = 0; slot < 2; ++slot) {
    const TallySlot& kept = memory_->header().tally[slot];
    if (kept.position.load(std::memory_order_relaxed) != tail) continue;
    Tally found{kept.folded.load(std::memory_order_relaxed), kept.reported.load(std::memory_order_relaxed)};
    // Both match when only the report moved; the greater is the later.
    if (found.folded < tally_.folded || (found.folded == tally_.folded && found.reported < tally_.reported)) continue;
    tally_ = found;
    next_slot_ = 1 - slot;
  }
  if (tally_.reported > tally_.folded) tally_.reported = tally_.folded;
}
RingReader::RingReader(RingReader&&) noexcept = default;
RingReader& RingReader::operator=(RingReader&&) noexcept = default;
RingReader::~RingReader() = default;

std::uint64_t RingReader::pending() const noexcept {
  std::uint64_t head = memory_->header().head.load(std::memory_order_acquire);
  return head > cursor_ && head - accepted_ <= memory_->size() ? head - cursor_ : 0;
}

Result<std::optional<RingReader::Taken>> RingReader::take() {
  if (broken_) return fail(ErrorKind::kInvalid, "the ring is closed");
  auto broken = [&](const char* what) {
    broken_ = true;
    return fail(ErrorKind::kInvalid, what);
  };
  std::uint64_t head = memory_->header().head.load(std::memory_order_acquire);
  if (head == cursor_) return std::optional<Taken>();
  if (head < cursor_) return broken("the writer's cursor went back");
  if (head - accepted_ > memory_->size()) return broken("the writer's cursor ran past the ring");
  std::uint64_t available = head - cursor_;
  if (available % kFrameAlign != 0 || available < sizeof(FrameHeader)) return broken("the writer's cursor is off a record");
  FrameHeader frame;
  memory_->read(cursor_, &frame, sizeof frame);
  if (frame.magic != kFrameMagic || frame.position != cursor_) return broken("no record where one must begin");
  std::uint32_t size = frame.size;
  if (size == 0 || size > kMaxRecordBytes) return broken("a record of an impossible size");
  if (frame_bytes(size) > available) return broken("a record runs past the writer's cursor");
  memory_->read(cursor_ + sizeof frame, copy_.data(), size);
  before_ = cursor_;
  cursor_ += frame_bytes(size);
  return std::optional<Taken>(Taken{{copy_.data(), size}, {cursor_}});
}

void RingReader::accept(Tally tally) noexcept {
  if (accepted_ == cursor_ && tally.folded == tally_.folded && tally.reported == tally_.reported) return;
  TallySlot& slot = memory_->header().tally[next_slot_];
  slot.position.store(cursor_, std::memory_order_relaxed);
  slot.folded.store(tally.folded, std::memory_order_relaxed);
  slot.reported.store(tally.reported, std::memory_order_relaxed);
  next_slot_ = 1 - next_slot_;
  tally_ = tally;
  accepted_ = cursor_;
  memory_->header().tail.store(accepted_, std::memory_order_release);
  signal_writer();
}

void RingReader::mark_durable() noexcept {
  memory_->header().durable.store(accepted_, std::memory_order_release);
}

void RingReader::close() noexcept {
  broken_ = true;
  memory_->header().closed.store(1);
  memory_->header().writer_wants.store(0);
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(descriptors_.ack.get(), &one, sizeof one);
}

void RingReader::signal_writer() noexcept {
  RingHeader& header = memory_->header();
  // Pairs with the fence in AuditRing::want_ack: either this side sees the wish, or that side sees the new tail.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint64_t wanted = header.writer_wants.load(std::memory_order_relaxed);
  if (wanted == 0 || wanted > accepted_) return;
  // Two wishes may follow each other here; the one that is exchanged away is due or gets a signal too early, never none.
  if (header.writer_wants.exchange(0) == 0) return;
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t n = ::write(descriptors_.ack.get(), &one, sizeof one);
}

bool RingReader::announce(Wakefulness state) noexcept {
  RingHeader& header = memory_->header();
  header.reader_state.store(static_cast<std::uint32_t>(state), std::memory_order_relaxed);
  if (state == Wakefulness::kAwake) return true;
  // Pairs with the fence in AuditRing::wake_reader.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint64_t waiting = pending();
  if (header.head.load(std::memory_order_relaxed) < cursor_ || (waiting == 0 && header.head.load() != cursor_)) return true;
  return state == Wakefulness::kAsleep ? waiting > 0 : waiting >= kCollectBytes;
}

int RingReader::doorbell_fd() const noexcept { return descriptors_.doorbell.get(); }

void RingReader::take_doorbell() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t n = ::read(descriptors_.doorbell.get(), &count, sizeof count);
}

}  // namespace sallyport::audit
