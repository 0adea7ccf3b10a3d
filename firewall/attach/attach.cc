#include "firewall/attach/attach.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/escape.h"
#include "firewall/addresses/configure.h"
#include "firewall/api/channel.h"
#include "firewall/api/messages.h"
#include "firewall/attach/enter.h"
#include "firewall/attach/listeners.h"
#include "firewall/attach/request.h"
#include "firewall/attach/unused.h"
#include "firewall/inspect/packet_filters.h"
#include "firewall/probes/run_probes.h"

namespace sallyport::firewall {

namespace {

constexpr auto kAnswerLimit = std::chrono::seconds(2);  // a frame that control does not take
constexpr std::uint32_t kMaxProbeMs = 2000;

template <std::size_t N>
void put_text(std::string_view text, std::array<char, N>& field) {
  // Details hold names that the sandbox chose only escaped; this is for what nobody thought of.
  bool plain = std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
  std::string safe = plain ? std::string(text) : escape_text(text);
  std::size_t length = std::min(safe.size(), N - 1);
  std::memcpy(field.data(), safe.data(), length);
  field[length] = '\0';
}

template <class Message>
Result<std::vector<UniqueFd>> receive(int channel, Message& message, std::size_t descriptors) {
  return receive_frame(channel, std::as_writable_bytes(std::span(&message, 1)), descriptors, Deadline::never());
}

struct Made {
  Attached attached;
  ListenerSet listeners;
};

// The steps in order; `step` is the one being done.
Result<Made> make_everything(int channel, AttachStep& step) {
  step = AttachStep::kRequest;
  BOOST_OUTCOME_TRY(shield_process());
  AttachRequest request;
  BOOST_OUTCOME_TRY(auto descriptors, receive(channel, request, 1));
  BOOST_OUTCOME_TRY(CheckedRequest checked, check_request(request, std::move(descriptors[0])));

  step = AttachStep::kIdentify;
  BOOST_OUTCOME_TRY(Target target, identify(std::move(checked.netns)));
  step = AttachStep::kEnter;
  BOOST_OUTCOME_TRY(std::uint64_t cookie, enter(target, channel));
  step = AttachStep::kInspect;
  BOOST_OUTCOME_TRY(check_inhabitants(target, checked.pid));
  // Needs the right to read the namespace's files, so before capabilities go.
  BOOST_OUTCOME_TRY(check_unused(target.owner_is_ours ? UnreadableLegacy::kRefuse : UnreadableLegacy::kPassOver));
  BOOST_OUTCOME_TRY(keep_network_capabilities());
  BOOST_OUTCOME_TRY(install_syscall_filter());

  step = AttachStep::kAddresses;
  BOOST_OUTCOME_TRY(configure_addresses());
  step = AttachStep::kRuleset;
  BOOST_OUTCOME_TRY(LoadedRuleset ruleset, load_ruleset());
  step = AttachStep::kListeners;
  BOOST_OUTCOME_TRY(ListenerSet listeners, make_listeners());
  listeners.netns = {target.netns.id().device, target.netns.id().inode, cookie};
  return Made{{checked.resolver4, ruleset, {}}, std::move(listeners)};
}

std::array<int, 6> descriptors_of(const ListenerSet& set) {
  return {set.proxy4.get(), set.proxy6.get(), set.caught4.get(), set.caught6.get(), set.dns4.get(), set.dns6.get()};
}

Result<std::vector<std::uint64_t>> inodes_of(const ListenerSet& set) {
  std::vector<std::uint64_t> inodes;
  for (int fd : descriptors_of(set)) {
    struct stat status{};
    if (::fstat(fd, &status) != 0) return fail_errno("listener: fstat");
    inodes.push_back(status.st_ino);
  }
  return inodes;
}

Result<void> report_failure(int channel, AttachStep step, const Error& error) {
  AttachReply reply;
  // Up to the inspection nothing in the namespace has been changed.
  reply.status = step <= AttachStep::kInspect ? AttachStatus::kRefused : AttachStatus::kFailed;
  reply.step = step;
  reply.error = error.code;
  put_text("the namespace cannot be attached to: " + error.detail, reply.detail);
  return send_message(channel, reply, {}, Deadline::after(kAnswerLimit));
}

Result<void> report_success(int channel, const Made& made) {
  AttachReply reply;
  reply.status = AttachStatus::kOk;
  reply.step = AttachStep::kListeners;
  reply.packet_log = made.attached.ruleset.log == PacketLog::kOn ? 1 : 0;
  reply.netns_device = made.listeners.netns.device;
  reply.netns_inode = made.listeners.netns.inode;
  reply.netns_cookie = made.listeners.netns.cookie;
  return send_message(channel, reply, descriptors_of(made.listeners), Deadline::after(kAnswerLimit));
}

ProbeReport report_of(const ProbeOutcome& outcome) {
  ProbeReport report;
  report.probe = static_cast<std::uint8_t>(outcome.probe);
  report.status = static_cast<std::uint8_t>(outcome.status);
  report.error = outcome.error;
  put_text(outcome.detail, report.detail);
  return report;
}

}  // namespace

Result<Attached> attach_namespace(int channel) {
  AttachStep step = AttachStep::kRequest;
  auto made = make_everything(channel, step);
  if (made) {
    auto inodes = inodes_of(made.value().listeners);
    if (!inodes) return fail(std::move(inodes).error());
    made.value().attached.own_sockets = std::move(inodes).value();
    BOOST_OUTCOME_TRY(report_success(channel, made.value()));
    return std::move(made.value().attached);
  }
  Error error = std::move(made).error();
  BOOST_OUTCOME_TRY(report_failure(channel, step, error));
  return fail(std::move(error));
}

Result<void> answer_self_test(int channel, const Attached& attached) {
  ProbeRequest request;
  BOOST_OUTCOME_TRY(receive(channel, request, 0));
  if (request.head.protocol != kAttachProtocol || request.head.kind != MessageKind::kProbeRequest ||
      request.timeout_ms > kMaxProbeMs) {
    return fail(ErrorKind::kInvalid, "another message than a probe request");
  }
  ProbeContext context{Nonce{request.nonce}, attached.resolver4, attached.ruleset, attached.own_sockets,
                       Deadline::after(std::chrono::milliseconds(request.timeout_ms))};
  ProbeReply reply;
  for (const ProbeOutcome& outcome : run_probes(context)) reply.reports.at(reply.count++) = report_of(outcome);
  return send_message(channel, reply, {}, Deadline::after(kAnswerLimit));
}

}  // namespace sallyport::firewall
