#include "tessera/owners/mapping.h"

#include <utility>
#include <vector>

#include "owners/grant_over.h"
#include "owners/primary_context.h"
#include "owners/states.h"

namespace tessera {

Mapping::Mapping(std::shared_ptr<detail::ReservationState> reservation,
                 std::shared_ptr<detail::PhysicalState> memory, AddressRange range,
                 CallSite site) noexcept
    : reservation_(std::move(reservation)),
      memory_(std::move(memory)),
      range_(range),
      site_(site),
      mapped_(true) {}

Result<Mapping> Mapping::map(const Reservation& reservation, Bytes offset,
                             const PhysicalAllocation& memory, CallSite site) {
  TESSERA_CHECK(reservation.is_open() && memory.is_open());
  const detail::ReservationState& place = *reservation.state_;
  const detail::PhysicalState& what = *memory.state_;
  TESSERA_CHECK(&place.driver() == &what.driver());
  const CallSiteScope scope(site);
  const Bytes size = what.size();
  const Bytes room = place.range().size();
  // A driver looks at the begin alone, and maps past the end [h200].
  if (offset > room || size > room - offset) [[unlikely]] {
    return Error{.code = ErrorCode::invalid_value,
                 .call = Call::mem_map,
                 .reason = Reason::outside_reservation,
                 .values = {size.value(), offset.value(), room.value()}};
  }
  const AddressRange range(place.range().begin() + offset, size);
  TESSERA_TRY(
      place.driver().mem_map({.address = range.begin(), .size = size, .handle = what.handle()}));
  return Mapping(reservation.state_, memory.state_, range, site);
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    abandon();
    reservation_ = std::move(other.reservation_);
    memory_ = std::move(other.memory_);
    range_ = other.range_;
    access_ = other.access_;
    site_ = other.site_;
    mapped_ = other.mapped_;
  }
  return *this;
}

AllocationHandle Mapping::memory_handle() const noexcept {
  TESSERA_CHECK(memory_ != nullptr);
  return memory_->handle();
}

Location Mapping::memory_location() const noexcept {
  TESSERA_CHECK(memory_ != nullptr);
  return memory_->asked().location;
}

Driver& Mapping::driver() const noexcept {
  TESSERA_CHECK(is_open());
  return reservation_->driver();
}

Status Mapping::grant(const AccessSet& access) {
  if (access.is_empty()) {
    return {};
  }
  TESSERA_TRY(detail::grant_over(driver(), std::span(&range_, 1), access_, access));
  note_access(access);
  return {};
}

Status Mapping::revoke(const AccessSet& access, Quiescence proof) {
  const AccessSet there = access_.without(access_.without(access));
  if (there.is_empty()) {
    return {};
  }
  TESSERA_TRY(proof.check_covers(there.device_bits()));
  const std::vector<AccessDescriptor> descriptors = there.revoking_descriptors();
  TESSERA_TRY(driver().mem_set_access(
      {.address = range_.begin(), .size = range_.size(), .descriptors = descriptors}));
  access_ = access_.without(access);
  return {};
}

Status Mapping::close(Quiescence proof) {
  if (!is_open()) {
    return {};
  }
  if (mapped_) {
    TESSERA_TRY(proof.check_covers(access_.device_bits()));
    TESSERA_TRY(driver().mem_unmap({.address = range_.begin(), .size = range_.size()}));
    mapped_ = false;
  }
  TESSERA_TRY(detail::give_up(memory_));
  return detail::give_up(reservation_);
}

void Mapping::abandon() noexcept {
  if (!is_open()) {
    return;
  }
  if (mapped_) {
    const UnmapRequest unmap = {.address = range_.begin(), .size = range_.size()};
    const Status idle = detail::wait_for_devices(driver(), access_.device_bits());
    const Status done = idle ? driver().mem_unmap(unmap) : idle;
    if (!done) {
      const DriverUse& use = reservation_->use();
      use.sink->undo_failed(
          {.error = done.error(), .driver = use.driver, .step = unmap, .made_at = site_});
      reservation_->leave_behind(done.error());
    }
  }
  // Their destructors report what they cannot give back, in the order in which it can be retried.
  memory_.reset();
  reservation_.reset();
}

}  // namespace tessera
