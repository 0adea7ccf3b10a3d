#include "sandbox-launcher/oci/log.h"

#include <nlohmann/json.hpp>

#include "core/base/escape.h"

namespace sallyport::launcher {

std::string last_runc_error(std::string_view log) {
  std::string found;
  while (!log.empty()) {
    std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    auto entry = nlohmann::json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("msg") || !entry["msg"].is_string()) continue;
    if (auto level = entry.find("level"); level != entry.end() && (*level == "error" || *level == "fatal"))
      found = entry["msg"].get<std::string>();
  }
  return escape_text(found, 1024);
}

}  // namespace sallyport::launcher
