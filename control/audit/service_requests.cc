// What control asks of the audit process.
#include <algorithm>

#include "control/audit/service.h"
#include "core/base/escape.h"
#include "core/base/ids.h"

namespace sallyport::audit_writer {

using audit::RecordKind;
using audit::api::ToAudit;

Result<void> Service::handle(const ToAudit& message, std::vector<UniqueFd> descriptors, Clock::time_point now) {
  switch (message.message_case()) {
    case ToAudit::kRegisterRing: {
      BOOST_OUTCOME_TRY(register_ring(message.register_ring(), std::move(descriptors)));
      break;
    }
    case ToAudit::kAllowTask: {
      BOOST_OUTCOME_TRY(allow_task(message.allow_task()));
      break;
    }
    case ToAudit::kEndTask: {
      BOOST_OUTCOME_TRY(begin_end_task(message.end_task()));
      const std::string& task = message.end_task().task();
      wait_for(message, [&](const Ring& ring) { return ring.tasks.contains(task); });
      break;
    }
    case ToAudit::kCloseRing: {
      std::uint64_t id = message.close_ring().ring();
      Ring* ring = find(id);
      if (ring == nullptr || ring->closing) return fail(ErrorKind::kInvalid, "CloseRing: no such ring");
      ring->closing = true;
      if (ring->state == Ring::State::kStalled) ring->state = Ring::State::kOpen;
      wait_for(message, [&](const Ring& ring) { return ring.id == id; });
      break;
    }
    case ToAudit::kAppend: {
      BOOST_OUTCOME_TRY(append(message.append()));
      BOOST_OUTCOME_TRY(settle(now));
      break;
    }
    case ToAudit::kFlush: {
      wait_for(message, [](const Ring&) { return true; });
      break;
    }
    case ToAudit::kStart:
    case ToAudit::MESSAGE_NOT_SET:
      return fail(ErrorKind::kInvalid, "control sent a message out of its place");
  }
  return success();
}

Result<void> Service::register_ring(const audit::api::RegisterRing& message, std::vector<UniqueFd> descriptors) {
  if (descriptors.size() != 3) return fail(ErrorKind::kInvalid, "RegisterRing: three descriptors are needed");
  if (find(message.ring()) != nullptr) return fail(ErrorKind::kInvalid, "RegisterRing: the number is in use");
  if (rings_.size() >= kMaxRings) return fail(ErrorKind::kOverloaded, "RegisterRing: too many rings");
  audit::api::FromAudit answer;
  answer.mutable_ring_registered()->set_ring(message.ring());
  auto reader = audit::RingReader::open({std::move(descriptors[0]), std::move(descriptors[1]), std::move(descriptors[2])});
  if (reader.has_error()) {
    answer.mutable_ring_registered()->set_error(reader.error().detail);
    send_(answer);
    return success();
  }
  RingTrace trace;
  if (auto known = end_.rings.extract(message.ring())) trace = std::move(known.mapped());
  rings_.push_back(std::make_unique<Ring>(message.ring(), std::move(reader).value(), std::move(trace)));
  Ring& ring = *rings_.back();
  audit::api::AllowTask allow;
  allow.set_ring(message.ring());
  for (const std::string& task : message.tasks()) {
    allow.set_task(task);
    BOOST_OUTCOME_TRY(allow_task(allow));
  }
  // Denials that an earlier audit process had counted and was killed before it reported them.
  if (ring.tally.folded > ring.tally.reported) {
    std::uint64_t lost = ring.tally.folded - ring.tally.reported;
    journal_.begin(RecordKind::kCoalesced);
    journal_.text("of", "unknown");
    journal_.ring(ring.id);
    journal_.number("repeated", lost);
    ring.tally.reported = ring.tally.folded;
    journal_.number("folded", ring.tally.reported);
    ring.lines.add(journal_.end().anchor);
    unsettled_ = true;
  } else {
    ring.tally.folded = ring.tally.reported;
  }
  send_(answer);
  return success();
}

Result<void> Service::allow_task(const audit::api::AllowTask& message) {
  Ring* ring = find(message.ring());
  if (ring == nullptr) return fail(ErrorKind::kInvalid, "AllowTask: no such ring");
  BOOST_OUTCOME_TRY(auto task, TaskId::parse(message.task()));
  if (ring->tasks.size() >= kMaxTasksOfRing) return fail(ErrorKind::kOverloaded, "AllowTask: too many tasks");
  if (ring->tasks.emplace(task.text()).second) ++tasks_[std::string(task.text())].rings;
  return success();
}

Result<void> Service::begin_end_task(const audit::api::EndTask& message) {
  BOOST_OUTCOME_TRY(TaskId::parse(message.task()));
  TaskAccount& account = tasks_[message.task()];
  if (account.ended) return fail(ErrorKind::kInvalid, "EndTask: the task has ended already");
  account.ended = true;
  account.bytes_at_end = account.bytes;
  for (auto& ring : rings_) {
    if (ring->state != Ring::State::kStalled || ring->stalled_by != message.task()) continue;
    ring->state = Ring::State::kOpen;
    ring->stalled_by.clear();
  }
  return success();
}

Result<void> Service::append(const audit::api::Append& message) {
  const std::string& bytes = message.record();
  BOOST_OUTCOME_TRY(auto record, audit::decode(std::as_bytes(std::span(bytes)), audit::Origin::kControl));
  if (journal_.pending() > 8 * Journal::kGroupBytes) return fail(ErrorKind::kOverloaded, "Append: too much waits for disk space");
  strict_now_ |= record.durability == audit::Durability::kStrict;
  journal_.begin(record.kind);
  journal_.record(record);
  auto made = journal_.end();
  if (!record.task.empty()) account(std::string(record.task), made);
  return success();
}

void Service::wait_for(const ToAudit& request, std::function<bool(const Ring&)> concerns) {
  Waiting waiting{request, {}};
  for (const auto& ring : rings_) {
    if (!concerns(*ring)) continue;
    waiting.targets.emplace_back(ring->id, audit::Sequence{ring->reader.position().value + ring->reader.pending()});
  }
  waiting_.push_back(std::move(waiting));
}

bool Service::reached(const Waiting& waiting) const {
  return std::ranges::all_of(waiting.targets, [&](const auto& target) {
    for (const auto& ring : rings_) {
      if (ring->id != target.first) continue;
      // A flush does not wait for a ring that stands still until control acts: control may be waiting for the flush.
      bool excused = ring->state == Ring::State::kClosed || (ring->state == Ring::State::kStalled && waiting.request.has_flush());
      return excused || ring->reader.accepted() >= target.second;
    }
    return true;
  });
}

Result<void> Service::answer_waiting() {
  while (!waiting_.empty() && !full_ && reached(waiting_.front())) {
    BOOST_OUTCOME_TRY(bool answered, answer(waiting_.front().request));
    if (!answered) break;  // the disk is full: again when it is not
    waiting_.pop_front();
  }
  return success();
}

Result<bool> Service::answer(const ToAudit& request) {
  if (request.has_end_task()) write_reports(coalescer_.take_task(request.end_task().task()));
  if (request.has_close_ring()) write_reports(coalescer_.take_ring(request.close_ring().ring()));
  BOOST_OUTCOME_TRY(bool settled, settle(Clock::now()));
  if (!settled) return false;
  BOOST_OUTCOME_TRY(sync());
  if (request.has_end_task()) {
    answer_end_task(request.end_task().task());
  } else if (request.has_close_ring()) {
    answer_close_ring(request.close_ring().ring());
  } else {
    audit::api::FromAudit told;
    told.mutable_flushed()->set_id(request.flush().id());
    set_line(told.mutable_flushed()->mutable_last(), journal_.last());
    send_(told);
  }
  return true;
}

void Service::answer_end_task(const std::string& task) {
  TaskAccount& account = tasks_[task];
  audit::api::FromAudit told;
  auto* ended = told.mutable_task_ended();
  ended->set_task(task);
  set_line(ended->mutable_first(), account.lines.first);
  set_line(ended->mutable_last(), account.lines.last);
  ended->set_bytes(account.bytes);
  ended->set_records(account.records);
  send_(told);
  if (account.rings == 0) tasks_.erase(task);
}

void Service::answer_close_ring(std::uint64_t id) {
  auto found = std::ranges::find_if(rings_, [&](const auto& ring) { return ring->id == id; });
  audit::api::FromAudit told;
  told.mutable_ring_closed()->set_ring(id);
  set_line(told.mutable_ring_closed()->mutable_first(), (*found)->lines.first);
  set_line(told.mutable_ring_closed()->mutable_last(), (*found)->lines.last);
  for (const std::string& task : (*found)->tasks) {
    auto account = tasks_.find(task);
    if (account != tasks_.end() && --account->second.rings == 0 && account->second.ended) tasks_.erase(account);
  }
  (*found)->reader.close();
  rings_.erase(found);  // there: handle() admits one CloseRing a ring
  send_(told);
}

}  // namespace sallyport::audit_writer
