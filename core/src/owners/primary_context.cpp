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

void wait_for_devices(Driver& driver, std::uint64_t device_bits) noexcept {
  for (; device_bits != 0; device_bits &= device_bits - 1) {
    const DeviceOrdinal device(std::countr_zero(device_bits));
    static_cast<void>(synchronize_primary_context(driver, device));
  }
}

}  // namespace tessera::detail
