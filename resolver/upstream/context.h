// What every part of an upstream resolution shares.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "core/async/awaitable.h"
#include "core/async/deadline_wheel.h"
#include "core/net/endpoint.h"

namespace sallyport::resolver {

struct UpstreamSettings {
  std::vector<net::Endpoint> servers;       // in order of preference; at least one
  std::chrono::milliseconds total{5000};    // for one name, all servers and repetitions
  std::chrono::milliseconds attempt{1500};  // for one try at one server
  std::size_t max_in_flight = 256;          // names being resolved at one time
};

// One a process, on one thread; outlives everything that is given a reference to it.
struct UpstreamContext {
  Executor executor;
  async::DeadlineWheel& wheel;
  UpstreamSettings settings;
  // The server to ask first: moves on when it does not answer in time.
  std::size_t first_server = 0;
};

}  // namespace sallyport::resolver
