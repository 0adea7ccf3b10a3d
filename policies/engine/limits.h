// Limits and budgets as a policy states them. What is absent is not limited by the policy.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "core/base/units.h"

namespace sallyport::policy {

// What one rule, or the whole task, may use in all. Every value present is at least 1.
struct Limits {
  std::optional<std::uint64_t> requests;           // HTTP requests; absent on opaque rules, where nothing counts them
  std::optional<std::uint64_t> connections_total;  // upstream connections, over the life of the task
  std::optional<std::uint64_t> connections_concurrent;  // open at once
  std::optional<std::chrono::seconds> duration;         // of one connection, from its acceptance
  std::optional<ByteCount> upload;                      // bytes to upstream, all connections together
  std::optional<ByteCount> download;                    // bytes from upstream, all connections together

  friend bool operator==(const Limits&, const Limits&) = default;
};

// `budgets:` of a policy: what the task may use whichever rules it uses it by.
struct Budgets {
  Limits limits;
  std::optional<std::chrono::seconds> wall;  // of the task, from its start
  std::optional<std::chrono::seconds> idle;  // a connection that carries nothing for so long is closed
  std::optional<std::uint64_t> dns_queries;  // lookups in all, answered or denied
  std::optional<std::uint64_t> dns_names;    // distinct names looked up

  friend bool operator==(const Budgets&, const Budgets&) = default;
};

}  // namespace sallyport::policy
