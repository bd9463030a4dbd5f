#include "tessera/owners/reservation.h"

#include <utility>

#include "owners/states.h"
#include "owners/with_reason.h"

namespace tessera {
Reservation::Reservation(std::shared_ptr<detail::ReservationState> state) noexcept
    : state_(std::move(state)) {}

Result<Reservation> Reservation::make(DriverUse use, const ReservationOptions& options,
                                      CallSite site) {
  return make_at_most(use, options, options.size, site);
}

Result<Reservation> Reservation::make_at_most(DriverUse use, const ReservationOptions& options,
                                              Bytes least, CallSite site) {
  const CallSiteScope scope(site);
  Bytes granularity = options.granularity;
  if (granularity.is_zero()) {
    TESSERA_TRY_ASSIGN(granularity, granularity_of(*use.driver, options.memory));
  }
  TESSERA_TRY_ASSIGN(Bytes size, rounded_size(options.size, granularity));
  TESSERA_TRY_ASSIGN(const Bytes least_size, rounded_size(least, granularity));
  for (;;) {
    const auto base = use.driver->mem_address_reserve(
        {.size = size, .alignment = options.alignment, .hint = options.hint});
    if (base) {
      return Reservation(detail::make_state<detail::ReservationState>(
          use, AddressRange(*base, size), granularity, site));
    }
    const Bytes half = align_up(Bytes(size.value() / 2), granularity);
    if (base.error().code != ErrorCode::out_of_memory || half < least_size || half == size) {
      return detail::with_reason(base.error(), Reason::out_of_address_space, {size.value()});
    }
    size = half;
  }
}

AddressRange Reservation::range() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->range();
}

Bytes Reservation::granularity() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->granularity();
}

Driver& Reservation::driver() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->driver();
}

bool Reservation::has_leftovers() const noexcept {
  TESSERA_CHECK(is_open());
  return state_->has_leftovers();
}

Status Reservation::close() { return detail::give_up(state_); }

}  // namespace tessera
