// Appliance: starting the daemons and introducing them to each other.
#include <fcntl.h>

#include "control/appliance/appliance.h"
#include "core/base/random.h"
#include "core/ipc/message.h"
#include "core/net/address_policy.h"
#include "core/sys/privileges.h"
#include "resolver/api/resolver.pb.h"

namespace sallyport::control {
namespace {

// A root whose user namespace does not map our users (`unshare -Ur`) is an ordinary user as far as they are concerned.
bool has_own_users() {
  auto may = sys::may_become(sys::kProxyUser);
  return may && may.value();
}

std::string bytes_of(const IpAddress& address) {
  auto bytes = address.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

Appliance::Appliance(ApplianceOptions options, Ledger ledger, Daemon resolver, Daemon audit, Daemon proxy)
    : options_(std::move(options)), ledger_(std::move(ledger)), resolver_(std::move(resolver)), audit_(std::move(audit)),
      proxy_(std::move(proxy)) {}

Result<std::unique_ptr<Appliance>> Appliance::start(ApplianceOptions options, const sys::PrivateDirectory& state, Deadline deadline) {
  BOOST_OUTCOME_TRY(auto ledger, Ledger::open(state.path() + "/ledger.sqlite"));
  UniqueFd log(::openat(state.fd(), "daemons.log", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return fail_errno("daemons.log");
  BOOST_OUTCOME_TRY(auto resolver, Daemon::start(options.libexec, "sallyport-resolver", log.get()));
  BOOST_OUTCOME_TRY(auto audit, Daemon::start(options.libexec, "sallyport-audit", log.get()));
  BOOST_OUTCOME_TRY(auto proxy, Daemon::start(options.libexec, "sallyport-proxy", log.get()));
  std::unique_ptr<Appliance> appliance(
      new Appliance(std::move(options), std::move(ledger), std::move(resolver), std::move(audit), std::move(proxy)));
  auto introduced = appliance->introduce(state, deadline);
  if (!introduced) {
    auto error = introduced.error();
    for (const auto& event : appliance->take_events())
      if (event.kind == ApplianceEvent::Kind::kDaemonEnded) error.detail += "; " + event.what;
    error.detail += " (see " + state.path() + "/daemons.log)";
    return fail(std::move(error));
  }
  return appliance;
}

Result<void> Appliance::introduce(const sys::PrivateDirectory& state, Deadline deadline) {
  BOOST_OUTCOME_TRY(auto own, net::host_addresses());
  BOOST_OUTCOME_TRY(auto between, ipc::Channel::pair());
  BOOST_OUTCOME_TRY(auto ring, audit::AuditRing::create());
  ring_ = std::move(ring);
  BOOST_OUTCOME_TRY(start_resolver(between.first.fd(), own, deadline));
  BOOST_OUTCOME_TRY(start_audit(state, deadline));
  return start_proxy(between.second.fd(), own, deadline);
}

Result<void> Appliance::start_resolver(int proxy_end, const std::vector<IpAddress>& own, Deadline deadline) {
  resolver::api::Start start;
  for (const auto& server : options_.config.resolver_servers) start.add_servers(server);
  for (const auto& prefix : options_.config.permit) start.add_permit(prefix.text());
  for (const auto& address : own) start.add_own_addresses(bytes_of(address));
  if (has_own_users()) start.set_user(sys::kResolverUser.uid);
  BOOST_OUTCOME_TRY(ipc::send_message(resolver_.channel, start, std::span(&proxy_end, 1), deadline));
  auto ready = ipc::receive_message<resolver::api::Ready>(resolver_.channel, deadline);
  if (!ready) return fail(ErrorKind::kUnavailable, "sallyport-resolver did not become ready: " + ready.error().detail);
  return success();
}

Result<void> Appliance::start_audit(const sys::PrivateDirectory& state, Deadline deadline) {
  std::string name(kAuditLog);
  UniqueFd file(::openat(state.fd(), name.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail_errno("audit log " + state.path() + "/" + name);
  audit_path_ = state.path() + "/" + name;
  audit::api::ToAudit message;
  auto& start = *message.mutable_start();
  start.set_owner(options_.owner);
  start.set_durability(options_.config.strict_audit ? audit::api::Start::STRICT : audit::api::Start::BATCHED);
  if (has_own_users()) start.set_user(sys::kAuditUser.uid);
  int fd = file.get();
  BOOST_OUTCOME_TRY(ipc::send_message(audit_.channel, message, std::span(&fd, 1), deadline));
  BOOST_OUTCOME_TRY(wait_for(audit_ready_, audit_, deadline));

  ring_id_ = random_u64();
  audit::api::ToAudit registration;
  registration.mutable_register_ring()->set_ring(ring_id_);
  int fds[] = {ring_.memory.get(), ring_.doorbell.get(), ring_.ack.get()};
  BOOST_OUTCOME_TRY(ipc::send_message(audit_.channel, registration, fds, deadline));
  BOOST_OUTCOME_TRY(auto registered, wait_for(ring_registered_, audit_, deadline));
  if (!registered.error().empty()) return fail(ErrorKind::kInternal, "audit ring: " + registered.error());
  return success();
}

Result<void> Appliance::start_proxy(int resolver_end, const std::vector<IpAddress>& own, Deadline deadline) {
  proxy::api::ToProxy message;
  auto& start = *message.mutable_start();
  start.set_as_root(has_own_users());
  if (has_own_users()) start.set_user(sys::kProxyUser.uid);
  for (const auto& prefix : options_.config.permit) start.add_permit(prefix.text());
  for (const auto& address : own) start.add_own_addresses(address.text());
  for (const auto& socket : options_.own_sockets) start.add_own_sockets(socket);
  int fds[] = {resolver_end, ring_.memory.get(), ring_.doorbell.get(), ring_.ack.get()};
  BOOST_OUTCOME_TRY(ipc::send_message(proxy_.channel, message, fds, deadline));
  BOOST_OUTCOME_TRY(wait_for(proxy_ready_, proxy_, deadline));
  return success();
}

}  // namespace sallyport::control
