#include "resolver/upstream/exchange.h"

namespace sallyport::resolver {

using dns::Transport;

Exchange::Exchange(UpstreamContext& context, const HostName& name, dns::Type type, Deadline deadline, Done done)
    : context_(context), name_(name), type_(type), deadline_(deadline), done_(std::move(done)) {
  ask(Transport::kUdp);
}

void Exchange::ask(Transport transport) {
  question_ = dns::make_question(name_, type_);
  query_ = CaresQuery::start(context_, question_.wire, transport, deadline_,
                             [this, transport](CaresQuery::Reply reply) { on_reply(transport, std::move(reply)); });
}

void Exchange::on_reply(Transport transport, CaresQuery::Reply reply) {
  auto done = [this](Result<dns::UpstreamAnswer> answer) {
    auto call = std::move(done_);
    call(std::move(answer));  // may destroy this
  };
  if (!reply) return done(fail(std::move(reply).error()));
  // Who can write into a TCP connection needs no guessing, and a few servers change the case.
  auto check = transport == Transport::kUdp ? dns::CaseCheck::kExact : dns::CaseCheck::kIgnore;
  auto answer = dns::parse_answer(reply.value(), question_, check);
  if (!answer && transport == Transport::kUdp) return ask(Transport::kTcp);
  done(std::move(answer));
}

}  // namespace sallyport::resolver
