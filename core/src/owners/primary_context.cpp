#include "owners/primary_context.h"

#include <bit>

namespace tessera::detail {

Status PrimaryContextScope::enter(DeviceOrdinal device) {
  device_ = device;
  TESSERA_TRY_ASSIGN(before_, driver_.ctx_get_current());
  TESSERA_TRY_ASSIGN(const ContextHandle primary, driver_.device_primary_ctx_retain(device));
  retained_ = true;
  TESSERA_TRY(driver_.ctx_set_current(primary));
  current_ = true;
  return {};
}

Status PrimaryContextScope::leave() {
  Status first;
  if (current_) {
    current_ = false;
    first = driver_.ctx_set_current(before_);
    if (!first) {
      // Once more: the thread's later work would go to the wrong device.
      static_cast<void>(driver_.ctx_set_current(before_));
    }
  }
  if (retained_) {
    retained_ = false;
    const Status released = driver_.device_primary_ctx_release(device_);
    if (first) {
      first = released;
    }
  }
  return first;
}

Status synchronize_primary_context(Driver& driver, DeviceOrdinal device) {
  PrimaryContextScope scope(driver);
  const Status entered = scope.enter(device);
  if (!entered) {
    // A context that is there is retained without memory. So this one is not, and has no work.
    const bool is_not_there = entered.error().code == ErrorCode::out_of_memory &&
                              entered.error().call == Call::device_primary_ctx_retain;
    return is_not_there ? Status() : entered;
  }
  TESSERA_TRY(driver.ctx_synchronize());
  return scope.leave();
}

Status wait_for_devices(Driver& driver, std::uint64_t device_bits) noexcept {
  Status first;
  for (; device_bits != 0; device_bits &= device_bits - 1) {
    const DeviceOrdinal device(std::countr_zero(device_bits));
    const Status waited = synchronize_primary_context(driver, device);
    const bool is_lost = !waited && means_contexts_lost(waited.error().code);
    if (first && !is_lost) {
      first = waited;
    }
  }
  return first;
}

}  // namespace tessera::detail
