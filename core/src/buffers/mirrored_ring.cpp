#include "tessera/buffers/mirrored_ring.h"

#include <utility>

#include "buffers/buffer_access.h"
#include "owners/primary_context.h"
#include "tessera/owners/transaction.h"

namespace tessera {

MirroredRing::MirroredRing(const AccessSet& access, Reservation reservation,
                           Mapping mirror) noexcept
    : access_(access), reservation_(std::move(reservation)), mirror_(std::move(mirror)) {}

Result<MirroredRing> MirroredRing::make(DriverUse use, const MirroredRingOptions& options,
                                        CallSite site) {
  TESSERA_TRY_ASSIGN(const AccessSet access,
                     detail::checked_access(*use.driver, options.memory, options.access));
  TESSERA_TRY_ASSIGN(const Bytes granularity, granularity_of(*use.driver, options.memory));
  TESSERA_TRY_ASSIGN(const Bytes capacity, rounded_size(options.capacity, granularity));
  const std::optional<Bytes> both = checked_multiply(capacity, 2);
  if (!both) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::size_beyond_all,
                 .values = {options.capacity.value()}};
  }
  Transaction transaction(use, site);
  TESSERA_TRY_ASSIGN(const Reservation* reservation,
                     transaction.reserve({.size = *both, .granularity = granularity}));
  TESSERA_TRY_ASSIGN(
      const PhysicalAllocation* memory,
      transaction.create({.size = capacity, .memory = options.memory, .granularity = granularity}));
  TESSERA_TRY(transaction.map(*reservation, Bytes(), *memory));
  TESSERA_TRY(transaction.map(*reservation, capacity, *memory));
  TESSERA_TRY(transaction.grant(reservation->range(), access));

  Transaction::Made made = transaction.commit();
  MirroredRing ring(access, std::move(made.reservations.front()), std::move(made.mappings[1]));
  ring.row_.append(std::move(made.allocations.front()), std::move(made.mappings[0]));
  return ring;
}

MirroredRing& MirroredRing::operator=(MirroredRing&& other) noexcept {
  if (this != &other) {
    abandon();
    access_ = other.access_;
    mirror_ = std::move(other.mirror_);
    row_ = std::move(other.row_);
    reservation_ = std::move(other.reservation_);
  }
  return *this;
}

MirroredRing::~MirroredRing() { abandon(); }

Result<AddressRange> MirroredRing::window(std::uint64_t position, Bytes size) const {
  if (!is_open()) {
    return detail::buffer_is_closed();
  }
  if (size > capacity()) {
    return Error{.code = ErrorCode::invalid_value,
                 .reason = Reason::window_too_large,
                 .values = {size.value(), capacity().value()}};
  }
  return AddressRange(address_at(position), size);
}

Status MirroredRing::close_all() {
  TESSERA_TRY(mirror_.close(Quiescence::promised()));
  TESSERA_TRY(row_.shorten_to(0));
  return reservation_.close();
}

Status MirroredRing::close(Quiescence proof) {
  if (!is_open()) {
    return {};
  }
  TESSERA_TRY(proof.check_covers(row_.device_bits()));
  return close_all();
}

void MirroredRing::abandon() noexcept {
  if (is_open() && detail::wait_for_devices(reservation_.driver(), access_.device_bits())) {
    // What fails is tried again, and reported, by the owners' destructors.
    static_cast<void>(close_all());
  }
}

}  // namespace tessera
