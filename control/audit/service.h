// Service: what the audit process does, without its event loop: takes records out of the rings, checks them, writes them,
// accepts them, and answers control.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "control/audit/api/audit.pb.h"
#include "control/audit/coalescer.h"
#include "control/audit/journal.h"
#include "control/audit/log_end.h"
#include "control/audit/ring_session.h"
#include "core/base/deadline.h"
#include "core/base/result.h"
#include "core/base/units.h"

namespace sallyport::audit_writer {

struct Settings {
  std::string owner;
  bool strict = false;  // every record is synced before it is accepted
  ByteCount task_bytes{256u << 20};
};

// One thread. What comes out of a ring is hostile: a ring that makes no sense is closed and reported, never an error of the
// service. An Error from any function means that the log can no longer be trusted to be written, or that control broke the
// protocol: the process must end (whoever waits for acceptance keeps waiting, so traffic stops).
class Service {
 public:
  // Batched records are synced at most so long after they were written.
  static constexpr std::chrono::milliseconds kSyncAfter{10};
  // How often a full disk is tried again.
  static constexpr std::chrono::milliseconds kRetryAfter{200};
  // A task over its budget is reported; so many bytes further its ring stands still until control ends the task.
  static constexpr std::uint64_t kGraceBytes = 1u << 20;
  // What a task may still cause after EndTask (what was under way) before its ring is closed.
  static constexpr std::uint64_t kAfterEndBytes = 16u << 20;
  static constexpr std::size_t kMaxRings = 1024;
  static constexpr std::size_t kMaxTasksOfRing = 65'536;

  using Send = std::function<void(const audit::api::FromAudit&)>;

  Service(Journal journal, LogEnd end, Settings settings, Send send);

  // Closes off a torn end, writes `opened`, syncs, and sends Ready. kUnavailable when the disk is full.
  Result<void> open();
  // A message of control with its descriptors. kInvalid when it breaks the protocol.
  Result<void> handle(const audit::api::ToAudit& message, std::vector<UniqueFd> descriptors, Clock::time_point now);
  // Takes, writes and accepts a group of what is pending. Returns the number of records taken.
  Result<std::size_t> drain(Clock::time_point now);
  // Syncs when that is due. Call before waiting.
  Result<void> tick(Clock::time_point now);
  // Writes what is left, `closed`, and syncs. kUnavailable when the disk is full.
  Result<void> close(Clock::time_point now);

  // When drain() and tick() are to be called next without anything having happened.
  Deadline next_timer() const noexcept;
  // True while an answer waits for records that are in the rings now.
  bool hurried() const noexcept { return !waiting_.empty() && !full_; }
  // True: records wait, do not sleep. Announces to every writer how this side waits.
  bool announce(audit::RingReader::Wakefulness state) noexcept;
  // Doorbells of the rings that are being read; changes with handle() and drain().
  std::vector<int> doorbells() const;
  void take_doorbells() noexcept;

 private:
  using Ring = RingSession;
  // A request whose answer waits until the rings have been read up to where they were then.
  struct Waiting {
    audit::api::ToAudit request;
    std::vector<std::pair<std::uint64_t, audit::Sequence>> targets;
  };

  Result<void> register_ring(const audit::api::RegisterRing& message, std::vector<UniqueFd> descriptors);
  Result<void> allow_task(const audit::api::AllowTask& message);
  Result<void> begin_end_task(const audit::api::EndTask& message);
  Result<void> append(const audit::api::Append& message);
  void wait_for(const audit::api::ToAudit& request, std::function<bool(const Ring&)> concerns);
  bool reached(const Waiting& waiting) const;
  Result<void> answer_waiting();
  Result<bool> answer(const audit::api::ToAudit& request);
  void answer_end_task(const std::string& task);
  void answer_close_ring(std::uint64_t ring);

  std::size_t collect(Ring& ring, Clock::time_point now);
  bool take_record(Ring& ring, const audit::RingReader::Taken& taken, Clock::time_point now);
  bool over_budget(Ring& ring, const audit::DecodedRecord& record);
  void write_record(Ring& ring, audit::Sequence end, const audit::DecodedRecord& record);
  void account(const std::string& task, const Journal::Made& made);
  void write_reports(const std::vector<Coalescer::Report>& reports);
  void close_ring(Ring& ring, const std::string& what);
  Result<bool> settle(Clock::time_point now);
  Result<void> sync();
  void set_full(bool full, Clock::time_point now);
  Ring* find(std::uint64_t id) noexcept;
  static void set_line(audit::api::Line* out, const audit_log::Anchor& anchor);

  Journal journal_;
  LogEnd end_;
  Settings settings_;
  Send send_;
  Coalescer coalescer_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::size_t turn_ = 0;  // which ring is read first next
  std::map<std::string, TaskAccount, std::less<>> tasks_;
  std::deque<Waiting> waiting_;
  std::vector<audit::api::FromAudit> news_;  // to be told once the lines that say so are in the file
  bool unsettled_ = false;    // records were taken and are not accepted yet
  bool strict_now_ = false;   // the group holds a strict record
  bool full_ = false;         // no disk space
  Clock::time_point retry_{};
  Clock::time_point unsynced_since_{};
};

}  // namespace sallyport::audit_writer
