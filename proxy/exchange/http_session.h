// HttpSession: the requests of one client connection, in order, each with its own verdict.
#pragma once

#include <optional>

#include "core/http/request_head.h"
#include "proxy/client/connection.h"
#include "proxy/client/refusal.h"
#include "proxy/exchange/exchange.h"

namespace sallyport::proxy {

// Whom every request of a connection must be for: a caught connection's or a CONNECT's target.
struct Origin {
  policy::Target target;
  Port port;
};

// Whom an authority names.
policy::Target target_of(const http::Authority& authority);

class HttpSession {
 public:
  // Without an origin it is the explicit proxy: absolute-form requests, and CONNECT as the first.
  HttpSession(ClientConnection& client, std::optional<Origin> origin) : client_(client), origin_(std::move(origin)) {}

  // Serves until the connection ends.
  Awaitable<void> run();

 private:
  Awaitable<bool> next_head();
  Awaitable<bool> answer();
  Awaitable<bool> answer_for(Origin origin);
  Result<void> judge();
  std::optional<policy::ReasonCode> unserved() const;
  Awaitable<bool> answer_judged();
  Awaitable<bool> refuse_judged(policy::ReasonCode reason);
  Result<RecordedDecision> record_judged();
  void forget_head();
  policy::ReasonCode reason_of(const http::ParseResult& refused);
  Awaitable<bool> refuse(policy::ReasonCode reason, std::uint16_t status, std::string detail, bool close);
  Decision decision(policy::ReasonCode reason) const;
  bool is_internal(const Origin& origin) const;

  ClientConnection& client_;
  std::optional<Origin> origin_;
  http::RequestHead head_;
  std::optional<policy::Target> target_;  // of the request at hand, once known
  std::uint16_t port_ = 0;
  bool first_ = true;
  // What requests that go upstream need, made for the first of them: a tunnel never does, and there may be many.
  struct Work {
    ExchangeBuffers buffers;
    std::shared_ptr<const policy::CompiledPolicy> policy;  // the verdict borrows from it
    policy::HttpVerdict verdict;
    std::optional<policy::CanonicalTarget> target;
    std::optional<Exchange> exchange;
  };
  std::unique_ptr<Work> work_;
};

}  // namespace sallyport::proxy
