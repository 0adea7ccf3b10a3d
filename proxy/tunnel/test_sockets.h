// Connected sockets for the tests of this folder.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <utility>

#include "core/base/unique_fd.h"

namespace sallyport::proxy {

// Two connected TCP sockets on loopback, non-blocking: splice, urgent data and resets are TCP's. `buffer`: SO_SNDBUF of the near one and
// SO_RCVBUF of the far one, 0 for the usual.
inline std::pair<UniqueFd, UniqueFd> tcp_pair(int buffer = 0) {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  if (buffer > 0) EXPECT_EQ(::setsockopt(listener.get(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer), 0);
  EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), length), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
  UniqueFd near(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (buffer > 0) EXPECT_EQ(::setsockopt(near.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer), 0);
  EXPECT_EQ(::connect(near.get(), reinterpret_cast<sockaddr*>(&at), length), 0);
  UniqueFd far(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  int on = 1;
  for (const UniqueFd* end : {&near, &far}) {
    EXPECT_EQ(::fcntl(end->get(), F_SETFL, O_NONBLOCK), 0);
    EXPECT_EQ(::setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
  }
  return {std::move(near), std::move(far)};
}

// The next close of `end` is a reset.
inline void will_reset(const UniqueFd& end) {
  linger now{1, 0};
  EXPECT_EQ(::setsockopt(end.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now), 0);
}

}  // namespace sallyport::proxy
