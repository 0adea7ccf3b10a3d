#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "firewall/api/attach_session.h"
#include "firewall/api/channel.h"
#include "firewall/api/messages.h"
#include "firewall/api/plan.h"
#include "firewall/api/probe_line.h"
#include "firewall/api/verify_probes.h"

namespace sallyport::firewall {
namespace {

Nonce nonce_of(std::uint8_t fill) {
  Nonce nonce;
  nonce.bytes.fill(fill);
  return nonce;
}

TEST(Nonce, RoundTripsAndRefusesOtherText) {
  Nonce nonce = Nonce::random();
  EXPECT_EQ(Nonce::parse(nonce.hex()).value(), nonce);
  EXPECT_NE(Nonce::random(), nonce);
  for (std::string_view bad : {"", "00", "0123456789abcdef0123456789abcdeF", "0123456789abcdef0123456789abcde",
                               "0123456789abcdef0123456789abcdef0", "0123456789abcdef 123456789abcdef"}) {
    EXPECT_FALSE(Nonce::parse(bad)) << bad;
  }
}

TEST(Probes, TableIsWhole) {
  std::set<std::string_view> names;
  std::set<Probe> numbers;
  for (const ProbeInfo& info : all_probes()) {
    names.insert(info.name);
    numbers.insert(info.probe);
    EXPECT_LE(info.name.size(), 24u);
    EXPECT_EQ(probe_of(info.name), info.probe);
    EXPECT_EQ(info_of(info.probe).name, info.name);
    if (!info.destination.empty()) EXPECT_TRUE(IpAddress::parse(info.destination));
  }
  EXPECT_EQ(names.size(), kProbeCount);
  EXPECT_EQ(numbers.size(), kProbeCount);
  EXPECT_FALSE(probe_of("raw"));
}

TEST(ProbeLine, RoundTripsEveryTcpProbeAndNoOther) {
  for (const ProbeInfo& info : all_probes()) {
    ProbeCall call{nonce_of(0xa5), info.probe};
    auto parsed = parse_probe_line(probe_line(call));
    EXPECT_EQ(parsed.has_value(), info.kind == ProbeKind::kTcp) << info.name;
    if (parsed) EXPECT_EQ(parsed.value(), call);
    auto queried = parse_probe_query_name(probe_query_name(call));
    EXPECT_EQ(queried.has_value(), info.kind == ProbeKind::kDns) << info.name;
    if (queried) EXPECT_EQ(queried.value(), call);
  }
}

TEST(ProbeLine, RefusesWhateverIsNotExactlyOne) {
  const std::string good = "SALLYPORT-PROBE 000102030405060708090a0b0c0d0e0f raw-address\n";
  ASSERT_TRUE(parse_probe_line(good));
  for (std::string bad : {std::string(), std::string("\n"), good.substr(0, good.size() - 1), good + "x", good + "\n",
                          " " + good, std::string("SALLYPORT-PROBE 000102030405060708090a0b0c0d0e0f \n"),
                          std::string("SALLYPORT-PROBE 000102030405060708090a0b0c0d0e0f nowhere\n"),
                          std::string("SALLYPORT-PROBE 000102030405060708090A0b0c0d0e0f raw-address\n"),
                          std::string("SALLYPORT-PROBE 000102030405060708090a0b0c0d0e0f raw-address \n"),
                          std::string("SALLYPORT-PROBE 000102030405060708090a0b0c0d0e0f raw-address\r\n"),
                          std::string("GET / HTTP/1.1\r\n"), std::string(300, 'a') + "\n"}) {
    EXPECT_FALSE(parse_probe_line(bad)) << bad;
  }
  const std::string name = "000102030405060708090a0b0c0d0e0f-foreign-dns.probe.sallyport.internal";
  ASSERT_TRUE(parse_probe_query_name(name));
  for (std::string bad : {std::string(kProbeZone), std::string("probe.sallyport.internal."), name + ".", "x." + name,
                          std::string("000102030405060708090a0b0c0d0e0f-foreign-dns.probe.sallyport.example"),
                          std::string("000102030405060708090a0b0c0d0e0f.probe.sallyport.internal"),
                          std::string("000102030405060708090a0b0c0d0e0f-raw-address.probe.sallyport.internal")}) {
    EXPECT_FALSE(parse_probe_query_name(bad)) << bad;
  }
}

// A self-test in which all went as it must.
struct Passed {
  ExpectedProbes expected{nonce_of(7), IpAddress::v4({198, 18, 16, 1})};
  std::vector<ProbeOutcome> reported;
  std::vector<ProbeRecord> recorded;

