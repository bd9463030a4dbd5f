// Finding: a rule that a call broke. Small; the message is made when somebody asks for it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tessera/error.h"
#include "tessera/layers/rule.h"
#include "tessera/live_objects.h"

namespace tessera {

struct Finding {
  RuleId rule = RuleId::none;
  Call call = Call::none;                    // none: found by check_leaks
  std::uint64_t call_number = 0;             // from 1, of the calls that the layer saw
  CallSite site = {};                        // of the call, where one was announced
  std::array<std::uint64_t, 3> values = {};  // that the rule's text names
  MadeBy object = {};                        // what it is about: the call that made it, or ended it
  // What the driver answered; zero: OK, or the call was not made.
  ErrorCode answer = {};
  bool was_refused = false;  // by the layer, in refuse mode: the driver was not called
};

// "call 7, mem_map at pool.cpp:31: rule map_over_mapping (405): 2 MiB (2097152) are mapped at 0x..
// already, by call 5 (mem_map, pool.cpp:29). The driver refuses it (INVALID_VALUE). Instead: unmap
// what is there, or map elsewhere."
[[nodiscard]] std::string to_string(const Finding& finding);

}  // namespace tessera
