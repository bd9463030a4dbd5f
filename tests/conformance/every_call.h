// Each call of Driver once, with arguments that do no harm: for answers that do not depend on them
// (before init, in a forked child, without a context, in a lost one).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/driver.h"

namespace tessera::conformance {

enum class Need {
  nothing,    // answers before init
  init,       // answers without a context
  context,    // needs a current context, whatever else
  own,        // what it names counts first, with a context or without
  multicast,  // needs none, and is never made on a real machine
};

struct EveryCall {
  Call call;
  Need need;
  // The error's code; nothing when it was OK.
  std::optional<ErrorCode> (*make)(Driver& driver);
};

// One entry a call, all but init. What is named in them (handles, addresses) does not exist.
[[nodiscard]] const std::vector<EveryCall>& every_call();

// Those calls with that need whose answer is not `expected`, as "mem_map: OK".
[[nodiscard]] std::vector<std::string> calls_that_differ(Driver& driver, Need need,
                                                         ErrorCode expected);

}  // namespace tessera::conformance
