#include "resolver/proxy_session.h"

#include <fcntl.h>

#include <cstdio>

#include "core/base/escape.h"
#include "core/dns/record_data.h"
#include "core/ipc/message.h"

namespace sallyport::resolver {
namespace {

// Questions read in a row before other work gets its turn.
constexpr int kQuestionsInARow = 64;
constexpr ipc::SendQueue::Limits kQueue{.frames = 2 * ProxySession::kMaxOpen, .bytes = 2 * 1024 * 1024};

api::ResolveReply::Status wire_status(Resolution::Status status) {
  using Status = Resolution::Status;
  switch (status) {
    case Status::kOk:
      return api::ResolveReply::OK;
    case Status::kNxDomain:
      return api::ResolveReply::NXDOMAIN;
    case Status::kNoData:
      return api::ResolveReply::NODATA;
    case Status::kServFail:
      return api::ResolveReply::SERVFAIL;
    case Status::kTimedOut:
      return api::ResolveReply::TIMEOUT;
    case Status::kRefusedAddress:
      return api::ResolveReply::REFUSED_ADDRESS;
    case Status::kOverloaded:
      return api::ResolveReply::OVERLOADED;
  }
  return api::ResolveReply::SERVFAIL;
}

api::ResolveReply reply_for(const api::ResolveRequest& request, const Resolution& resolution) {
  api::ResolveReply reply;
  reply.set_id(request.id());
  reply.set_status(wire_status(resolution.status));
  reply.set_ttl(resolution.ttl);
  reply.set_detail(resolution.detail);
  if (resolution.status != Resolution::Status::kOk) return reply;
  if (request.record_type() != 0) {
    for (const auto& record : resolution.records) reply.add_records(record.data(), record.size());
    return reply;
  }
  for (const IpAddress& address : resolution.addresses) {
    if (address.is_v4() ? !request.want_v4() : !request.want_v6()) continue;
    auto bytes = address.bytes();
    reply.add_addresses(bytes.data(), bytes.size());
  }
  if (reply.addresses().empty()) reply.set_status(api::ResolveReply::NODATA);
  return reply;
}

}  // namespace

ProxySession::ProxySession(Executor executor, Resolver& resolver, ipc::Channel channel)
    : resolver_(resolver), channel_(std::move(channel)), queue_(channel_, kQueue), watch_(executor) {}

Result<std::shared_ptr<ProxySession>> ProxySession::start(Executor executor, Resolver& resolver, ipc::Channel channel) {
  std::shared_ptr<ProxySession> session(new ProxySession(executor, resolver, std::move(channel)));
  UniqueFd duplicate(::fcntl(session->channel_.fd(), F_DUPFD_CLOEXEC, 3));
  if (!duplicate) return fail_errno("duplicate a proxy's channel");
  boost::system::error_code error;
  session->watch_.assign(duplicate.get(), error);
  if (error) return fail(Error::from_errno("watch a proxy's channel", error.value()));
  (void)duplicate.release();
  session->wait_for_questions();
  return session;
}

void ProxySession::end() noexcept {
  if (std::exchange(ended_, true)) return;
  boost::system::error_code ignored;
  watch_.close(ignored);
  channel_.close();
}

void ProxySession::wait_for_questions() {
  if (ended_ || reading_ || !queue_.empty()) return;
  reading_ = true;
  watch_.async_wait(Descriptor::wait_read, [weak = weak_from_this()](boost::system::error_code error) {
    auto self = weak.lock();
    if (!self || self->ended_) return;
    self->reading_ = false;
    if (error) return self->end();
    self->read_questions();
    self->wait_for_questions();
  });
}

void ProxySession::wait_for_room() {
  if (ended_ || writing_) return;
  writing_ = true;
  watch_.async_wait(Descriptor::wait_write, [weak = weak_from_this()](boost::system::error_code error) {
    auto self = weak.lock();
    if (!self || self->ended_) return;
    self->writing_ = false;
    if (error) return self->end();
    auto flushed = self->queue_.flush();
    if (!flushed) return self->end();
    if (!flushed.value()) return self->wait_for_room();
    self->wait_for_questions();
  });
}

void ProxySession::read_questions() {
  for (int i = 0; i < kQuestionsInARow && !ended_ && queue_.empty(); ++i) {
    auto received = ipc::try_receive_message<api::ResolveRequest>(channel_);
    if (!received && received.error().kind == ErrorKind::kUnavailable) return;
    auto taken = received ? take(received.value().message) : Result<void>(fail(std::move(received).error()));
    if (taken) continue;
    if (taken.error().kind != ErrorKind::kDisconnected)
      std::fprintf(stderr, "sallyport-resolver: a proxy's channel is closed: %s\n", taken.error().to_string().c_str());
    return end();
  }
}

Result<void> ProxySession::take(const api::ResolveRequest& request) {
  auto name = HostName::parse(request.name());
  if (!name || name.value().text() != request.name())
    return fail(ErrorKind::kInvalid,
                "a question for \"" + escape_text(request.name(), 260) + "\", which is not a canonical name");
  if (open_ >= kMaxOpen) {
    send(reply_for(request, {Resolution::Status::kOverloaded, {}, 0, "too many questions of this proxy are open"}));
    return success();
  }
  Sought sought{name.value()};
  if (request.record_type() != 0) {
    auto type = static_cast<dns::Type>(request.record_type());
    if (request.record_type() > 0xffff || !dns::has_record_data(type))
      return fail(ErrorKind::kInvalid, "a question for records of a type that is not looked up");
    sought.records = type;
  }
  ++open_;
  resolver_.resolve(sought, [weak = weak_from_this(), request](const Resolution& resolution) {
    if (auto self = weak.lock()) self->answer(request, resolution);
  });
  return success();
}

void ProxySession::answer(const api::ResolveRequest& request, const Resolution& resolution) {
  --open_;
  send(reply_for(request, resolution));
}

void ProxySession::send(const api::ResolveReply& reply) {
  if (ended_) return;
  auto bytes = ipc::serialize(reply);
  auto queued = bytes ? queue_.push(bytes.value()) : Result<void>(fail(std::move(bytes).error()));
  if (!queued) return end();
  if (!queue_.empty()) wait_for_room();
}

}  // namespace sallyport::resolver
