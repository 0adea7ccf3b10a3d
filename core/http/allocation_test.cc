// The usual path allocates nothing: counted by a replaced operator new (not under sanitizers, which replace it
// themselves).
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <string>

#include "core/http/request_head.h"
#include "core/http/response_head.h"
#include "core/http/writer.h"

#if !defined(__has_feature)
#define __has_feature(x) 0
#endif
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

namespace {
thread_local std::size_t allocations = 0;
}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace sallyport::http {
namespace {

TEST(Allocation, KeptAliveExchangesAllocateNothing) {
  const std::string request =
      "GET http://a-rather-long-name.allowed.test:8080/x?y HTTP/1.1\r\nHost: "
      "a-rather-long-name.allowed.test:8080\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n";
  const std::string response = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: nginx\r\n\r\n";
  RequestHead head;
  ResponseHead answer;
  std::string out;
  auto exchange = [&] {
    ASSERT_EQ(parse_request_head(request, {}, head).state, ParseState::kDone);
    UpstreamRequest upstream;
    upstream.method = head.method;
    upstream.target = head.path;
    upstream.authority = &*head.authority;
    upstream.fields = &head.fields;
    out.clear();
    ASSERT_TRUE(write_request_head(out, upstream));
    ASSERT_EQ(parse_response_head(response, {}, {"GET"}, answer).state, ParseState::kDone);
    ClientResponse client;
    client.status = answer.status;
    client.reason = answer.reason;
    client.fields = &answer.fields;
    client.body = client_framing(answer.body, head.minor);
    out.clear();
    ASSERT_TRUE(write_response_head(out, client));
  };
  exchange();
  std::size_t before = allocations;
  EXPECT_GT(before, 0u);  // the first one allocates, so the counter counts
  for (int i = 0; i < 10; ++i) exchange();
  EXPECT_EQ(allocations, before);
}

}  // namespace
}  // namespace sallyport::http

#endif
