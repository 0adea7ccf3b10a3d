// Protobuf messages over a Channel, one a frame.
//
// Convention: a daemon's api/*.proto defines one envelope for each direction, `ToNAME` and `FromNAME`, each a single
// `oneof message`. An envelope with no case set is never sent and is refused when received.
#pragma once

#include <google/protobuf/message_lite.h>

#include <concepts>
#include <span>
#include <utility>
#include <vector>

#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/ipc/channel.h"

namespace sallyport::ipc {

// The bytes of a frame. kInvalid when empty or longer than kMaxFrameBytes.
Result<std::vector<std::uint8_t>> serialize(const google::protobuf::MessageLite& message);
// Replaces `message`. kInvalid when the bytes are not exactly one message of its type.
Result<void> parse_into(std::span<const std::uint8_t> bytes, google::protobuf::MessageLite& message);

Result<void> send_message(Channel& channel, const google::protobuf::MessageLite& message,
                          std::span<const int> descriptors, Deadline deadline);
Result<void> try_send_message(Channel& channel, const google::protobuf::MessageLite& message,
                              std::span<const int> descriptors = {});

// Exactly one T, or kInvalid. Fields that T does not know are skipped: the lite runtime has no account of them. An
// envelope with a case from a newer build so has no case, which no RequestTable allows.
template <std::derived_from<google::protobuf::MessageLite> T>
Result<T> parse(std::span<const std::uint8_t> bytes) {
  T message;
  BOOST_OUTCOME_TRY(parse_into(bytes, message));
  return message;
}
template <std::derived_from<google::protobuf::MessageLite> T>
Result<T> parse(const Frame& frame) {
  return parse<T>(std::span<const std::uint8_t>(frame.bytes));
}

// A message with the descriptors that came with it.
template <class T>
struct Received {
  T message;
  std::vector<UniqueFd> descriptors;
};

// Receives and parses. A message that does not parse closes the channel, as a bad frame does.
template <std::derived_from<google::protobuf::MessageLite> T>
Result<Received<T>> receive_message(Channel& channel, Deadline deadline, std::size_t max_descriptors = 0) {
  BOOST_OUTCOME_TRY(auto frame, channel.receive(deadline, max_descriptors));
  auto parsed = parse<T>(frame);
  if (!parsed) {
    channel.close();
    return fail(std::move(parsed).error());
  }
  return Received<T>{std::move(parsed).value(), std::move(frame.descriptors)};
}
// The same without waiting: kUnavailable when there is none.
template <std::derived_from<google::protobuf::MessageLite> T>
Result<Received<T>> try_receive_message(Channel& channel, std::size_t max_descriptors = 0) {
  BOOST_OUTCOME_TRY(auto frame, channel.try_receive(max_descriptors));
  auto parsed = parse<T>(frame);
  if (!parsed) {
    channel.close();
    return fail(std::move(parsed).error());
  }
  return Received<T>{std::move(parsed).value(), std::move(frame.descriptors)};
}

}  // namespace sallyport::ipc
