// CallSet: a set of driver calls.
#pragma once

#include <bitset>
#include <cstddef>
#include <initializer_list>

#include "tessera/error.h"

namespace tessera {

class CallSet {
 public:
  CallSet() = default;  // empty
  CallSet(std::initializer_list<Call> calls) {
    for (const Call call : calls) {
      add(call);
    }
  }

  void add(Call call) { bits_.set(static_cast<std::size_t>(call)); }
  void remove(Call call) { bits_.reset(static_cast<std::size_t>(call)); }
  [[nodiscard]] bool contains(Call call) const noexcept {
    return bits_[static_cast<std::size_t>(call)];
  }
  [[nodiscard]] bool is_empty() const noexcept { return bits_.none(); }

  friend bool operator==(const CallSet&, const CallSet&) = default;

 private:
  std::bitset<call_count> bits_;
};

// The calls that give something back. With valid arguments a healthy driver does not fail them, and
// a program has nothing left to try when they do.
[[nodiscard]] inline CallSet undo_calls() {
  return {Call::device_primary_ctx_release,
          Call::ctx_destroy,
          Call::mem_address_free,
          Call::mem_release,
          Call::mem_unmap,
          Call::mem_free,
          Call::mem_free_async,
          Call::mem_free_host,
          Call::stream_destroy,
          Call::event_destroy,
          Call::multicast_unbind};
}

}  // namespace tessera
