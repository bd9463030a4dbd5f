#include "owners/states.h"

namespace tessera::detail {

Status ReservationState::close() {
  if (open_ && leftover_) {
    open_ = false;
    report(*leftover_);
  }
  if (open_) {
    TESSERA_TRY(driver().mem_address_free({.address = range_.begin(), .size = range_.size()}));
    open_ = false;
  }
  return {};
}

void ReservationState::report(const Status& status) noexcept {
  if (!status) {
    use_.sink->undo_failed(
        {.error = status.error(),
         .driver = use_.driver,
         .step = AddressFreeRequest{.address = range_.begin(), .size = range_.size()},
         .made_at = site_});
  }
}

Status PhysicalState::close() {
  if (open_ && leftover_) {
    open_ = false;
    report(*leftover_);
  }
  if (open_) {
    TESSERA_TRY(driver().mem_release(handle_));
    open_ = false;
  }
  return {};
}

void PhysicalState::report(const Status& status) noexcept {
  if (!status) {
    use_.sink->undo_failed(
        {.error = status.error(), .driver = use_.driver, .step = handle_, .made_at = site_});
  }
}

}  // namespace tessera::detail
