// What loading and deciding cost, by number of rules.
#include <benchmark/benchmark.h>

#include <string>

#include "policies/engine/decide.h"
#include "policies/engine/load.h"

namespace sallyport::policy {
namespace {

// Rules for as many hosts, a third of each scheme, with wildcards and denials among them.
std::string by_hosts(std::int64_t rules) {
  std::string text = "policy: bench/1\nrules:\n";
  for (std::int64_t i = 0; i < rules; ++i) {
    std::string n = std::to_string(i);
    switch (i % 5) {
      case 0:
        text += "  - {id: r" + n + ", allow: 'GET,HEAD http://h" + n + ".example.com/v1/*/items/**'}\n";
        break;
      case 1:
        text += "  - allow: tls://h" + n + ".example.com\n";
        break;
      case 2:
        text += "  - allow: tcp://h" + n + ".example.com:5432\n";
        break;
      case 3:
        text += "  - allow: tls://*.w" + n + ".example.net\n";
        break;
      default:
        text += "  - deny: tls://bad.w" + std::to_string(i - 1) + ".example.net\n";
        break;
    }
  }
  return text;
}

// All rules for one host.
std::string by_paths(std::int64_t rules) {
  std::string text = "policy: bench/1\nrules:\n";
  for (std::int64_t i = 0; i < rules; ++i)
    text += "  - allow: GET http://api.example.com/v1/p" + std::to_string(i) + "/*/x\n";
  return text;
}

void load_hosts(benchmark::State& state) {
  std::string text = by_hosts(state.range(0));
  for (auto _ : state) {
    auto outcome = load(text, "bench");
    if (!outcome.policy) state.SkipWithError("does not load");
    benchmark::DoNotOptimize(outcome);
  }
}
BENCHMARK(load_hosts)->Arg(10)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void load_paths(benchmark::State& state) {
  std::string text = by_paths(state.range(0));
  for (auto _ : state) {
    auto outcome = load(text, "bench");
    if (!outcome.policy) state.SkipWithError("does not load");
    benchmark::DoNotOptimize(outcome);
  }
}
BENCHMARK(load_paths)->Arg(10)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void decide_tunnel(benchmark::State& state) {
  auto policy = load(by_hosts(state.range(0)), "bench").policy;
  ConnectionRequest request{Target(HostName::parse("h1.example.com").value()), Port::of(443)};
  for (auto _ : state) benchmark::DoNotOptimize(decide_connection(*policy, request));
}
BENCHMARK(decide_tunnel)->Arg(10)->Arg(1000)->Arg(100'000);

void decide_wildcard_name(benchmark::State& state) {
  auto policy = load(by_hosts(state.range(0)), "bench").policy;
  auto name = HostName::parse("a.b.c.w3.example.net").value();
  for (auto _ : state) benchmark::DoNotOptimize(decide_name(*policy, name));
}
BENCHMARK(decide_wildcard_name)->Arg(10)->Arg(1000)->Arg(100'000);

void decide_unknown_name(benchmark::State& state) {
  auto policy = load(by_hosts(state.range(0)), "bench").policy;
  auto name = HostName::parse("no.such.host.example.org").value();
  for (auto _ : state) benchmark::DoNotOptimize(decide_name(*policy, name));
}
BENCHMARK(decide_unknown_name)->Arg(10)->Arg(1000)->Arg(100'000);

void decide_request(benchmark::State& state) {
  auto policy = load(by_paths(state.range(0)), "bench").policy;
  Target target(HostName::parse("api.example.com").value());
  auto path = CanonicalPath::parse("/v1/p9/abc/x").value();
  for (auto _ : state) benchmark::DoNotOptimize(decide_http(*policy, {target, Port::of(80), "GET", path, ""}));
}
BENCHMARK(decide_request)->Arg(10)->Arg(1000)->Arg(100'000);

void canonical_path(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(CanonicalPath::parse("/v1/projects/42/items/abc-def/%7Ex.json"));
}
BENCHMARK(canonical_path);

}  // namespace
}  // namespace sallyport::policy
