#include "machine.h"

namespace tessera::sim {
namespace {

// The widest address space of any device has 57 bits; more is refused, not looked for [h200].
constexpr Bytes alignment_max(1ULL << 57U);

}  // namespace

Result<Bytes> Machine::mem_get_allocation_granularity(const GranularityRequest& request) {
  if (has_any(request.null_pointers, NullPointers::output | NullPointers::properties)) {
    return invalid(Reason::null_pointer);
  }
  switch (request.option) {
    case GranularityOption::minimum:
      return profile_.granularity_minimum;
    case GranularityOption::recommended:
      return profile_.granularity_recommended;
  }
  return invalid(Reason::unknown_granularity_option, static_cast<std::uint64_t>(request.option));
}

Result<DeviceAddress> Machine::mem_address_reserve(const ReserveRequest& request) {
  const Bytes granularity = profile_.reservation_granularity;
  if (has_any(request.null_pointers, NullPointers::output)) {
    return invalid(Reason::null_pointer);
  }
  if (request.flags != 0) {
    return invalid(Reason::flags_not_zero, request.flags);
  }
  TESSERA_TRY(check_size(request.size, granularity));
  if (!is_aligned(request.hint, granularity)) {
    return invalid(Reason::hint_not_aligned, request.hint.value(), granularity.value());
  }
  if (!request.alignment.is_zero() && !is_power_of_two(request.alignment)) {
    return invalid(Reason::alignment_not_power_of_two, request.alignment.value());
  }
  if (request.alignment > alignment_max) {
    return invalid(Reason::alignment_too_large, request.alignment.value(), alignment_max.value());
  }
  if (!request.alignment.is_zero() && !is_aligned(request.hint, request.alignment)) {
    return invalid(Reason::hint_not_aligned, request.hint.value(), request.alignment.value());
  }
  const std::uint64_t limit = space_.address_limit();
  if (request.hint.value() >= limit) {
    return refuse(ErrorCode::out_of_memory, Reason::hint_beyond_addresses, request.hint.value(),
                  limit);
  }
  const auto address = space_.reserve(request.size, request.alignment, request.hint);
  if (!address) {
    return refuse(ErrorCode::out_of_memory, Reason::out_of_addresses, request.size.value(),
                  space_.reserved().value(), request.alignment.value());
  }
  return *address;
}

Status Machine::mem_address_free(const AddressFreeRequest& request) {
  const auto reservation = space_.reservation_at(request.address);
  if (!reservation) {
    return invalid(Reason::not_reserved, request.address.value());
  }
  if (reservation->begin() != request.address || reservation->size() != request.size) {
    return invalid(Reason::not_whole_reservation, request.size.value(),
                   reservation->begin().value(), reservation->size().value());
  }
  if (space_.has_block_in(*reservation)) {
    if (profile_.quirks.address_free_refuses_mapped) {
      const auto block = space_.block_at(reservation->begin());
      const auto mapped = block ? block : space_.block_from(reservation->begin());
      return invalid(Reason::still_mapped, mapped->range.begin().value(),
                     mapped->range.size().value());
    }
    if (space_.cuts_block(*reservation)) {
      return invalid(Reason::cuts_mapping, reservation->begin().value(),
                     reservation->size().value());
    }
    unmap_inside(*reservation);
  }
  space_.free_reservation(*reservation);
  return {};
}

}  // namespace tessera::sim
