// For tests: what the proxy does in its self-test state, and nothing else. Answers probes and records where they were
// sent.
#pragma once

#include <mutex>
#include <thread>
#include <vector>

#include "firewall/api/listener_set.h"
#include "firewall/api/verify_probes.h"

namespace sallyport::firewall {

// Serves the listeners from a thread of its own until destroyed. The listeners are borrowed.
class FakeProxy {
 public:
  explicit FakeProxy(const ListenerSet& listeners);
  FakeProxy(const FakeProxy&) = delete;
  FakeProxy& operator=(const FakeProxy&) = delete;
  ~FakeProxy();

  std::vector<ProbeRecord> records() const;

 private:
  void serve();
  void accept_from(int listener);
  void answer_query(int socket);

  std::vector<int> streams_, datagrams_;
  UniqueFd stop_;  // an eventfd
  mutable std::mutex mutex_;
  std::vector<ProbeRecord> records_;
  std::thread thread_;
};

}  // namespace sallyport::firewall
