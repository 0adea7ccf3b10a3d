#include "proxy/client/refusal.h"

#include "core/base/escape.h"
#include "core/http/denial.h"
#include "core/tls/alert.h"
#include "proxy/client/first_bytes.h"

namespace sallyport::proxy {
namespace {

using policy::Category;
using policy::ReasonCode;

std::string_view title_of(Category category) {
  switch (category) {
    case Category::kPolicy:
    case Category::kAddress:
      return "Denied by policy";
    case Category::kBudget:
      return "Limit reached";
    case Category::kProtocol:
      return "Refused as malformed or contradictory";
    case Category::kUpstream:
      return "Upstream failed";
    default:
      return "Unavailable";
  }
}

std::string detail_of(const Decision& d) {
  std::string text(policy::describe(d.reason));
  text += ".";
  if (d.target) text += " Asked for: " + asked_for(d) + ".";
  if (d.nearest) {
    text += " The nearest rule is ";
    text += d.nearest->id;
    text += " (line " + std::to_string(d.nearest->line) + " of the policy).";
  }
  auto category = policy::category(d.reason);
  if (category == Category::kPolicy) text += " This is the policy of the task; it would need a rule that allows this.";
  if (!d.detail.empty()) text += " " + std::string(d.detail) + ".";
  return text;
}

std::string denial_text(ClientConnection& client, const Decision& d, const std::string& decision_id, HttpAnswer answer) {
  std::string detail = detail_of(d);
  std::string task(client.task().id().text());
  http::Denial denial;
  denial.status = answer.status != 0 ? answer.status : http_status(d.reason);
  denial.reason = policy::to_string(d.reason);
  denial.title = title_of(policy::category(d.reason));
  denial.detail = detail;
  if (d.rule) denial.rule = d.rule->id;
  if (d.nearest) denial.nearest_rule = d.nearest->id;
  denial.category = policy::to_string(policy::category(d.reason));
  denial.task = task;
  denial.decision = decision_id;
  denial.close = !answer.keep_alive;
  denial.head_request = answer.head_request;
  denial.client_minor = answer.client_minor;
  return http::denial_response(denial);
}

// The client may still be sending: a close with unread input would reset the answer away. Ends the sending side and
// takes what comes for a short while, bounded in time and bytes. Many clients read no answer before they have sent their whole body.
constexpr std::size_t kLingerBytes = 16 << 20;

Awaitable<void> linger(ClientConnection& client) {
  client.stream().shutdown_write();
  client.expect_until(Deadline::after(std::chrono::seconds(2)), Expired::kIdle);
  std::size_t taken = 0;
  while (taken < kLingerBytes) {
    client.input().consume(client.input().size());
    auto reading = client.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return;
    taken += got.value();
  }
}

Awaitable<Looks> read_and_classify(ClientConnection& client) {
  client.expect_until(Deadline::after(ClientConnection::kClassificationTime), Expired::kHeader);
  for (;;) {
    auto looks = classify(client.input().view());
    if (looks != Looks::kUnknown) co_return looks;
    auto reading = client.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return Looks::kOther;
  }
}

// Reads one head for the sake of the answer (its method and version); false if there is none.
Awaitable<bool> read_head(ClientConnection& client, http::RequestHead& head) {
  http::Limits limits;
  for (;;) {
    auto parsed = http::parse_request_head(client.input().view(), limits, head);
    if (parsed.state != http::ParseState::kIncomplete) co_return parsed.state == http::ParseState::kDone;
    auto reading = client.read_more();
    auto got = co_await std::move(reading);
    if (!got || got.value() == 0) co_return false;
  }
}

}  // namespace

std::uint16_t http_status(ReasonCode reason) noexcept {
  switch (reason) {
    case ReasonCode::kMalformed:
    case ReasonCode::kNotHttp:
    case ReasonCode::kNotTls:
    case ReasonCode::kPathAmbiguous:
      return 400;
    case ReasonCode::kHostMismatch:
    case ReasonCode::kSniMismatch:
      return 421;
    case ReasonCode::kClassificationTimeout:
    case ReasonCode::kIdle:
      return 408;
    case ReasonCode::kBudgetUpload:
      return 413;
    case ReasonCode::kBudgetRequests:
    case ReasonCode::kBudgetConnections:
    case ReasonCode::kBudgetConcurrent:
    case ReasonCode::kBudgetDownload:
    case ReasonCode::kBudgetDuration:
    case ReasonCode::kBudgetWall:
    case ReasonCode::kBudgetQueries:
    case ReasonCode::kBudgetNames:
      return 429;
    case ReasonCode::kNameNotFound:
    case ReasonCode::kResolutionFailed:
    case ReasonCode::kUpstreamRefused:
    case ReasonCode::kUpstreamClosed:
    case ReasonCode::kUpstreamMalformed:
      return 502;
    case ReasonCode::kUpstreamTimeout:
      return 504;
    case ReasonCode::kTaskEnded:
    case ReasonCode::kOverloaded:
    case ReasonCode::kAuditUnavailable:
      return 503;
    case ReasonCode::kInternal:
    case ReasonCode::kAllowed:
      return 500;
    default:
      return 403;
  }
}

Awaitable<bool> refuse_http(ClientConnection& client, Decision decision, HttpAnswer answer) {
  auto recorded = client.task().record(decision);
  std::string id;
  if (recorded) {
    id = recorded.value().id;
    auto waiting = client.task().services().recorder.accepted(recorded.value().sequence);
    auto on_file = co_await std::move(waiting);
    if (!on_file) recorded = fail(std::move(on_file).error());
  }
  if (!recorded) {
    decision.reason = ReasonCode::kAuditUnavailable;
    // Who else reads from the client still does.
    answer = {0, answer.client_minor, answer.head_request, false, answer.linger};
  }
  std::string text = denial_text(client, decision, id, answer);
  auto writing = client.stream().write_all(text);
  auto written = co_await std::move(writing);
  if (!written) co_return false;
  if (answer.keep_alive) co_return true;
  if (!answer.linger) co_return false;
  auto lingering = linger(client);
  co_await std::move(lingering);
  co_return false;
}

Awaitable<void> refuse_tls(ClientConnection& client, Decision decision, tls::AlertDescription alert) {
  auto recorded = client.task().record(decision);
  if (recorded) {
    auto waiting = client.task().services().recorder.accepted(recorded.value().sequence);
    auto on_file = co_await std::move(waiting);
    if (!on_file) co_return client.abort_both();
  }
  auto record = tls::fatal_alert(alert);
  auto writing = client.stream().write_all({reinterpret_cast<const char*>(record.data()), record.size()});
  auto written = co_await std::move(writing);
  if (!written) co_return;
  auto lingering = linger(client);
  co_await std::move(lingering);
}

void refuse_by_reset(ClientConnection& client, const Decision& decision) {
  // Without room in the log the client is reset all the same; the ring notes the loss as a gap.
  (void)client.task().record(decision);
  client.abort_both();
}

Awaitable<void> refuse_unclassified(ClientConnection& client, Decision decision) {
  auto looking = read_and_classify(client);
  auto looks = co_await std::move(looking);
  if (looks == Looks::kTls) {
    auto refusing = refuse_tls(client, decision, tls::AlertDescription::kAccessDenied);
    co_return co_await std::move(refusing);
  }
  if (looks != Looks::kHttp) co_return refuse_by_reset(client, decision);
  http::RequestHead head;
  auto reading = read_head(client, head);
  bool whole = co_await std::move(reading);
  HttpAnswer answer;
  if (whole) {
    decision.method = head.method;
    decision.path = head.path;
    answer.client_minor = head.minor;
    answer.head_request = head.method == "HEAD";
  }
  auto refusing = refuse_http(client, decision, answer);
  co_await std::move(refusing);
}

}  // namespace sallyport::proxy
