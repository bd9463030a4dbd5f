// Reservation: owns a range of addresses. They are given back when the reservation and all mappings
// in it are gone, with the base and the size that the driver gave, by whoever goes last.
#pragma once

#include <memory>
#include <optional>

#include "tessera/address.h"
#include "tessera/call_site.h"
#include "tessera/owners/memory_options.h"
#include "tessera/owners/undo_failure.h"

namespace tessera {

namespace detail {
class ReservationState;
}

struct ReservationOptions {
  Bytes size;  // rounded up, once
  // What will be mapped there: its granularity is what the size is rounded up to.
  MemoryOptions memory = {};
  // That granularity where it is known already: saves asking.
  Bytes granularity = {};
  Bytes alignment = {};     // 0 or a power of two
  DeviceAddress hint = {};  // a wish, often not granted [h200]: look at `base`
};

class Reservation {
 public:
  // ERRORS: invalid_value; out_of_memory: of address space, which is another budget than memory
  // (Reason::out_of_addresses).
  [[nodiscard]] static Result<Reservation> make(DriverUse use, const ReservationOptions& options,
                                                CallSite site = CallSite::here());
  // The size wanted, or where addresses lack a half of it, a quarter and so on down to `least`.
  [[nodiscard]] static Result<Reservation> make_at_most(DriverUse use,
                                                        const ReservationOptions& options,
                                                        Bytes least,
                                                        CallSite site = CallSite::here());

  Reservation(Reservation&&) noexcept = default;
  // Closes what it held; a failure goes to the sink.
  Reservation& operator=(Reservation&&) noexcept = default;
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation() = default;

  // False once closed or moved from; nothing below is to be asked then (checked).
  [[nodiscard]] bool is_open() const noexcept { return state_ != nullptr; }
  [[nodiscard]] AddressRange range() const noexcept;
  [[nodiscard]] DeviceAddress base() const noexcept { return range().begin(); }
  [[nodiscard]] Bytes size() const noexcept { return range().size(); }
  [[nodiscard]] Bytes granularity() const noexcept;
  [[nodiscard]] Driver& driver() const noexcept;
  // Whether a mapping in it could not be unmapped and went to the sink: something is in the way.
  [[nodiscard]] bool has_leftovers() const noexcept;

  // Gives the addresses back, unless mappings are in it: then the last of those does. Again is
  // harmless. After an error it is still open, and close may be tried again.
  Status close();

 private:
  friend class Mapping;
  explicit Reservation(std::shared_ptr<detail::ReservationState> state) noexcept;

  std::shared_ptr<detail::ReservationState> state_;
};

}  // namespace tessera
