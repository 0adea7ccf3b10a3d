// ProxySession: one proxy's channel. Its questions go to the Resolver, the answers back in whatever order they come.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <memory>

#include "core/async/awaitable.h"
#include "core/ipc/channel.h"
#include "core/ipc/send_queue.h"
#include "resolver/api/resolver.pb.h"
#include "resolver/upstream/resolver.h"

namespace sallyport::resolver {

// The proxy is not trusted: a frame that is no ResolveRequest, a name that is not canonical, or not reading the answers
// ends the session. At most kMaxOpen questions are open, further ones are answered OVERLOADED; while answers wait to be
// sent no question is read. Owned by one shared_ptr in main; answers on their way hold weak ones. One thread;
// `resolver` is borrowed.
class ProxySession : public std::enable_shared_from_this<ProxySession> {
 public:
  static constexpr std::size_t kMaxOpen = 1024;

  static Result<std::shared_ptr<ProxySession>> start(Executor executor, Resolver& resolver, ipc::Channel channel);
  ProxySession(const ProxySession&) = delete;
  ProxySession& operator=(const ProxySession&) = delete;

  // Closes the channel; answers that come later are dropped.
  void end() noexcept;
  bool ended() const noexcept { return ended_; }

 private:
  using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;
  ProxySession(Executor executor, Resolver& resolver, ipc::Channel channel);
  void wait_for_questions();
  void wait_for_room();
  void read_questions();
  Result<void> take(const api::ResolveRequest& request);
  void answer(const api::ResolveRequest& request, const Resolution& resolution);
  void send(const api::ResolveReply& reply);

  Resolver& resolver_;
  ipc::Channel channel_;
  ipc::SendQueue queue_;
  Descriptor watch_;  // a duplicate of the channel's descriptor, its own
  std::size_t open_ = 0;
  bool reading_ = false, writing_ = false, ended_ = false;
};

}  // namespace sallyport::resolver
