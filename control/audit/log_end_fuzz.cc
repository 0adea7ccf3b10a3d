// read_log_end on any file. What it finds must be what verify() finds: the chain it continues is one that verifies.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "control/audit/log_end.h"
#include "control/audit_log/line.h"
#include "control/audit_log/verify.h"
#include "core/base/unique_fd.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sallyport;
  UniqueFd fd(::memfd_create("log", MFD_CLOEXEC));
  if (::write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  auto end = audit_writer::read_log_end(fd.get());
  if (end.has_error()) return 0;
  ::lseek(fd.get(), 0, SEEK_SET);
  auto before = audit_log::verify(fd.get()).value();
  // A sound log ends where verify says; a log whose only fault is its torn end is sound once that is closed off.
  if (before.sound() && !(before.last == end.value().last && end.value().torn_bytes == 0)) std::abort();
  if (before.last != end.value().last) return 0;
  std::string more = end.value().torn_needs_newline ? "\n" : "";
  std::size_t start = more.size();
  more += "{\"seq\":" + std::to_string(end.value().last.sequence + 1) + ",\"time\":\"t\",\"kind\":\"";
  more += end.value().torn_bytes == 0 ? std::string("opened\"")
                                      : "recovered\",\"torn_bytes\":" + std::to_string(end.value().torn_bytes) +
                                            ",\"torn_sha256\":\"" + audit_log::to_hex(end.value().torn_hash) + "\"";
  audit_log::Hasher hasher;
  audit_log::seal_line(hasher, end.value().last.hash, more, start);
  ::lseek(fd.get(), 0, SEEK_END);
  if (::write(fd.get(), more.data(), more.size()) != static_cast<ssize_t>(more.size())) return 0;
  ::lseek(fd.get(), 0, SEEK_SET);
  auto after = audit_log::verify(fd.get()).value();
  if (after.last.sequence != end.value().last.sequence + 1) std::abort();
  return 0;
}
