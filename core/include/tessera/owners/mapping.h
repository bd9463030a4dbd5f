// Mapping: owns memory mapped at a place in a reservation, and keeps both of them alive.
#pragma once

#include <memory>

#include "tessera/address.h"
#include "tessera/call_site.h"
#include "tessera/owners/access_set.h"
#include "tessera/owners/physical_allocation.h"
#include "tessera/owners/quiescence.h"
#include "tessera/owners/reservation.h"

namespace tessera {

class Mapping {
 public:
  // Maps all of `memory` at `offset` from the reservation's base. Nobody has access yet. Both may
  // be closed at once: the mapping holds what it needs of them. They are of one driver (checked).
  // ERRORS: invalid_value (not inside the reservation, not on its granularity, something is mapped
  // there), out_of_memory.
  [[nodiscard]] static Result<Mapping> map(const Reservation& reservation, Bytes offset,
                                           const PhysicalAllocation& memory,
                                           CallSite site = CallSite::here());

  Mapping(Mapping&& other) noexcept = default;
  // Closes what it held as the destructor does.
  Mapping& operator=(Mapping&& other) noexcept;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  // Where a device has access, first waits for the work of its primary context: a net below those
  // who forgot `close`, which is quicker. Failures go to the sink; where waiting failed, so that
  // work may still run, unmapping is left to it.
  ~Mapping() {
    if (is_open()) {
      abandon();
    }
  }

  [[nodiscard]] bool is_open() const noexcept { return reservation_ != nullptr; }
  [[nodiscard]] AddressRange range() const noexcept { return range_; }
  [[nodiscard]] DeviceAddress begin() const noexcept { return range_.begin(); }
  [[nodiscard]] Bytes size() const noexcept { return range_.size(); }
  [[nodiscard]] AllocationHandle memory_handle() const noexcept;
  [[nodiscard]] Location memory_location() const noexcept;
  [[nodiscard]] Driver& driver() const noexcept;
  // Who was given access through this owner.
  [[nodiscard]] const AccessSet& access() const noexcept { return access_; }

  // Gives access, beside what others have; one call. ERRORS: those of mem_set_access; some of the
  // locations may then have got it: it is taken away again [h200: descriptors apply in order].
  // `grant` (peers.h) says first which pair of devices cannot reach each other.
  Status grant(const AccessSet& access);
  // Takes access away; work that uses it must be done. Locations without access are passed over.
  Status revoke(const AccessSet& access, Quiescence proof);
  // As the buffers do, for several mappings at once: access was set over a range around this one.
  void note_access(const AccessSet& access) noexcept {
    access_ = access_.is_empty() ? access : access_.joined_with(access);
  }

  // Unmaps, and gives back the reservation and the memory if this was the last to hold them: the
  // first error of these. `proof` covers all devices with access. Again is harmless. After an error
  // it is still open, with whatever is left to be undone, and close may be tried again.
  Status close(Quiescence proof);

 private:
  Mapping(std::shared_ptr<detail::ReservationState> reservation,
          std::shared_ptr<detail::PhysicalState> memory, AddressRange range,
          CallSite site) noexcept;

  void abandon() noexcept;

  std::shared_ptr<detail::ReservationState> reservation_;
  std::shared_ptr<detail::PhysicalState> memory_;
  AddressRange range_;
  AccessSet access_;
  CallSite site_;
  bool mapped_ = false;  // false while closing, once the driver has unmapped it
};

}  // namespace tessera
