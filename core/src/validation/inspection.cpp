#include "validation/inspection.h"

namespace tessera::validation {

bool Inspection::device_exists(DeviceOrdinal device) {
  const auto count = facts.device_count();
  if (!count || (device.value() >= 0 && device.value() < *count)) {
    return true;
  }
  return report(RuleId::device_unknown, {number(device.value()), number(*count)});
}

bool Inspection::size_fits(RuleId rule, Bytes size) {
  const Bytes granularity = facts.granularity();
  if (granularity.is_zero() || (!size.is_zero() && is_aligned(size, granularity))) {
    return true;
  }
  const Bytes next =
      size.is_zero() ? granularity : checked_align_up(size, granularity).value_or(granularity);
  return report(rule, {size.value(), granularity.value(), next.value()});
}

std::optional<AddressRange> Inspection::range_of(DeviceAddress address, Bytes size) {
  const auto range = AddressRange::make(address, size);
  if (!range) {
    report(RuleId::range_wraps, {address.value(), size.value()});
  }
  return range;
}

const LiveReservation* Inspection::reservation_at(RuleId rule, DeviceAddress address) {
  if (const LiveReservation* found = objects.reservation_at(address)) {
    return found;
  }
  if (const LiveReservation* moved = objects.reservation_with_hint(address)) {
    report(RuleId::uses_refused_hint, {address.value(), moved->range.begin().value()}, moved->made);
    return nullptr;
  }
  const DeadObject* freed = objects.dead(DeadKind::reservation, address.value());
  report(rule, {address.value()}, freed != nullptr ? freed->ended : MadeBy());
  return nullptr;
}

const LiveHandle* Inspection::usable(AllocationHandle handle, Wants wants) {
  if (handle.is_null()) {
    report(RuleId::null_handle);
    return nullptr;
  }
  const LiveHandle* found = objects.handle(handle);
  if (found == nullptr) {
    if (const DeadObject* gone = objects.dead(DeadKind::handle, handle.value())) {
      report(RuleId::stale_handle, {handle.value()}, gone->ended);
    } else {
      report(RuleId::unknown_handle, {handle.value()});
    }
    return nullptr;
  }
  const bool is_multicast = objects.memory(found->memory).is_multicast;
  if (wants != Wants::either && is_multicast != (wants == Wants::multicast)) {
    report(is_multicast ? RuleId::handle_is_multicast : RuleId::not_multicast, {handle.value()},
           found->made);
    return nullptr;
  }
  if (found->references() == 0) {
    report(RuleId::use_after_release, {handle.value(), found->mappings}, found->made);
  }
  return found;
}

std::optional<DeviceAddress> Inspection::first_unknown(AddressRange range) const {
  DeviceAddress next = range.begin();
  while (next < range.end()) {
    if (const LiveMapping* mapping = objects.mapping_at(next)) {
      next = mapping->range.end();
    } else if (const LiveAllocation* other = objects.allocation_at(next)) {
      next = other->range.end();
    } else {
      return next;
    }
  }
  return std::nullopt;
}

std::optional<DeviceOrdinal> Inspection::device_of(ContextHandle context) const {
  const LiveContext* found = objects.context(context);
  return found == nullptr ? std::nullopt : std::optional(found->device);
}

}  // namespace tessera::validation
