#include "owners/states.h"

namespace tessera::detail {

void ReservationState::report(const Status& status) noexcept {
  if (!status) {
    use_.sink->undo_failed(
        {.error = status.error(),
         .driver = use_.driver,
         .step = AddressFreeRequest{.address = range_.begin(), .size = range_.size()},
         .made_at = site_});
  }
}

void PhysicalState::report(const Status& status) noexcept {
  if (!status) {
    use_.sink->undo_failed(
        {.error = status.error(), .driver = use_.driver, .step = handle_, .made_at = site_});
  }
}

}  // namespace tessera::detail
