// RequestTable: which request the other side may make in which state, and how many descriptors it may carry.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <type_traits>

#include "core/base/result.h"
#include "core/ipc/channel.h"

namespace sallyport::ipc {

// One permitted request.
template <class State, class Case>
struct RequestRow {
  State state;
  Case request;
  std::size_t descriptors = 0;  // at most so many come with it
};

// A constant of each side of a channel. Whatever is not written in it is denied: a state without rows admits nothing.
// `Case` is the envelope's oneof case (ToProxy::MessageCase), `State` an enum of the receiving side:
//
//   constexpr auto kRequests = request_table<State, ToProxy::MessageCase>({
//       {State::kFresh, ToProxy::kStart, 6},
//       {State::kRunning, ToProxy::kStop},
//   });
//   BOOST_OUTCOME_TRY(kRequests.admit(channel, state, envelope.message_case(), descriptors.size()));
template <class State, class Case, std::size_t N>
  requires std::is_enum_v<State> && std::is_enum_v<Case>
class RequestTable {
 public:
  using Row = RequestRow<State, Case>;
  constexpr explicit RequestTable(const Row (&rows)[N]) {
    for (std::size_t i = 0; i < N; ++i) rows_[i] = rows[i];
  }

  constexpr bool allows(State state, Case request, std::size_t descriptors = 0) const noexcept {
    for (const Row& row : rows_)
      if (row.state == state && row.request == request) return descriptors <= row.descriptors;
    return false;
  }
  // The most descriptors any request in `state` may carry: what to pass to Channel::receive.
  constexpr std::size_t max_descriptors(State state) const noexcept {
    std::size_t most = 0;
    for (const Row& row : rows_)
      if (row.state == state && row.descriptors > most) most = row.descriptors;
    return most;
  }
  // kDenied when not allowed.
  Result<void> check(State state, Case request, std::size_t descriptors = 0) const {
    if (allows(state, request, descriptors)) return success();
    return fail(ErrorKind::kDenied, "request " + std::to_string(static_cast<long>(request)) + " with " +
                                        std::to_string(descriptors) + " descriptors is not permitted in state " +
                                        std::to_string(static_cast<long>(state)));
  }
  // The same, and closes the channel when denied: the other side is broken or hostile.
  Result<void> admit(Channel& channel, State state, Case request, std::size_t descriptors = 0) const {
    auto verdict = check(state, request, descriptors);
    if (!verdict) channel.close();
    return verdict;
  }

 private:
  std::array<Row, N> rows_{};
};

template <class State, class Case, std::size_t N>
constexpr RequestTable<State, Case, N> request_table(const RequestRow<State, Case> (&rows)[N]) {
  return RequestTable<State, Case, N>(rows);
}

}  // namespace sallyport::ipc
