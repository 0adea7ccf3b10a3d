#include "firewall/api/probe_line.h"

namespace sallyport::firewall {

namespace {

constexpr std::string_view kTag = "SALLYPORT-PROBE ";
constexpr std::size_t kNonceDigits = 32;

Result<ProbeCall> parse_call(std::string_view nonce, std::string_view name, ProbeKind kind) {
  BOOST_OUTCOME_TRY(Nonce parsed, Nonce::parse(nonce));
  auto probe = probe_of(name);
  if (!probe || info_of(*probe).kind != kind) return fail(ErrorKind::kInvalid, "probe: unknown name");
  return ProbeCall{parsed, *probe};
}

}  // namespace

std::string probe_line(const ProbeCall& call) {
  return std::string(kTag) + call.nonce.hex() + " " + std::string(info_of(call.probe).name) + "\n";
}

std::string probe_query_name(const ProbeCall& call) {
  return call.nonce.hex() + "-" + std::string(info_of(call.probe).name) + "." + std::string(kProbeZone);
}

Result<ProbeCall> parse_probe_line(std::string_view line) {
  if (line.size() > kMaxProbeLine || !line.starts_with(kTag) || !line.ends_with('\n')) {
    return fail(ErrorKind::kInvalid, "probe: not a probe line");
  }
  line.remove_prefix(kTag.size());
  line.remove_suffix(1);
  if (line.size() < kNonceDigits + 2 || line[kNonceDigits] != ' ')
    return fail(ErrorKind::kInvalid, "probe: not a probe line");
  return parse_call(line.substr(0, kNonceDigits), line.substr(kNonceDigits + 1), ProbeKind::kTcp);
}

Result<ProbeCall> parse_probe_query_name(std::string_view name) {
  if (name.size() <= kProbeZone.size() + 1 || !name.ends_with(kProbeZone) ||
      name[name.size() - kProbeZone.size() - 1] != '.') {
    return fail(ErrorKind::kInvalid, "probe: not a probe name");
  }
  name.remove_suffix(kProbeZone.size() + 1);
  if (name.size() < kNonceDigits + 2 || name[kNonceDigits] != '-')
    return fail(ErrorKind::kInvalid, "probe: not a probe name");
  return parse_call(name.substr(0, kNonceDigits), name.substr(kNonceDigits + 1), ProbeKind::kDns);
}

}  // namespace sallyport::firewall
