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
  TESSERA_TRY(scope.enter(device));
  TESSERA_TRY(driver.ctx_synchronize());
  return scope.leave();
}

Status wait_for_devices(Driver& driver, std::uint64_t device_bits) noexcept {
  Status first;
  for (; device_bits != 0; device_bits &= device_bits - 1) {
    const DeviceOrdinal device(std::countr_zero(device_bits));
    const Status waited = synchronize_primary_context(driver, device);
    const bool shows_no_work = !waited && (waited.error().code == ErrorCode::illegal_address ||
                                           waited.error().code == ErrorCode::out_of_memory);
    if (first && !shows_no_work) {
      first = waited;
    }
  }
  return first;
}

}  // namespace tessera::detail
