// What a head costs: parse, and write upstream. Target: under 1 us for the head curl sends.
#include <benchmark/benchmark.h>

#include "core/http/request_head.h"
#include "core/http/response_head.h"
#include "core/http/writer.h"

namespace sallyport::http {
namespace {

constexpr std::string_view kCurl =
    "GET http://files.allowed.test/v2/prices/list.json?currency=EUR HTTP/1.1\r\nHost: "
    "files.allowed.test\r\nUser-Agent: curl/7.88.1\r\n"
    "Accept: */*\r\nProxy-Connection: Keep-Alive\r\n\r\n";
constexpr std::string_view kBrowser =
    "GET http://files.allowed.test/index.html HTTP/1.1\r\nHost: files.allowed.test\r\nProxy-Connection: "
    "keep-alive\r\nCache-Control: max-age=0\r\n"
    "Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like "
    "Gecko) Chrome/120.0.0.0 Safari/537.36\r\n"
    "Accept: "
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/"
    "*;q=0.8\r\nAccept-Encoding: gzip, deflate\r\n"
    "Accept-Language: en-US,en;q=0.9\r\nCookie: session=0123456789abcdef0123456789abcdef; theme=dark\r\nConnection: "
    "keep-alive\r\n\r\n";
constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\nServer: nginx/1.22.1\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\nContent-Type: "
    "application/octet-stream\r\nContent-Length: 1024\r\n"
    "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT\r\nConnection: keep-alive\r\nETag: "
    "\"65920080-400\"\r\nAccept-Ranges: bytes\r\n\r\n";

void parse_request(benchmark::State& state, std::string_view text) {
  RequestHead head;
  for (auto _ : state) benchmark::DoNotOptimize(parse_request_head(text, {}, head));
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}
BENCHMARK_CAPTURE(parse_request, curl, kCurl);
BENCHMARK_CAPTURE(parse_request, browser, kBrowser);

void parse_response(benchmark::State& state) {
  ResponseHead head;
  for (auto _ : state) benchmark::DoNotOptimize(parse_response_head(kResponse, {}, {"GET"}, head));
}
BENCHMARK(parse_response);

void write_request(benchmark::State& state, std::string_view text) {
  RequestHead head;
  parse_request_head(text, {}, head);
  UpstreamRequest request;
  request.method = head.method;
  request.target = head.path;
  request.authority = &*head.authority;
  request.fields = &head.fields;
  std::string out;
  for (auto _ : state) {
    out.clear();
    benchmark::DoNotOptimize(write_request_head(out, request).has_value());
  }
}
BENCHMARK_CAPTURE(write_request, curl, kCurl);
BENCHMARK_CAPTURE(write_request, browser, kBrowser);

}  // namespace
}  // namespace sallyport::http