  Passed() {
    for (const ProbeInfo& info : all_probes()) {
      bool recorded_kind = info.kind == ProbeKind::kTcp || info.kind == ProbeKind::kDns;
      ProbeStatus status = recorded_kind                      ? ProbeStatus::kAnswered
                           : info.kind == ProbeKind::kRefused ? ProbeStatus::kBlocked
                                                              : ProbeStatus::kClean;
      reported.push_back({info.probe, status, 0, ""});
      if (!recorded_kind) continue;
      IpAddress to = info.probe == Probe::kResolver ? expected.resolver4 : IpAddress::parse(info.destination).value();
      recorded.push_back({expected.nonce, info.probe, to, info.port});
    }
  }
  std::vector<ProbeFailure> verdict() const { return verify_probes(expected, reported, recorded); }
};

TEST(VerifyProbes, PassesOnlyWhenEveryProbeCameToWhatItMust) {
  EXPECT_TRUE(Passed().verdict().empty());
  EXPECT_EQ(describe(Passed().verdict()), "self-test passed");
  EXPECT_EQ(verify_probes(Passed().expected, {}, {}).size(), kProbeCount);
}

TEST(VerifyProbes, NamesEachProbeThatAttachDidNotTryOrSawFail) {
  for (std::size_t i = 0; i < kProbeCount; ++i) {
    Passed test;
    const ProbeInfo& info = info_of(test.reported[i].probe);
    test.reported[i].status = ProbeStatus::kFailed;
    test.reported[i].detail = "sent 8 bytes";
    auto failures = test.verdict();
    ASSERT_EQ(failures.size(), 1u) << info.name;
    EXPECT_EQ(failures[0].probe, info.probe);
    EXPECT_TRUE(failures[0].detail.starts_with(std::string(info.name) + ": ")) << failures[0].detail;
    EXPECT_NE(failures[0].detail.find("sent 8 bytes"), std::string::npos);
    test = Passed();
    test.reported.erase(test.reported.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_EQ(test.verdict().size(), 1u);
    test = Passed();
    test.reported.push_back(test.reported[i]);
    EXPECT_EQ(test.verdict().size(), 1u);
  }
}

TEST(VerifyProbes, DoesNotTakeAnotherKindsOutcomeForSuccess) {
  for (ProbeStatus status : {ProbeStatus::kClean, ProbeStatus::kAnswered, ProbeStatus::kBlocked}) {
    Passed test;
    for (ProbeOutcome& outcome : test.reported) outcome.status = status;
    auto failures = test.verdict();
    EXPECT_FALSE(failures.empty());
    EXPECT_LT(failures.size(), kProbeCount);
  }
}

TEST(VerifyProbes, DeniesAnsweredProbesThatTheProxyDidNotRecord) {
  // A foreign listener inside, or a real host outside, answers exactly as the proxy would.
  const std::size_t needed = Passed().recorded.size();
  for (std::size_t i = 0; i < needed; ++i) {
    Passed test;
    Probe probe = test.recorded[i].probe;
    test.recorded.erase(test.recorded.begin() + static_cast<std::ptrdiff_t>(i));
    auto failures = test.verdict();
    ASSERT_EQ(failures.size(), 1u);
    EXPECT_EQ(failures[0].probe, probe);
    EXPECT_NE(failures[0].detail.find("no record"), std::string::npos);
  }
}

TEST(VerifyProbes, DeniesRecordsOfAnotherSelfTestOrDestination) {
  Passed test;
  for (ProbeRecord& record : test.recorded) record.nonce = nonce_of(8);
  EXPECT_EQ(test.verdict().size(), test.recorded.size());
  test = Passed();
  test.recorded[0].port = 8080;
  ASSERT_EQ(test.verdict().size(), 1u);
  test = Passed();
  test.recorded[0].destination = IpAddress::v4({127, 0, 0, 1});
  ASSERT_EQ(test.verdict().size(), 1u);
  EXPECT_NE(test.verdict()[0].detail.find("127.0.0.1 port"), std::string::npos);
  // Control: foreign records beside the right ones change nothing.
  test = Passed();
  test.recorded.push_back({nonce_of(9), Probe::kIpv6, IpAddress::v4({1, 2, 3, 4}), 1});
  EXPECT_TRUE(test.verdict().empty());
}

struct Pair {
  UniqueFd a, b;
  Pair() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
    a.reset(fds[0]);
    b.reset(fds[1]);
  }
};

Deadline soon() { return Deadline::after(std::chrono::milliseconds(200)); }

TEST(Channel, PassesAFrameWithItsDescriptors) {
  Pair pair;
  ProbeRequest sent;
  sent.nonce = nonce_of(3).bytes;
  const int fds[2] = {pair.a.get(), pair.b.get()};
  ASSERT_TRUE(send_message(pair.a.get(), sent, fds, soon()));
  ProbeRequest got;
  auto received = receive_frame(pair.b.get(), std::as_writable_bytes(std::span(&got, 1)), 2, soon());
  ASSERT_TRUE(received);
  EXPECT_EQ(received.value().size(), 2u);
  EXPECT_EQ(got.nonce, sent.nonce);
  EXPECT_NE(::fcntl(received.value()[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(Channel, RefusesOtherSizesAndDescriptorsThenEndAndSilence) {
  Pair pair;
  ProbeRequest frame;
  auto bytes = std::as_writable_bytes(std::span(&frame, 1));
  const int fds[1] = {pair.a.get()};
  ASSERT_TRUE(send_frame(pair.a.get(), bytes.first(4), {}, soon()));
  EXPECT_EQ(receive_frame(pair.b.get(), bytes, 0, soon()).error().kind, ErrorKind::kInvalid);
  std::array<std::byte, 4096> large{};
  ASSERT_TRUE(send_frame(pair.a.get(), large, {}, soon()));
  EXPECT_EQ(receive_frame(pair.b.get(), bytes, 0, soon()).error().kind, ErrorKind::kInvalid);
  ASSERT_TRUE(send_frame(pair.a.get(), bytes, fds, soon()));
  EXPECT_EQ(receive_frame(pair.b.get(), bytes, 0, soon()).error().kind, ErrorKind::kInvalid);
  ASSERT_TRUE(send_frame(pair.a.get(), bytes, {}, soon()));
  EXPECT_EQ(receive_frame(pair.b.get(), bytes, 1, soon()).error().kind, ErrorKind::kInvalid);
  ASSERT_TRUE(send_frame(pair.a.get(), bytes, {}, soon()));
  EXPECT_TRUE(receive_frame(pair.b.get(), bytes, 0, soon()));
  EXPECT_EQ(receive_frame(pair.b.get(), bytes, 0, soon()).error().kind, ErrorKind::kTimedOut);
  pair.a.reset();
  EXPECT_EQ(receive_frame(pair.b.get(), bytes, 0, soon()).error().kind, ErrorKind::kDisconnected);
}

TEST(Target, FindsNamespacesAndRefusesOtherFiles) {
  auto own = target_of_pid(::getpid());
  ASSERT_TRUE(own);
  struct stat a{}, b{};
  ASSERT_EQ(::fstat(own.value().netns.fd(), &a), 0);
  ASSERT_EQ(::stat("/proc/self/ns/net", &b), 0);
  EXPECT_EQ(a.st_ino, b.st_ino);
  EXPECT_TRUE(target_at_path("/proc/self/ns/net"));
  EXPECT_EQ(target_at_path("/proc/self/ns/user").error().kind, ErrorKind::kInvalid);
  EXPECT_EQ(target_at_path("/dev/null").error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE(target_at_path("/nonexistent"));
  EXPECT_FALSE(target_of_pid(0));
  EXPECT_FALSE(target_of_pid(-1));
  EXPECT_FALSE(target_of_pid(0x7ffffff0));
}

AttachOptions options_of(std::string program) {
  return {std::move(program), IpPrefix::of(IpAddress::v4({198, 18, 0, 0}), 20),
          IpPrefix::of(IpAddress::parse("fd53:7079::").value(), 64)};
}

TEST(AttachSession, FailsWhenTheProgramIsMissingOrAnswersNothing) {
  for (const char* program : {"/nonexistent/sallyport-attach", "/bin/false", "/bin/true"}) {
    auto session = AttachSession::start(options_of(program), std::move(target_of_pid(::getpid()).value()));
    if (!session) continue;  // the child was gone before the request was sent
    EXPECT_FALSE(session.value().receive_listeners(Deadline::after(std::chrono::seconds(2)))) << program;
  }
}

TEST(AttachSession, RefusesPoolsOfTheWrongFamily) {
  AttachOptions options = options_of("/bin/true");
  std::swap(options.pool4, options.pool6);
  EXPECT_EQ(AttachSession::start(options, std::move(target_of_pid(::getpid()).value())).error().kind,
            ErrorKind::kInvalid);
}

}  // namespace
}  // namespace sallyport::firewall
