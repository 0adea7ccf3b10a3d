#include "core/audit/ring.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <new>

#include "core/audit/ring_memory.h"
#include "core/audit/ring_reader.h"

namespace sallyport::audit {
namespace {

using Wakefulness = RingReader::Wakefulness;

Result<UniqueFd> make_memfd() {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
#ifdef MFD_NOEXEC_SEAL
  int fd = ::memfd_create("sallyport-audit-ring", kFlags | MFD_NOEXEC_SEAL);
  if (fd < 0 && errno == EINVAL) fd = ::memfd_create("sallyport-audit-ring", kFlags);
#else
  int fd = ::memfd_create("sallyport-audit-ring", kFlags);
#endif
  if (fd < 0) return fail_errno("audit ring: memfd_create");
  return UniqueFd(fd);
}

Result<UniqueFd> make_eventfd() {
  int fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) return fail_errno("audit ring: eventfd");
  return UniqueFd(fd);
}

Result<UniqueFd> duplicate_fd(const UniqueFd& from) {
  int fd = ::fcntl(from.get(), F_DUPFD_CLOEXEC, 3);
  if (fd < 0) return fail_errno("audit ring: dup");
  return UniqueFd(fd);
}

Result<void> write_header(int fd) {
  void* base = ::mmap(nullptr, kHeaderBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return fail_errno("audit ring: mmap");
  auto* header = new (base) RingHeader{};
  header->magic = kRingMagic;
  header->version = kRingVersion;
  ::munmap(base, kHeaderBytes);
  return success();
}

void ring_bell(int fd) noexcept {
  std::uint64_t one = 1;
  // EAGAIN: the counter is full, so the other side has a signal already.
  [[maybe_unused]] ssize_t n = ::write(fd, &one, sizeof one);
}

}  // namespace

Result<RingDescriptors> RingDescriptors::duplicate() const {
  RingDescriptors copy;
  BOOST_OUTCOME_TRY(copy.memory, duplicate_fd(memory));
  BOOST_OUTCOME_TRY(copy.doorbell, duplicate_fd(doorbell));
  BOOST_OUTCOME_TRY(copy.ack, duplicate_fd(ack));
  return copy;
}

Result<RingDescriptors> AuditRing::create(ByteCount data) {
  if (data < kMinSize || data > kMaxSize || !std::has_single_bit(data.value)) {
    return fail(ErrorKind::kInvalid, "audit ring: the size must be a power of two from 64 KiB to 1 GiB");
  }
  RingDescriptors made;
  BOOST_OUTCOME_TRY(made.memory, make_memfd());
  BOOST_OUTCOME_TRY(made.doorbell, make_eventfd());
  BOOST_OUTCOME_TRY(made.ack, make_eventfd());
  if (::ftruncate(made.memory.get(), static_cast<off_t>(kHeaderBytes + data.value)) != 0) {
    return fail_errno("audit ring: ftruncate");
  }
  BOOST_OUTCOME_TRY(write_header(made.memory.get()));
  if (::fcntl(made.memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return fail_errno("audit ring: seal");
  }
  return made;
}

Result<AuditRing> AuditRing::open(RingDescriptors descriptors) {
  BOOST_OUTCOME_TRY(auto memory, RingMemory::map(descriptors.memory.get()));
  RingHeader& header = memory->header();
  std::uint64_t head = header.head.load(std::memory_order_acquire);
  std::uint64_t tail = header.tail.load(std::memory_order_acquire);
  if (head % kFrameAlign != 0 || tail > head || head - tail > memory->size()) {
    return fail(ErrorKind::kInvalid, "audit ring: cursors contradict each other");
  }
  AuditRing ring(std::move(memory), std::move(descriptors), head);
  ring.seen_tail_ = tail;
  return ring;
}

AuditRing::AuditRing(std::unique_ptr<RingMemory> memory, RingDescriptors descriptors, std::uint64_t head) noexcept
    : memory_(std::move(memory)), descriptors_(std::move(descriptors)), head_(head) {}
AuditRing::AuditRing(AuditRing&&) noexcept = default;
AuditRing& AuditRing::operator=(AuditRing&&) noexcept = default;
AuditRing::~AuditRing() = default;

bool AuditRing::fits(std::uint64_t need, bool opening) noexcept {
  std::uint64_t limit = opening ? memory_->size() / 4 * 3 : memory_->size();
  if (head_ + need - seen_tail_ <= limit) return true;
  std::uint64_t tail = memory_->header().tail.load(std::memory_order_acquire);
  // A tail that went back or ran ahead is no tail: the old one stays and the ring fills up.
  if (tail >= seen_tail_ && tail <= head_) seen_tail_ = tail;
  return head_ + need - seen_tail_ <= limit;
}

void AuditRing::write_frame(std::span<const std::byte> record) noexcept {
  FrameHeader frame{kFrameMagic, static_cast<std::uint32_t>(record.size()), head_};
  memory_->write(head_, &frame, sizeof frame);
  memory_->write(head_ + sizeof frame, record.data(), record.size());
  head_ += frame_bytes(record.size());
}

Result<Sequence> AuditRing::append(const Record& record) noexcept {
  if (closed()) return fail(ErrorKind::kUnavailable, "audit: the ring has been closed");
  std::uint64_t need = frame_bytes(record.bytes.size());
  if (missed_ != 0) need += frame_bytes(kMaxRecordBytes);
  if (!fits(need, is_opening(record.kind))) {
    ++missed_;
    return fail(ErrorKind::kOverloaded, "audit: the ring is full");
  }
  if (missed_ != 0) {
    RecordBuilder gap(RecordKind::kGap);
    gap.number(FieldId::kCount, missed_).text(FieldId::kReason, "ring_full");
    write_frame(gap.record().bytes);
    missed_ = 0;
  }
  write_frame(record.bytes);
  memory_->header().head.store(head_, std::memory_order_release);
  wake_reader();
  return Sequence{head_};
}

void AuditRing::wake_reader() noexcept {
  RingHeader& header = memory_->header();
  // Pairs with the fence in RingReader::announce: either this side sees the announced state, or that side sees the new head.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  auto state = static_cast<Wakefulness>(header.reader_state.load(std::memory_order_relaxed));
  if (state == Wakefulness::kAwake) [[likely]] return;
  if (state == Wakefulness::kCollecting) {
    if (head_ - seen_tail_ < RingReader::kCollectBytes) return;
    std::uint64_t tail = header.tail.load(std::memory_order_acquire);
    if (tail >= seen_tail_ && tail <= head_) seen_tail_ = tail;
    if (head_ - seen_tail_ < RingReader::kCollectBytes) return;
  }
  if (header.reader_state.exchange(0) != 0) ring_bell(descriptors_.doorbell.get());
}

void AuditRing::hurry() noexcept {
  RingHeader& header = memory_->header();
  if (header.tail.load(std::memory_order_acquire) == head_) return;
  if (header.reader_state.load(std::memory_order_relaxed) == 0) return;
  if (header.reader_state.exchange(0) != 0) ring_bell(descriptors_.doorbell.get());
}

Sequence AuditRing::accepted() const noexcept {
  return {memory_->header().tail.load(std::memory_order_acquire)};
}

Sequence AuditRing::durable() const noexcept {
  return {memory_->header().durable.load(std::memory_order_acquire)};
}

bool AuditRing::closed() const noexcept { return memory_->header().closed.load(std::memory_order_relaxed) != 0; }

bool AuditRing::want_ack(Sequence target) noexcept {
  RingHeader& header = memory_->header();
  std::uint64_t armed = header.writer_wants.load(std::memory_order_relaxed);
  if (armed == 0 || armed > target.value) header.writer_wants.store(target.value, std::memory_order_relaxed);
  // Pairs with the fence in RingReader::signal_writer.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (accepted() < target && !closed()) return true;
  // If the reader has taken the target already, its signal is on its way or here: take_ack() copes with one too many. Else the
  // wish that this one replaced stands again, or whoever waits for it would never be woken.
  std::uint64_t expected = target.value;
  if (armed != target.value) header.writer_wants.compare_exchange_strong(expected, armed);
  return false;
}

int AuditRing::ack_fd() const noexcept { return descriptors_.ack.get(); }

void AuditRing::take_ack() noexcept {
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t n = ::read(descriptors_.ack.get(), &count, sizeof count);
}

}  // namespace sallyport::audit
