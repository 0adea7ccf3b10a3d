// Costs of one record: building, appending with the reader awake, and decoding.
#include <benchmark/benchmark.h>

#include "core/audit/record.h"
#include "core/audit/ring.h"
#include "core/audit/ring_reader.h"

namespace {

using namespace sallyport;
using namespace sallyport::audit;

const TaskId& task() {
  static const TaskId id = TaskId::parse("t-0123456789abcdef").value();
  return id;
}

void fill(RecordBuilder& builder) {
  builder.text(FieldId::kVerdict, "allow").text(FieldId::kRule, "prices").text(FieldId::kLayer, "http");
  builder.text(FieldId::kNameAsked, "api.shop.example").number(FieldId::kPort, 80).text(FieldId::kAddressDialled, "192.0.2.17");
  builder.text(FieldId::kMethod, "GET").text(FieldId::kPath, "/v2/prices/4711").number(FieldId::kStatus, 200);
  builder.number(FieldId::kBytesUp, 120).number(FieldId::kBytesDown, 1400).number(FieldId::kDurationUs, 900);
}

void BM_Build(benchmark::State& state) {
  for (auto _ : state) {
    RecordBuilder builder(RecordKind::kRequest, task());
    fill(builder);
    benchmark::DoNotOptimize(builder.record());
  }
}
BENCHMARK(BM_Build);

void BM_BuildAndAppend(benchmark::State& state) {
  auto descriptors = AuditRing::create().value();
  AuditRing ring = AuditRing::open(descriptors.duplicate().value()).value();
  RingReader reader = RingReader::open(std::move(descriptors)).value();
  for (auto _ : state) {
    RecordBuilder builder(RecordKind::kRequest, task());
    fill(builder);
    if (ring.append(builder.record()).has_value()) continue;
    state.PauseTiming();
    while (reader.take().value()) {
    }
    reader.accept();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_BuildAndAppend);

void BM_TakeAndDecode(benchmark::State& state) {
  auto descriptors = AuditRing::create().value();
  AuditRing ring = AuditRing::open(descriptors.duplicate().value()).value();
  RingReader reader = RingReader::open(std::move(descriptors)).value();
  RecordBuilder builder(RecordKind::kRequest, task());
  fill(builder);
  for (auto _ : state) {
    auto taken = reader.take();
    if (taken.value()) {
      benchmark::DoNotOptimize(decode(taken.value()->bytes, Origin::kProxy));
      continue;
    }
    state.PauseTiming();
    reader.accept();
    while (ring.append(builder.record()).has_value()) {
    }
    state.ResumeTiming();
  }
}
BENCHMARK(BM_TakeAndDecode);

}  // namespace
