#include "proxy/task/decision.h"

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

}  // namespace sallyport::proxy
