#include "support/owner_sweep.h"

#include <array>
#include <vector>

namespace tessera::test {

std::span<const ErrorCode> healthy_errors(Call call) {
  static const auto all = [] {
    std::array<std::vector<ErrorCode>, call_count> lists;
    for (std::size_t i = 0; i < call_count; ++i) {
      for (const ErrorCode error : call_errors(static_cast<Call>(i))) {
        const bool is_so = error != ErrorCode::illegal_address &&
                           !(error == ErrorCode::out_of_memory &&
                             static_cast<Call>(i) == Call::device_primary_ctx_retain);
        if (is_so) {
          lists[i].push_back(error);
        }
      }
    }
    return lists;
  }();
  return all[static_cast<std::size_t>(call)];
}

}  // namespace tessera::test
