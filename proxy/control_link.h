// ControlLink: the proxy's side of its channel with control: tasks come and go, leases are asked for, probes and limits are told.
#pragma once

#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <memory>
#include <unordered_map>

#include "core/ipc/channel.h"
#include "core/ipc/send_queue.h"
#include "proxy/api/proxy.pb.h"
#include "proxy/served_task.h"

namespace sallyport::proxy {

// Owns the tasks. The end of the channel ends everything: run() then returns.
class ControlLink {
 public:
  // `channel` has had its Start; it is taken over.
  ControlLink(const ThreadServices& services, ipc::Channel channel);
  ~ControlLink();

  // Handles requests until the channel ends, then ends every task.
  Awaitable<void> run();
  void send(const api::FromProxy& message);

 private:
  struct Entry;

  Awaitable<bool> handle(api::ToProxy message, std::vector<UniqueFd> descriptors);
  void add_task(const api::AddTask& request, std::vector<UniqueFd> descriptors);
  Result<void> try_add(const api::AddTask& request, std::vector<UniqueFd> descriptors);
  Awaitable<void> end_task(std::string id);
  Awaitable<void> end_all();
  Entry* find(const std::string& id);
  void lost() noexcept;

  ThreadServices services_;
  ipc::Channel channel_;
  ipc::SendQueue queue_;
  boost::asio::posix::basic_stream_descriptor<Executor> watch_;
  std::unordered_map<std::string, std::unique_ptr<Entry>> tasks_;
  async::TaskScope scope_;
};

}  // namespace sallyport::proxy
