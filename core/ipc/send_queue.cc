#include "core/ipc/send_queue.h"

#include <array>

namespace sallyport::ipc {

Result<void> SendQueue::send(const Frame& frame) {
  std::array<int, kMaxFrameDescriptors> numbers{};
  if (frame.descriptors.size() > numbers.size())
    return fail(ErrorKind::kInvalid, "channel: too many descriptors for a frame");
  std::size_t count = 0;
  for (const UniqueFd& fd : frame.descriptors) numbers[count++] = fd.get();
  return channel_.try_send(frame.bytes, std::span(numbers).first(count));
}

Result<void> SendQueue::push(std::span<const std::uint8_t> bytes, std::vector<UniqueFd> descriptors) {
  if (bytes.empty() || bytes.size() > kMaxFrameBytes)
    return fail(ErrorKind::kInvalid, "channel: a frame of this size is not sent");
  if (descriptors.size() > kMaxFrameDescriptors)
    return fail(ErrorKind::kInvalid, "channel: too many descriptors for a frame");
  Frame frame{{bytes.begin(), bytes.end()}, std::move(descriptors)};
  if (waiting_.empty()) {
    auto sent = send(frame);
    if (sent || sent.error().kind != ErrorKind::kUnavailable) return sent;
  }
  if (waiting_.size() >= limits_.frames || bytes_ + bytes.size() > limits_.bytes)
    return fail(ErrorKind::kOverloaded, "channel: the other side does not read");
  bytes_ += frame.bytes.size();
  waiting_.push_back(std::move(frame));
  return success();
}

Result<bool> SendQueue::flush() {
  while (!waiting_.empty()) {
    auto sent = send(waiting_.front());
    if (!sent && sent.error().kind == ErrorKind::kUnavailable) return false;
    if (!sent) return fail(std::move(sent).error());
    bytes_ -= waiting_.front().bytes.size();
    waiting_.pop_front();
  }
  return true;
}

}  // namespace sallyport::ipc
