#include "control/ledger/ledger.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <algorithm>
#include <limits>

#include "core/base/unique_fd.h"

namespace sallyport::control {
namespace {

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS counter (task TEXT NOT NULL, resource TEXT NOT NULL, rule INTEGER NOT NULL,"
    " maximum INTEGER NOT NULL, spent INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (task, resource, rule)) WITHOUT ROWID";

// SQLite's integers are signed: larger limits are as good as none in practice, and are kept at its largest.
sqlite3_int64 to_sql(std::uint64_t value) {
  return static_cast<sqlite3_int64>(std::min<std::uint64_t>(value, std::numeric_limits<sqlite3_int64>::max()));
}

Error sql_error(sqlite3* db, std::string_view what) {
  int code = db ? sqlite3_errcode(db) : SQLITE_CANTOPEN;
  auto kind = code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? ErrorKind::kInvalid : ErrorKind::kUnavailable;
  return Error{kind, code, "ledger: " + std::string(what) + ": " + (db ? sqlite3_errmsg(db) : "cannot be opened")};
}

class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) { sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(const CounterKey& key) {
    if (!statement_) return;
    auto task = key.task.text();
    sqlite3_bind_text(statement_, 1, task.data(), static_cast<int>(task.size()), SQLITE_TRANSIENT);
    sqlite3_bind_text(statement_, 2, key.resource.data(), static_cast<int>(key.resource.size()), SQLITE_TRANSIENT);
    sqlite3_bind_int(statement_, 3, key.rule);
  }
  void bind_amount(std::uint64_t amount) {
    if (statement_) sqlite3_bind_int64(statement_, 4, to_sql(amount));
  }
  // SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return statement_ ? sqlite3_step(statement_) : sqlite3_errcode(db_); }
  std::uint64_t column(int index) { return static_cast<std::uint64_t>(sqlite3_column_int64(statement_, index)); }

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

void Ledger::Close::operator()(sqlite3* db) const noexcept { sqlite3_close_v2(db); }

Result<void> Ledger::execute(const char* sql) {
  if (sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK) return fail(sql_error(db_.get(), "prepare"));
  return success();
}

Result<Ledger> Ledger::open(const std::string& path) {
  UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made) return fail_errno("ledger: " + path);
  sqlite3* db = nullptr;
  int opened = sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, nullptr);
  Ledger ledger{std::unique_ptr<sqlite3, Close>(db)};
  if (opened != SQLITE_OK) return fail(sql_error(db, path));
  sqlite3_busy_timeout(db, 1000);
  BOOST_OUTCOME_TRY(ledger.execute("PRAGMA journal_mode=WAL"));
  BOOST_OUTCOME_TRY(ledger.execute("PRAGMA synchronous=FULL"));
  BOOST_OUTCOME_TRY(ledger.execute(kSchema));
  return ledger;
}

Result<void> Ledger::set_limit(const CounterKey& key, std::uint64_t limit) {
  Statement s(db_.get(),
              "INSERT INTO counter (task, resource, rule, maximum) VALUES (?1, ?2, ?3, ?4)"
              " ON CONFLICT DO UPDATE SET maximum = excluded.maximum");
  s.bind(key);
  s.bind_amount(limit);
  if (s.step() != SQLITE_DONE) return fail(sql_error(db_.get(), "set a limit"));
  return success();
}

Result<Lease> Ledger::lease(const CounterKey& key, std::uint64_t want) {
  // One statement: the amount is spent in the same commit that computes it.
  Statement s(db_.get(),
              "UPDATE counter SET spent = spent + min(?4, max(maximum - spent, 0)) WHERE task = ?1 AND resource = ?2 AND rule = ?3"
              " RETURNING spent, maximum");
  Statement before(db_.get(), "SELECT spent FROM counter WHERE task = ?1 AND resource = ?2 AND rule = ?3");
  before.bind(key);
  int found = before.step();
  if (found == SQLITE_DONE) return fail(ErrorKind::kInvalid, "ledger: no such counter: " + key.resource);
  if (found != SQLITE_ROW) return fail(sql_error(db_.get(), "lease"));
  std::uint64_t was = before.column(0);
  s.bind(key);
  s.bind_amount(want);
  if (s.step() != SQLITE_ROW) return fail(sql_error(db_.get(), "lease"));
  Lease lease{s.column(0) - was, s.column(0) >= s.column(1)};
  // The commit happens when the statement ends: only then may the lease be used.
  if (s.step() != SQLITE_DONE) return fail(sql_error(db_.get(), "lease"));
  return lease;
}

Result<void> Ledger::give_back(const CounterKey& key, std::uint64_t amount) {
  Statement s(db_.get(), "UPDATE counter SET spent = max(spent - ?4, 0) WHERE task = ?1 AND resource = ?2 AND rule = ?3");
  s.bind(key);
  s.bind_amount(amount);
  if (s.step() != SQLITE_DONE) return fail(sql_error(db_.get(), "give back"));
  return success();
}

Result<std::uint64_t> Ledger::spent(const CounterKey& key) const {
  Statement s(db_.get(), "SELECT spent FROM counter WHERE task = ?1 AND resource = ?2 AND rule = ?3");
  s.bind(key);
  int found = s.step();
  if (found == SQLITE_DONE) return fail(ErrorKind::kInvalid, "ledger: no such counter: " + key.resource);
  if (found != SQLITE_ROW) return fail(sql_error(db_.get(), "read"));
  return s.column(0);
}

}  // namespace sallyport::control
