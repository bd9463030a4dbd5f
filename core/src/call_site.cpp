#include "tessera/call_site.h"

namespace tessera::detail {

constinit thread_local CallSite announced_site = {};

}  // namespace tessera::detail
