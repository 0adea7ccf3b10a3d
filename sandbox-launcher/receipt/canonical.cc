#include "sandbox-launcher/receipt/canonical.h"

#include <nlohmann/json.hpp>

#include "core/base/escape.h"

namespace sallyport::launcher {

std::string json_text(std::string_view hostile) {
  // escape_json gives the inside of a JSON string that is valid whatever came in: reading it back gives valid text.
  auto read = nlohmann::json::parse("\"" + escape_json(hostile) + "\"", nullptr, false);
  return read.is_string() ? read.get<std::string>() : std::string();
}

}  // namespace sallyport::launcher
