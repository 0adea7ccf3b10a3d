// Exchange: one question (a name, A or AAAA) asked and its answer read.
#pragma once

#include <functional>
#include <memory>

#include "core/base/host_name.h"
#include "core/base/result.h"
#include "core/dns/upstream_message.h"
#include "resolver/upstream/cares_query.h"

namespace sallyport::resolver {

// Asks over UDP. A reply that our parser does not take (another case of the name, malformed, …) may be an attacker's
// guess, so it is not believed and the question is asked again, anew, over TCP. Destroying it ends the question
// silently.
class Exchange {
 public:
  // kTimedOut, kUnavailable, kOverloaded as CaresQuery; kInvalid: the servers answer what cannot be understood.
  using Done = std::function<void(Result<dns::UpstreamAnswer>)>;

  // `done` is called once, from the executor; it may destroy the exchange.
  Exchange(UpstreamContext& context, const HostName& name, dns::Type type, Deadline deadline, Done done);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  void ask(dns::Transport transport);
  void on_reply(dns::Transport transport, CaresQuery::Reply reply);

  UpstreamContext& context_;
  HostName name_;
  dns::Type type_;
  Deadline deadline_;
  Done done_;
  dns::UpstreamQuestion question_;
  std::shared_ptr<CaresQuery> query_;
};

}  // namespace sallyport::resolver
