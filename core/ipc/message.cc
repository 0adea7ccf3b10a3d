#include "core/ipc/message.h"

namespace sallyport::ipc {

Result<std::vector<std::uint8_t>> serialize(const google::protobuf::MessageLite& message) {
  std::size_t size = message.ByteSizeLong();
  if (size == 0) return fail(ErrorKind::kInvalid, "message: an empty envelope is not sent");
  if (size > kMaxFrameBytes)
    return fail(ErrorKind::kInvalid, "message: " + std::to_string(size) + " bytes do not fit a frame");
  std::vector<std::uint8_t> bytes(size);
  if (!message.IsInitialized() || !message.SerializeToArray(bytes.data(), static_cast<int>(size)))
    return fail(ErrorKind::kInvalid, "message: a required field is missing");
  return bytes;
}

Result<void> parse_into(std::span<const std::uint8_t> bytes, google::protobuf::MessageLite& message) {
  if (bytes.empty() || bytes.size() > kMaxFrameBytes)
    return fail(ErrorKind::kInvalid, "message: not of a frame's size");
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorKind::kInvalid, "message: does not parse as " + message.GetTypeName());
  return success();
}

Result<void> send_message(Channel& channel, const google::protobuf::MessageLite& message,
                          std::span<const int> descriptors, Deadline deadline) {
  BOOST_OUTCOME_TRY(auto bytes, serialize(message));
  return channel.send(bytes, descriptors, deadline);
}

Result<void> try_send_message(Channel& channel, const google::protobuf::MessageLite& message,
                              std::span<const int> descriptors) {
  BOOST_OUTCOME_TRY(auto bytes, serialize(message));
  return channel.try_send(bytes, descriptors);
}

}  // namespace sallyport::ipc
