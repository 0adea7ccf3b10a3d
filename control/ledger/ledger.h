// Ledger: what every budget has left, on disk. A lease is counted as spent before it is handed out, so a crash of whoever
// holds it can lose allowance but never exceed the budget (budget-014).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"

struct sqlite3;

namespace sallyport::control {

// One counter: a resource of a task (`rule` -1), or of one rule of its policy. `resource` is as in policies: "requests", …
struct CounterKey {
  TaskId task;
  std::string resource;
  int rule = -1;
};

struct Lease {
  std::uint64_t granted = 0;
  bool final = false;  // nothing is left
};

// One SQLite database (WAL, synchronous FULL). One process and thread at a time. Errors are kUnavailable (disk) or kInternal.
class Ledger {
 public:
  // Opens or makes the database file, mode 0600. kInvalid when it is something else.
  static Result<Ledger> open(const std::string& path);
  Ledger(Ledger&&) noexcept = default;
  Ledger& operator=(Ledger&&) noexcept = default;

  // Sets the limit of a counter; what it has spent before stays spent.
  Result<void> set_limit(const CounterKey& key, std::uint64_t limit);
  // At most `want`; durable when it returns. A counter without a limit is kInvalid: nothing is granted by default.
  Result<Lease> lease(const CounterKey& key, std::uint64_t want);
  // What a lease's holder proved not to have used. Never gives back more than was spent.
  Result<void> give_back(const CounterKey& key, std::uint64_t amount);
  Result<std::uint64_t> spent(const CounterKey& key) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const noexcept;
  };
  explicit Ledger(std::unique_ptr<sqlite3, Close> db) : db_(std::move(db)) {}
  Result<void> execute(const char* sql);

  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace sallyport::control
