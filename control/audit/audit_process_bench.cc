// The audit process's work for one record, from ring to file (on tmpfs, or where TMPDIR says), and a round trip of a
// lone record through a real process.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "control/audit/daemon.h"
#include "control/audit/service.h"
#include "core/audit/ring.h"
#include "core/ipc/message.h"

namespace {

using namespace sallyport;
using namespace sallyport::audit;
using audit::api::ToAudit;

UniqueFd log_file() {
  char name[] = "/tmp/sallyport-bench-XXXXXX";
  UniqueFd fd(::mkostemp(name, O_APPEND | O_CLOEXEC));
  ::unlink(name);
  return fd;
}

Result<Sequence> put(AuditRing& ring) {
  static const TaskId task = TaskId::parse("t-0123456789abcdef").value();
  RecordBuilder builder(RecordKind::kRequest, task);
  builder.text(FieldId::kVerdict, "allow").text(FieldId::kRule, "prices").text(FieldId::kLayer, "http");
  builder.text(FieldId::kNameAsked, "api.shop.example").number(FieldId::kPort, 80).text(FieldId::kAddressDialled, "192.0.2.17");
  builder.text(FieldId::kMethod, "GET").text(FieldId::kPath, "/v2/prices/4711").number(FieldId::kStatus, 200);
  builder.number(FieldId::kBytesUp, 120).number(FieldId::kBytesDown, 1400).number(FieldId::kDurationUs, 900);
  return ring.append(builder.record());
}

ToAudit registration() {
  ToAudit message;
  message.mutable_register_ring()->set_ring(1);
  message.mutable_register_ring()->add_tasks("t-0123456789abcdef");
  return message;
}

void BM_RingToFile(benchmark::State& state) {
  auto file = audit_writer::LogFile::adopt(log_file(), ByteCount{16u << 20}).value();
  audit_writer::Settings settings;
  settings.task_bytes = ByteCount{1ull << 40};
  audit_writer::Service service(audit_writer::Journal(std::move(file), {}), {}, settings, [](const auto&) {});
  service.open().value();
  auto descriptors = AuditRing::create().value();
  AuditRing ring = AuditRing::open(descriptors.duplicate().value()).value();
  std::vector<UniqueFd> fds;
  fds.push_back(std::move(descriptors.memory));
  fds.push_back(std::move(descriptors.doorbell));
  fds.push_back(std::move(descriptors.ack));
  service.handle(registration(), std::move(fds), Clock::now()).value();
  std::size_t records = 0;
  for (auto _ : state) {
    state.PauseTiming();
    for (int i = 0; i < 200; ++i) put(ring).value();
    state.ResumeTiming();
    records += service.drain(Clock::now()).value();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(records));
}
BENCHMARK(BM_RingToFile);

void BM_LoneRecordRoundTrip(benchmark::State& state) {
  auto [ours, theirs] = ipc::Channel::pair().value();
  pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ours.close();
    ::_exit(audit_writer::run_daemon(std::move(theirs), [](const auto&) -> Result<void> { return success(); }).has_value() ? 0 : 1);
  }
  theirs.close();
  Deadline soon = Deadline::after(std::chrono::seconds(10));
  UniqueFd file = log_file();
  int log = file.get();
  ToAudit start;
  start.mutable_start()->set_task_bytes(1ull << 40);
  ipc::send_message(ours, start, {&log, 1}, soon).value();
  ipc::receive_message<audit::api::FromAudit>(ours, soon).value();
  auto descriptors = AuditRing::create().value();
  int fds[] = {descriptors.memory.get(), descriptors.doorbell.get(), descriptors.ack.get()};
  ipc::send_message(ours, registration(), fds, soon).value();
  ipc::receive_message<audit::api::FromAudit>(ours, soon).value();
  AuditRing ring = AuditRing::open(std::move(descriptors)).value();
  for (auto _ : state) {
    state.PauseTiming();
    ::usleep(static_cast<useconds_t>(state.range(0)));
    state.ResumeTiming();
    Sequence at = put(ring).value();
    if (!ring.want_ack(at)) continue;
    ring.hurry();
    pollfd waited{ring.ack_fd(), POLLIN, 0};
    ::poll(&waited, 1, 5000);
    ring.take_ack();
  }
  ours.close();
  ::waitpid(pid, nullptr, 0);
}
BENCHMARK(BM_LoneRecordRoundTrip)->Arg(0)->Arg(3000)->UseRealTime()->Unit(benchmark::kMicrosecond);

}  // namespace
