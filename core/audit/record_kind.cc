#include "core/audit/record_kind.h"

namespace sallyport::audit {

std::string_view to_string(RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::kDecision: return "decision";
    case RecordKind::kRequest: return "request";
    case RecordKind::kConnection: return "connection";
    case RecordKind::kTunnel: return "tunnel";
    case RecordKind::kDns: return "dns";
    case RecordKind::kProbe: return "probe";
    case RecordKind::kBudget: return "budget";
    case RecordKind::kError: return "error";
    case RecordKind::kGap: return "gap";
    case RecordKind::kTaskStarted: return "task_started";
    case RecordKind::kTaskEnded: return "task_ended";
    case RecordKind::kOpened: return "opened";
    case RecordKind::kClosed: return "closed";
    case RecordKind::kRecovered: return "recovered";
    case RecordKind::kRingCorrupt: return "ring_corrupt";
    case RecordKind::kCoalesced: return "coalesced";
    case RecordKind::kOverBudget: return "over_budget";
    case RecordKind::kCheckpoint: return "checkpoint";
  }
  return "unknown";
}

bool may_write(Origin origin, RecordKind kind) noexcept {
  switch (kind) {
    case RecordKind::kDecision:
    case RecordKind::kRequest:
    case RecordKind::kConnection:
    case RecordKind::kTunnel:
    case RecordKind::kDns:
    case RecordKind::kProbe:
      return origin == Origin::kProxy;
    case RecordKind::kBudget:
    case RecordKind::kError:
    case RecordKind::kGap:
      return true;
    case RecordKind::kTaskStarted:
    case RecordKind::kTaskEnded:
      return origin == Origin::kControl;
    case RecordKind::kOpened:
    case RecordKind::kClosed:
    case RecordKind::kRecovered:
    case RecordKind::kRingCorrupt:
    case RecordKind::kCoalesced:
    case RecordKind::kOverBudget:
    case RecordKind::kCheckpoint:
      return origin == Origin::kAudit;
  }
  return false;
}

}  // namespace sallyport::audit
