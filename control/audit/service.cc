#include "control/audit/service.h"

#include "core/base/escape.h"

namespace sallyport::audit_writer {

using audit::RecordKind;
using Outcome = LogFile::Outcome;

Service::Service(Journal journal, LogEnd end, Settings settings, Send send)
    : journal_(std::move(journal)), end_(std::move(end)), settings_(std::move(settings)), send_(std::move(send)) {}

Result<void> Service::open() {
  if (end_.torn_bytes != 0) {
    if (end_.torn_needs_newline) journal_.end_torn_line();
    journal_.begin(RecordKind::kRecovered);
    journal_.number("torn_bytes", end_.torn_bytes);
    journal_.text("torn_sha256", audit_log::to_hex(end_.torn_hash));
    journal_.end();
  }
  journal_.begin(RecordKind::kOpened);
  journal_.number("version", 1);
  journal_.text("owner", settings_.owner, 128);
  journal_.text("durability", settings_.strict ? "strict" : "batched");
  auto opened = journal_.end();
  BOOST_OUTCOME_TRY(auto held, journal_.file().reserve());
  if (held == Outcome::kNoSpace) return fail(ErrorKind::kUnavailable, "audit log: no disk space");
  BOOST_OUTCOME_TRY(auto written, journal_.write());
  if (written == Outcome::kNoSpace) return fail(ErrorKind::kUnavailable, "audit log: no disk space");
  BOOST_OUTCOME_TRY(journal_.file().sync());
  audit::api::FromAudit answer;
  answer.mutable_ready()->set_recovered(end_.torn_bytes != 0);
  set_line(answer.mutable_ready()->mutable_opened(), opened.anchor);
  send_(answer);
  return success();
}

Result<std::size_t> Service::drain(Clock::time_point now) {
  if (full_ && now < retry_) return 0;
  if (unsettled_ || journal_.pending() != 0) {
    BOOST_OUTCOME_TRY(bool settled, settle(now));
    if (!settled) return 0;
  }
  BOOST_OUTCOME_TRY(auto held, journal_.file().reserve());
  set_full(held == Outcome::kNoSpace, now);
  if (full_) return 0;

  // Reports first: a group ends with the records that a successor must recognise (LogEnd::kWindow).
  std::vector<Coalescer::Report> due = coalescer_.due(now, 16);
  if (!due.empty()) {
    write_reports(due);
    BOOST_OUTCOME_TRY(bool settled, settle(now));
    if (!settled) return 0;
  }
  std::size_t taken = 0;
  for (std::size_t i = 0; i < rings_.size(); ++i) taken += collect(*rings_[(turn_ + i) % rings_.size()], now);
  ++turn_;
  if (taken != 0 || journal_.pending() != 0) {
    BOOST_OUTCOME_TRY(settle(now));
  }
  BOOST_OUTCOME_TRY(answer_waiting());
  return taken;
}

std::size_t Service::collect(Ring& ring, Clock::time_point now) {
  std::size_t count = 0;
  while (ring.state == Ring::State::kOpen && journal_.pending() < Journal::kGroupBytes) {
    auto taken = ring.reader.take();
    if (taken.has_error()) {
      close_ring(ring, taken.error().detail);
      break;
    }
    if (!taken.value()) break;
    if (!take_record(ring, *taken.value(), now)) break;
    ++count;
  }
  unsettled_ |= count != 0;
  return count;
}

// False when the record was put back.
bool Service::take_record(Ring& ring, const audit::RingReader::Taken& taken, Clock::time_point now) {
  auto decoded = audit::decode(taken.bytes, audit::Origin::kProxy);
  if (decoded.has_error()) {
    ring.reader.give_back();
    close_ring(ring, decoded.error().detail);
    return false;
  }
  const audit::DecodedRecord& record = decoded.value();
  if (!record.task.empty() && !ring.tasks.contains(record.task)) {
    ring.reader.give_back();
    close_ring(ring, "a record of a task that this ring may not write");
    return false;
  }
  if (ring.is_logged(taken.end)) return true;
  if (over_budget(ring, record)) {
    ring.reader.give_back();
    return false;
  }
  strict_now_ |= record.durability == audit::Durability::kStrict;
  if (!settings_.strict && coalescer_.fold(ring.id, record, taken.bytes, now)) {
    ++ring.tally.folded;
  } else {
    write_record(ring, taken.end, record);
  }
  return true;
}

// True when the record may not be written: its ring then stands still, or is closed.
bool Service::over_budget(Ring& ring, const audit::DecodedRecord& record) {
  if (ring.closing) return false;
  std::uint64_t most = settings_.task_bytes.value;
  if (record.task.empty()) {
    if (ring.own_bytes <= most) return false;
    close_ring(ring, "records without a task beyond the budget of one");
    return true;
  }
  TaskAccount& account = tasks_.find(record.task)->second;
  if (account.ended) {
    if (account.bytes - account.bytes_at_end <= kAfterEndBytes) return false;
    close_ring(ring, "a task that has ended goes on");
    return true;
  }
  if (account.bytes <= most) return false;
  if (!account.over) {
    account.over = true;
    journal_.begin(RecordKind::kOverBudget);
    journal_.text("task", record.task);
    journal_.number("bytes", account.bytes);
    journal_.end();
    audit::api::FromAudit told;
    told.mutable_task_over_budget()->set_task(std::string(record.task));
    told.mutable_task_over_budget()->set_bytes(account.bytes);
    news_.push_back(std::move(told));
  }
  if (account.bytes <= most + kGraceBytes) return false;
  ring.state = Ring::State::kStalled;
  ring.stalled_by = record.task;
  return true;
}

void Service::write_record(Ring& ring, audit::Sequence end, const audit::DecodedRecord& record) {
  journal_.begin(record.kind);
  journal_.record(record);
  journal_.ring(ring.id);
  journal_.number("pos", end.value);
  auto made = journal_.end();
  ring.lines.add(made.anchor);
  if (record.task.empty()) {
    ring.own_bytes += made.bytes;
  } else {
    account(std::string(record.task), made);
  }
}

void Service::account(const std::string& task, const Journal::Made& made) {
  TaskAccount& account = tasks_[task];
  account.lines.add(made.anchor);
  account.bytes += made.bytes;
  ++account.records;
}

void Service::write_reports(const std::vector<Coalescer::Report>& reports) {
  for (const Coalescer::Report& report : reports) {
    Ring* ring = find(report.ring);
    auto decoded = audit::decode(report.record, audit::Origin::kProxy);
    if (ring == nullptr || decoded.has_error()) continue;  // neither happens: a ring's reports go before it does
    ring->tally.reported += report.count;
    journal_.begin(RecordKind::kCoalesced);
    journal_.text("of", to_string(decoded.value().kind));
    journal_.record(decoded.value());
    journal_.ring(ring->id);
    journal_.number("repeated", report.count);
    journal_.number("folded", ring->tally.reported);
    auto made = journal_.end();
    ring->lines.add(made.anchor);
    account(std::string(decoded.value().task), made);
    unsettled_ = true;
  }
}

void Service::close_ring(Ring& ring, const std::string& what) {
  ring.reader.close();
  ring.state = Ring::State::kClosed;
  journal_.begin(RecordKind::kRingCorrupt);
  journal_.ring(ring.id);
  journal_.number("at", ring.reader.position().value);
  journal_.text("error", what);
  ring.lines.add(journal_.end().anchor);
  audit::api::FromAudit told;
  told.mutable_ring_corrupt()->set_ring(ring.id);
  told.mutable_ring_corrupt()->set_what(escape_text(what));
  news_.push_back(std::move(told));
}

// Writes what has been made, and only then accepts what has been taken. False when the disk is full: nothing is accepted.
Result<bool> Service::settle(Clock::time_point now) {
  bool was_dirty = journal_.dirty();
  BOOST_OUTCOME_TRY(auto outcome, journal_.write());
  if (!was_dirty && journal_.dirty()) unsynced_since_ = now;
  if (outcome == Outcome::kNoSpace) {
    set_full(true, now);
    return false;
  }
  bool strict = strict_now_ || settings_.strict;
  if (strict) {
    BOOST_OUTCOME_TRY(journal_.file().sync());
  }
  strict_now_ = false;
  unsettled_ = false;
  for (auto& ring : rings_) {
    ring->reader.accept(ring->tally);
    if (strict) ring->reader.mark_durable();
  }
  for (const audit::api::FromAudit& told : news_) send_(told);
  news_.clear();
  return true;
}

Result<void> Service::sync() {
  BOOST_OUTCOME_TRY(journal_.file().sync());
  for (auto& ring : rings_) ring->reader.mark_durable();
  return success();
}

Result<void> Service::tick(Clock::time_point now) {
  if (journal_.dirty() && now - unsynced_since_ >= kSyncAfter) {
    BOOST_OUTCOME_TRY(sync());
  }
  return success();
}

void Service::set_full(bool full, Clock::time_point now) {
  if (full) retry_ = now + kRetryAfter;
  if (full == full_) return;
  full_ = full;
  audit::api::FromAudit told;
  told.mutable_disk_state()->set_writable(!full);
  if (full) told.mutable_disk_state()->set_error("no disk space for the audit log");
  send_(told);
}

Result<void> Service::close(Clock::time_point now) {
  // Each round takes at least one record of a ring of bounded size, whose writer may go on: so bounded in time, too.
  Deadline until(now + std::chrono::seconds(5));
  while (!full_ && !until.passed(Clock::now())) {
    BOOST_OUTCOME_TRY(auto taken, drain(now));
    if (taken == 0) break;
  }
  write_reports(coalescer_.take_all());
  journal_.begin(RecordKind::kClosed);
  journal_.end();
  BOOST_OUTCOME_TRY(bool settled, settle(now));
  if (!settled) return fail(ErrorKind::kUnavailable, "audit log: no disk space for its last lines");
  BOOST_OUTCOME_TRY(sync());
  journal_.file().release_reserve();
  return success();
}

Deadline Service::next_timer() const noexcept {
  Deadline next = full_ ? Deadline(retry_) : coalescer_.next();
  return journal_.dirty() ? next.earlier(Deadline(unsynced_since_ + kSyncAfter)) : next;
}

bool Service::announce(audit::RingReader::Wakefulness state) noexcept {
  bool more = false;
  for (auto& ring : rings_) {
    if (ring->state == Ring::State::kOpen) more |= ring->reader.announce(state);
  }
  return more && !full_;
}

std::vector<int> Service::doorbells() const {
  std::vector<int> list;
  if (full_) return list;
  for (const auto& ring : rings_) {
    if (ring->state == Ring::State::kOpen) list.push_back(ring->reader.doorbell_fd());
  }
  return list;
}

void Service::take_doorbells() noexcept {
  for (auto& ring : rings_) ring->reader.take_doorbell();
}

Service::Ring* Service::find(std::uint64_t id) noexcept {
  for (auto& ring : rings_) {
    if (ring->id == id) return ring.get();
  }
  return nullptr;
}

void Service::set_line(audit::api::Line* out, const audit_log::Anchor& anchor) {
  out->set_sequence(anchor.sequence);
  if (anchor.sequence != 0) out->set_hash(anchor.hash.data(), anchor.hash.size());
}

}  // namespace sallyport::audit_writer
