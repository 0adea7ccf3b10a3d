#include "policies/edit/init.h"

#include <algorithm>

#include "core/base/escape.h"
#include "policies/catalogue/catalogue.h"
#include "policies/edit/format.h"
#include "policies/edit/scalar_text.h"
#include "policies/engine/target.h"

namespace sallyport::policy::edit {
namespace {

auto invalid(std::string what) { return fail(ErrorKind::kInvalid, std::move(what)); }

struct Api {
  std::string destination;       // as it stands in a rule
  std::string allowed, refused;  // what a test asks
};

Result<Api> read_api(std::string_view text, bool read_only) {
  std::string methods = read_only ? "GET,HEAD " : "";
  auto mark = text.find("://");
  std::string_view scheme = mark == text.npos ? std::string_view() : text.substr(0, mark);
  std::string_view rest = mark == text.npos ? text : text.substr(mark + 3);
  std::string shown = "'" + escape_text(text, 120) + "'";
  if (rest.empty() || text.find(' ') != text.npos)
    return invalid(shown + " is no host: write api.example, http://api.example/v1/** or tls://api.example");
  if (scheme == "http") {
    auto slash = rest.find('/');
    std::string authority(rest.substr(0, slash));
    std::string path = slash == rest.npos ? "/**" : std::string(rest.substr(slash));
    std::string_view base = std::string_view(path).substr(0, path.find('*'));
    std::string asked = "http://" + authority + std::string(base) + (base.size() < path.size() ? "x" : "");
    return Api{methods + "http://" + authority + path, "GET " + asked, read_only ? "POST " + asked : ""};
  }
  if (!scheme.empty() && scheme != "https" && scheme != "tls")
    return invalid(shown + ": write api.example, http://api.example/v1/** or tls://api.example");
  auto slash = rest.find('/');
  bool has_path = slash != rest.npos && slash + 1 < rest.size();
  std::string host(rest.substr(0, slash));
  if (has_path && rest.substr(slash) != "/**")
    return invalid(shown + ": what stands inside TLS is not read, so no path can be allowed there: write tls://" +
                   escape_text(host, 80) + " for the whole host");
  return Api{"tls://" + host, "tls://" + host, ""};
}

std::string grants_text(const std::vector<std::string>& grants) {
  if (grants.empty()) return {};
  std::string out =
      "# Ready-made grants, each with its version: 'sallyport policy explain' shows the rules that they bring.\nuse:\n";
  for (const auto& grant : grants) out += "  - " + grant + "/" + std::to_string(newest_version(grant)) + "\n";
  return out + "\n";
}

Result<void> check(const Wishes& wishes) {
  std::string known;
  for (const auto& entry : catalogue())
    if (known.find(entry.name) == known.npos) known += (known.empty() ? "" : ", ") + std::string(entry.name);
  for (const auto& grant : wishes.grants)
    if (newest_version(grant) == 0)
      return invalid("there is no ready-made grant '" + escape_text(grant, 60) + "': there are " + known);
  return success();
}

std::string rules_text(const std::vector<Api>& apis, bool grants) {
  std::string out =
      "# What no rule allows is denied. A rule is one destination:\n"
      "#   allow: GET,HEAD http://api.example/v1/**   clear HTTP, every request is decided\n"
      "#   allow: tls://api.example                   an encrypted tunnel to this host, port 443\n"
      "#   allow: tcp://db.example:5432               any other connection\n";
  if (apis.empty()) return out + (grants ? "rules: []\n" : "rules:\n  - allow: tls://api.example\n");
  out += "rules:\n";
  for (std::size_t i = 0; i < apis.size(); ++i)
    out += "  - id: api" + (apis.size() > 1 ? "-" + std::to_string(i + 1) : "") +
           "\n    allow: " + scalar_text(apis[i].destination, Within::kBlock) + "\n";
  return out;
}

std::string tests_text(const std::vector<Api>& apis) {
  std::string out = "# Held against the rules by 'sallyport policy test'.\ntests:\n";
  for (const auto& api : apis) {
    out += "  - allow: " + scalar_text(api.allowed, Within::kBlock) + "\n";
    if (!api.refused.empty()) out += "  - deny: " + scalar_text(api.refused, Within::kBlock) + "\n";
  }
  return out + "  - deny: tls://elsewhere.example\n";
}

}  // namespace

Result<std::string> initial_policy(const Wishes& wishes) {
  BOOST_OUTCOME_TRY(check(wishes));
  std::vector<Api> apis;
  for (const auto& text : wishes.apis) {
    BOOST_OUTCOME_TRY(auto api, read_api(text, wishes.read_only));
    apis.push_back(std::move(api));
  }
  std::string out =
      "# A policy of Sallyport. Check it with 'sallyport policy check FILE', ask it with 'sallyport policy explain "
      "FILE REQUEST'.\n";
  out += "policy: " + wishes.name + "/1\n\n" + rules_text(apis, !wishes.grants.empty()) + "\n" +
         grants_text(wishes.grants);
  out +=
      "# What the whole task may use, whichever rules it uses it by.\n"
      "budgets:\n  wall: 30m\n  upload: 10MiB\n  download: 1GiB\n\n";
  if (apis.empty() && wishes.grants.empty()) apis.push_back({"", "tls://api.example", ""});
  out += tests_text(apis);
  auto formatted = format(out, "policy");
  if (formatted.text) return *std::move(formatted.text);
  const auto& first = formatted.diagnostics.front();
  std::string shown = first.read.empty() ? "" : " (" + first.read + ")";
  return invalid(first.message + shown + (first.advice.empty() ? "" : ": write " + first.advice));
}

}  // namespace sallyport::policy::edit
