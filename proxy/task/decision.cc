#include "proxy/task/decision.h"

#include "core/base/escape.h"

namespace sallyport::proxy {

std::string_view to_string(Layer layer) noexcept {
  switch (layer) {
    case Layer::kDns: return "dns";
    case Layer::kConnect: return "connect";
    case Layer::kTls: return "tls";
    case Layer::kHttp: return "http";
  }
  return "connect";
}

std::string_view to_string(ClientForm form) noexcept { return form == ClientForm::kExplicit ? "explicit" : "caught"; }

std::string asked_for(const Decision& d) {
  std::string where = d.target ? d.target->authority(Port::of(d.port)) : escape_text(d.asked, 253);
  if (where.empty()) return "a request that cannot be read";
  std::string method = d.method.empty() ? std::string() : escape_text(d.method, 32) + " ";
  bool is_url = d.layer == Layer::kHttp || !d.path.empty();
  if (!is_url) return method + where;
  if (d.target && d.port == 80) where.resize(where.size() - std::string_view(":80").size());
  return method + "http://" + where + escape_text(d.path, 512);
}

}  // namespace sallyport::proxy
