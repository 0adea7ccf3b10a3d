#include "proxy/limits/allowance.h"

#include <algorithm>

namespace sallyport::proxy {

std::string_view to_string(Resource resource) noexcept {
  switch (resource) {
    case Resource::kRequests: return "requests";
    case Resource::kConnections: return "connections";
    case Resource::kUpload: return "upload";
    case Resource::kDownload: return "download";
  }
  return "requests";
}

// Large enough that a busy task asks seldom, small enough that a crash loses little: of bytes, an eighth of what was used so far within these
// bounds, so that a bulky stream does not live from hand to mouth.
std::uint64_t Allowance::slice() const noexcept {
  bool bytes = resource_ == Resource::kUpload || resource_ == Resource::kDownload;
  return bytes ? std::clamp<std::uint64_t>(used_ / 8, 4u << 20, 64u << 20) : 256;
}

void Allowance::ask(std::uint64_t want) noexcept {
  if (asked_ || final_) return;
  asked_ = true;
  source_->request_lease(resource_, rule_, std::max(want, slice()));
}

std::uint64_t Allowance::take_now(std::uint64_t want) noexcept {
  if (!limited()) {
    used_ += want;
    return want;
  }
  auto taken = std::min(want, available_);
  available_ -= taken;
  used_ += taken;
  // Ahead of need, so that a steady stream does not stop at the end of each slice.
  if (available_ < slice() / 4) ask(0);
  return taken;
}

Awaitable<bool> Allowance::wait_for_some(std::uint64_t want) {
  while (on_hand() == 0) {
    if (final_) co_return false;
    ask(want);
    auto wait = changed_.wait();
    co_await std::move(wait);
  }
  co_return true;
}

Awaitable<std::uint64_t> Allowance::take(std::uint64_t want) {
  if (want == 0) co_return 0;
  auto waiting = wait_for_some(want);
  if (!co_await std::move(waiting)) co_return 0;
  co_return take_now(want);
}

void Allowance::put_back(std::uint64_t amount) noexcept {
  used_ -= std::min(amount, used_);
  if (!limited()) return;
  available_ += amount;
  if (amount > 0) changed_.notify_all();
}

void Allowance::granted(std::uint64_t amount, bool final) noexcept {
  asked_ = false;
  available_ += amount;
  final_ = final_ || final;
  changed_.notify_all();
}

void Allowance::close() noexcept {
  final_ = true;
  changed_.notify_all();
}

}  // namespace sallyport::proxy
