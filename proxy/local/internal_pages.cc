#include "proxy/local/internal_pages.h"

#include <optional>

#include "core/base/escape.h"

namespace sallyport::proxy {
namespace {

constexpr std::size_t kMaxList = 256 * 1024;  // bytes of a page after which a list of rules ends

struct Page {
  std::string_view type;
  std::string body;
};

struct BudgetLine {
  std::string_view name;
  std::optional<std::uint64_t> limit;
  std::uint64_t used;
};

// `open`: upstream connections that are open now.
std::vector<BudgetLine> budget_lines(const policy::Limits& limits, const AllowanceSet& allowances, std::uint64_t open) {
  auto bytes = [](const std::optional<ByteCount>& b) { return b ? std::optional(b->value) : std::nullopt; };
  auto used = [&](Resource r) { return allowances.of(r).used(); };
  return {{"requests", limits.requests, used(Resource::kRequests)},
          {"connections", limits.connections_total, used(Resource::kConnections)},
          {"concurrent", limits.connections_concurrent, open},
          {"upload", bytes(limits.upload), used(Resource::kUpload)},
          {"download", bytes(limits.download), used(Resource::kDownload)}};
}

std::string policy_json(Task& task) {
  std::string out = "{\"task\":\"";
  append_json(out, task.id().text());
  out += "\",\"policy\":\"";
  append_json(out, task.policy().label());
  out += "\",\"sha256\":\"";
  append_json(out, task.policy().sha256());
  out += "\",\"rules\":[";
  bool first = true;
  for (const auto& rule : task.policy().rules()) {
    out += first ? "{\"id\":\"" : ",{\"id\":\"";
    first = false;
    append_json(out, rule.id);
    out += "\",\"line\":" + std::to_string(rule.line) + ",\"";
    out += policy::to_string(rule.action);
    out += "\":\"";
    append_json(out, rule.text);
    out += "\"}";
    if (out.size() > kMaxList) {
      out += ",{\"id\":\"\",\"more\":true}";
      break;
    }
  }
  return out + "]}\n";
}

std::vector<BudgetLine> task_lines(Task& task) {
  return budget_lines(task.policy().budgets().limits, task.allowances(), task.open_connections());
}

struct TimeLine {
  std::string_view name;
  std::optional<std::chrono::seconds> limit;
};

std::vector<TimeLine> time_lines(const policy::Budgets& budgets) {
  return {{"duration", budgets.limits.duration}, {"idle", budgets.idle}, {"wall", budgets.wall}};
}

// The bounds of time that the policy states, as members: of what is open, none is used up.
std::string members(const std::vector<TimeLine>& lines) {
  std::string out;
  for (const auto& line : lines)
    if (line.limit) out += ",\"" + std::string(line.name) + "\":{\"limit_seconds\":" + std::to_string(line.limit->count()) + "}";
  return out;
}

// Members of a JSON object, each behind a comma.
std::string members(const std::vector<BudgetLine>& lines) {
  std::string out;
  for (const auto& line : lines) {
    out += ",\"" + std::string(line.name) + "\":{\"used\":" + std::to_string(line.used);
    if (line.limit) {
      out += ",\"limit\":" + std::to_string(*line.limit);
      out += ",\"left\":" + std::to_string(*line.limit > line.used ? *line.limit - line.used : 0);
    }
    out += "}";
  }
  return out;
}

std::string budgets_json(Task& task) {
  std::string rules;
  for (const auto& rule : task.policy().rules()) {
    const auto* allowances = task.rule_allowances(rule.index);
    if (allowances == nullptr) continue;
    if (rules.size() > kMaxList) {
      rules += ",{\"id\":\"\",\"more\":true}";
      break;
    }
    rules += rules.empty() ? "{\"id\":\"" : ",{\"id\":\"";
    append_json(rules, rule.id);
    rules += "\"" + members(budget_lines(rule.limits, *allowances, task.open_connections(rule.index))) +
             members(std::vector<TimeLine>{{"duration", rule.limits.duration}}) + "}";
  }
  return "{" + members(task_lines(task)).substr(1) + members(time_lines(task.policy().budgets())) + ",\"rules\":[" + rules + "]}\n";
}

std::string denials_json(Task& task) {
  std::string out = "{\"total\":" + std::to_string(task.denials().total()) + ",\"recent\":[";
  bool first = true;
  for (const auto& entry : task.denials().entries()) {
    out += first ? "{\"what\":\"" : ",{\"what\":\"";
    first = false;
    append_json(out, entry.what);
    out += "\",\"reason\":\"";
    out += policy::to_string(entry.reason);
    out += "\",\"meaning\":\"";
    append_json(out, policy::describe(entry.reason));
    out += "\",\"nearest_rule\":\"";
    append_json(out, entry.nearest_rule);
    out += "\",\"rule\":\"";
    append_json(out, entry.rule());
    out += "\",\"decision\":\"";
    append_json(out, entry.decision);
    out += "\",\"count\":" + std::to_string(entry.count) + "}";
  }
  return out + "]}\n";
}

std::string overview(Task& task) {
  std::string out = "Sallyport: task " + std::string(task.id().text()) + ", policy " + task.policy().label() + "\n\n";
  if (task.policy().is_absent()) out += "There is no policy: everything is denied.\n";
  out += "Rules (a deny wins; what no rule allows is denied):\n";
  std::size_t shown = 0;
  for (const auto& rule : task.policy().rules()) {
    if (++shown > 200) {
      out += "  … more at /policy\n";
      break;
    }
    out += "  " + rule.id + ": " + std::string(policy::to_string(rule.action)) + " " + escape_text(rule.text, 256) + "\n";
  }
  out += "\nBudgets used:\n";
  for (const auto& line : task_lines(task)) {
    out += "  " + std::string(line.name) + ": " + std::to_string(line.used);
    if (line.limit) out += " of " + std::to_string(*line.limit);
    out += "\n";
  }
  for (const auto& line : time_lines(task.policy().budgets()))
    if (line.limit) out += "  " + std::string(line.name) + ": at most " + std::to_string(line.limit->count()) + " s\n";
  out += "\nRecent denials (" + std::to_string(task.denials().total()) + " in all):\n";
  for (const auto& entry : task.denials().entries()) {
    out += "  " + entry.what + ": " + std::string(policy::to_string(entry.reason)) + " (" +
           std::string(policy::describe(entry.reason)) + ")";
    if (entry.count > 1) out += ", " + std::to_string(entry.count) + " times";
    out += "\n";
    if (!entry.rule().empty()) out += "    would need  " + escape_text(entry.rule(), 600) + "\n";
  }
  return out + "\nAlso as JSON: /policy /budgets /denials\n";
}

std::optional<Page> page_of(Task& task, std::string_view path) {
  if (path == "/") return Page{"text/plain; charset=utf-8", overview(task)};
  if (path == "/policy") return Page{"application/json", policy_json(task)};
  if (path == "/budgets") return Page{"application/json", budgets_json(task)};
  if (path == "/denials") return Page{"application/json", denials_json(task)};
  return std::nullopt;
}

}  // namespace

Awaitable<bool> answer_internal(ClientConnection& client, const http::RequestHead& head) {
  bool is_head = head.method == "HEAD";
  std::string_view status = "200 OK";
  auto page = page_of(client.task(), head.path);
  if (head.method != "GET" && !is_head) {
    status = "405 Method Not Allowed";
    page = Page{"text/plain; charset=utf-8", "Only GET and HEAD are served here.\n"};
  } else if (!page) {
    status = "404 Not Found";
    page = Page{"text/plain; charset=utf-8", "There are /, /policy, /budgets and /denials. Operations are not supported yet.\n"};
  }
  bool keep = head.keep_alive && !head.body.has_body();
  std::string out = "HTTP/1.1 ";
  out += status;
  out += "\r\nContent-Type: ";
  out += page->type;
  out += "\r\nContent-Length: " + std::to_string(page->body.size()) + "\r\nCache-Control: no-store\r\n";
  out += keep ? (head.minor == 0 ? "Connection: keep-alive\r\n\r\n" : "\r\n") : "Connection: close\r\n\r\n";
  auto writing = client.stream().write_all(out, is_head ? std::string_view() : std::string_view(page->body));
  auto written = co_await std::move(writing);
  co_return written.has_value() && keep;
}

}  // namespace sallyport::proxy
