#include "tessera/call_site.h"

namespace tessera {
namespace {

// constinit: no guard is checked at each use.
constinit thread_local CallSite announced = {};

}  // namespace

CallSiteScope::CallSiteScope(CallSite site) noexcept : outermost_(!announced.is_known()) {
  if (outermost_) {
    announced = site;
  }
}

CallSiteScope::~CallSiteScope() {
  if (outermost_) {
    announced = {};
  }
}

CallSite announced_call_site() noexcept { return announced; }

}  // namespace tessera
