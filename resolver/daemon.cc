#include "resolver/daemon.h"

#include <fcntl.h>

#include <optional>
#include <vector>

#include "core/async/task_scope.h"
#include "core/ipc/message.h"
#include "core/sys/confine.h"
#include "core/sys/descriptor_limit.h"
#include "resolver/proxy_session.h"

namespace sallyport::resolver {
namespace {

using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;

constexpr std::size_t kMaxProxies = ipc::kMaxFrameDescriptors;
constexpr auto kStartTime = std::chrono::seconds(10);
constexpr auto kReadyTime = std::chrono::seconds(10);

// Everything of the one thread, in the order in which it must be destroyed backwards.
struct Home {
  Home(StartSettings settings, ipc::Channel control_channel)
      : context{io.get_executor(), wheel, std::move(settings.upstream)},
        control(std::move(control_channel)),
        watch(io.get_executor()),
        scope(io.get_executor(), 1) {
    resolver.emplace(context, net::AddressPolicy(std::move(settings.addresses)));
  }

  Result<void> open(std::vector<UniqueFd> proxies) {
    for (UniqueFd& fd : proxies) {
      BOOST_OUTCOME_TRY(auto channel, ipc::Channel::adopt(std::move(fd)));
      BOOST_OUTCOME_TRY(auto session, ProxySession::start(io.get_executor(), *resolver, std::move(channel)));
      sessions.push_back(std::move(session));
    }
    UniqueFd duplicate(::fcntl(control.fd(), F_DUPFD_CLOEXEC, 3));
    if (!duplicate) return fail_errno("duplicate the control channel");
    boost::system::error_code error;
    watch.assign(duplicate.get(), error);
    if (error) return fail(Error::from_errno("watch the control channel", error.value()));
    (void)duplicate.release();
    return success();
  }

  void wait_for_control() {
    watch.async_wait(Descriptor::wait_read, [this](boost::system::error_code) {
      auto frame = control.try_receive();
      if (!frame && frame.error().kind == ErrorKind::kUnavailable) return wait_for_control();
      if (frame) end = fail(ErrorKind::kDenied, "a message on the control channel after Start");
      if (!frame && frame.error().kind != ErrorKind::kDisconnected) end = fail(std::move(frame).error());
      stop();
    });
  }

  // Leaves nothing to wait for but the wheel's last tick.
  void stop() {
    for (auto& session : sessions) session->end();
    resolver.reset();
    boost::system::error_code ignored;
    watch.close(ignored);
    stopping = true;
  }

  Result<void> serve() {
    BOOST_OUTCOME_TRY(scope.spawn(wheel.run(stopping)));
    wait_for_control();
    io.run();
    return end;
  }

  IoContext io{1};
  async::DeadlineWheel wheel{Clock::now()};
  UpstreamContext context;
  std::optional<Resolver> resolver;
  std::vector<std::shared_ptr<ProxySession>> sessions;
  ipc::Channel control;
  Descriptor watch;
  bool stopping = false;
  Result<void> end = success();
  async::TaskScope scope;
};

api::Ready ready_message(const UpstreamSettings& settings) {
  api::Ready ready;
  for (const net::Endpoint& server : settings.servers) ready.add_servers(server.text());
  return ready;
}

}  // namespace

Result<void> confine_process(const StartSettings& settings) {
  sys::Confinement confinement;
  if (settings.user != 0) confinement.user = sys::User{settings.user, settings.user};
  confinement.network = sys::Confinement::Network::kUse;
  // c-ares looks for a source of randomness and for files it does not need.
  confinement.filter = sys::SyscallFilter().event_loop().sockets_inet().receive_descriptors().refuse_file_lookups();
  BOOST_OUTCOME_TRY(sys::confine(confinement));
  return success();
}

Result<void> run_daemon(ipc::Channel control, const Confine& confine, const std::string& resolv_conf) {
  BOOST_OUTCOME_TRY(auto start, ipc::receive_message<api::Start>(control, Deadline::after(kStartTime), kMaxProxies));
  BOOST_OUTCOME_TRY(auto settings, read_start(start.message, resolv_conf));
  if (ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) return fail(ErrorKind::kInternal, "c-ares does not start");
  sys::use_available_descriptors(16384);
  Home home(settings, std::move(control));
  BOOST_OUTCOME_TRY(home.open(std::move(start.descriptors)));
  BOOST_OUTCOME_TRY(confine(settings));
  BOOST_OUTCOME_TRY(ipc::send_message(home.control, ready_message(settings.upstream), {}, Deadline::after(kReadyTime)));
  return home.serve();
}

}  // namespace sallyport::resolver
