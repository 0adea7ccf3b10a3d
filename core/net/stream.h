// Stream: a two-way byte stream whatever carries it (TCP, TLS, an h2 stream, a fake). Above this line nothing is a template.
//
// Used on one thread. At most one read and one write are under way at a time. Borrowed buffers must live until
// the call has completed. After abort() every pending and later call fails with kDisconnected.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "core/async/awaitable.h"
#include "core/base/result.h"

namespace sallyport::net {

enum class CloseReason {
  kOrderly,  // what was written may still be delivered
  kReset,    // the peer gets a TCP reset; nothing lingers
};

class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  virtual ~Stream() = default;

  // Reads at least one byte; 0 is the peer's end of stream. kDisconnected on reset or abort.
  virtual Awaitable<Result<std::size_t>> read_some(std::span<char> buffer) = 0;
  // Writes all of `first`, then all of `second`, if possible in one system call.
  virtual Awaitable<Result<void>> write_all(std::string_view first, std::string_view second = {}) = 0;
  // Ends the sending side; reading goes on.
  virtual void shutdown_write() noexcept = 0;
  virtual void abort(CloseReason reason) noexcept = 0;
};

}  // namespace sallyport::net
