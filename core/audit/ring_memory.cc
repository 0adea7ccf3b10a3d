#include "core/audit/ring_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <bit>
#include <cstring>

#include "core/audit/ring.h"

namespace sallyport::audit {

Result<std::unique_ptr<RingMemory>> RingMemory::map(int fd) {
  int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) return fail_errno("audit ring: seals");
  constexpr int kNeeded = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  if ((seals & kNeeded) != kNeeded) return fail(ErrorKind::kInvalid, "audit ring: the memory is not sealed");
  struct stat st{};
  if (::fstat(fd, &st) != 0) return fail_errno("audit ring: size");
  auto total = static_cast<std::uint64_t>(st.st_size);
  if (total < kHeaderBytes + AuditRing::kMinSize.value || total > kHeaderBytes + AuditRing::kMaxSize.value ||
      !std::has_single_bit(total - kHeaderBytes)) {
    return fail(ErrorKind::kInvalid, "audit ring: not the size of a ring");
  }
  void* base = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (base == MAP_FAILED) return fail_errno("audit ring: mmap");
  std::unique_ptr<RingMemory> memory(new RingMemory(static_cast<std::byte*>(base), total - kHeaderBytes));
  const RingHeader& header = memory->header();
  if (header.magic != kRingMagic || header.version != kRingVersion) {
    return fail(ErrorKind::kInvalid, "audit ring: not a ring of this version");
  }
  return memory;
}

RingMemory::~RingMemory() { ::munmap(base_, kHeaderBytes + size_); }

void RingMemory::write(std::uint64_t position, const void* from, std::size_t bytes) noexcept {
  std::uint64_t at = position & (size_ - 1);
  std::size_t first = bytes < size_ - at ? bytes : static_cast<std::size_t>(size_ - at);
  std::byte* data = base_ + kHeaderBytes;
  std::memcpy(data + at, from, first);
  if (first < bytes) std::memcpy(data, static_cast<const std::byte*>(from) + first, bytes - first);
}

void RingMemory::read(std::uint64_t position, void* to, std::size_t bytes) const noexcept {
  std::uint64_t at = position & (size_ - 1);
  std::size_t first = bytes < size_ - at ? bytes : static_cast<std::size_t>(size_ - at);
  const std::byte* data = base_ + kHeaderBytes;
  std::memcpy(to, data + at, first);
  if (first < bytes) std::memcpy(static_cast<std::byte*>(to) + first, data, bytes - first);
}

}  // namespace sallyport::audit
