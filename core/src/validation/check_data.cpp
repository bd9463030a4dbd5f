// Copies, fills and kernels: what they touch is there, and the device has access.
#include "validation/checks.h"
#include "validation/cpu_copies.h"

namespace tessera::validation {
namespace {

// A part of memory that a call touches.
struct Touched {
  DeviceAddress address;
  Bytes size;
  AccessFlags needed;
  CpuReach reach = CpuReach::none;
  bool is_by_cpu = false;
};

bool allows(AccessFlags granted, AccessFlags needed) noexcept {
  const auto bits = number_of(needed);
  return (number_of(granted) & bits) == bits;
}

// The program may have made another context current where the layer doesn't see it.
bool is_still_current(Inspection& look, StreamHandle stream) {
  return !is_implicit(stream) || look.facts.current_context() == look.objects.current_context();
}

// Whether the real driver ends the process where it refuses such a copy under a current context.
bool crashes_for_want_of_context(Inspection& look) {
  return look.by.call == Call::memcpy_dtod_async && look.facts.current_context() == ContextHandle();
}

bool check_mapping(Inspection& look, const LiveMapping& mapping, DeviceAddress at,
                   AccessFlags needed, StreamHandle stream) {
  const bool is_kernel = look.by.call == Call::launch_touch;
  if (mapping.memory != no_memory && look.objects.memory(mapping.memory).is_multicast &&
      needed == AccessFlags::read) {
    return look.report(is_kernel ? RuleId::launch_multicast_read : RuleId::multicast_read,
                       {at.value()}, mapping.made);
  }
  const auto context = look.objects.context_of(stream);
  const auto device = context ? look.device_of(*context) : std::nullopt;
  if (!device || mapping.is_unknown(*device) || allows(mapping.access_of(*device), needed) ||
      !is_still_current(look, stream)) {
    return true;
  }
  if (crashes_for_want_of_context(look)) {
    return look.report(RuleId::copy_without_context, {at.value()}, mapping.made);
  }
  return look.report(is_kernel ? RuleId::launch_no_access : RuleId::copy_no_access,
                     {at.value(), number(device->value()), number_of(mapping.access_of(*device))},
                     mapping.made);
}

// Nothing is known to be there: false where that is because it is gone or never was mapped, true
// where it may be memory that came another way.
bool check_nothing_there(Inspection& look, AddressRange range, DeviceAddress at) {
  const bool is_reserved = look.objects.reservation_at(at) != nullptr;
  const bool is_launch = look.by.call == Call::launch_touch;
  // Outside of reservations it may be memory that came another way: a copy's answer tells; for a
  // kernel, that it was freed is all there is to go by.
  const DeadObject* gone =
      look.objects.dead(is_reserved ? DeadKind::mapping : DeadKind::reservation, at.value());
  if (gone == nullptr && is_launch && !is_reserved) {
    gone = look.objects.dead(DeadKind::allocation, at.value());
  }
  if (!is_reserved && !(is_launch && (gone != nullptr || at.is_null()))) {
    return true;
  }
  const MadeBy ended = gone != nullptr ? gone->ended : MadeBy();
  if (is_launch) {
    return look.report(RuleId::launch_not_mapped, {at.value()}, ended);
  }
  if (crashes_for_want_of_context(look)) {
    return look.report(RuleId::copy_without_context, {at.value()}, ended);
  }
  const bool is_copy = look.by.call != Call::mem_get_handle_for_address_range;
  return look.report(is_copy ? RuleId::copy_not_mapped : RuleId::range_handle_not_mapped,
                     {range.begin().value(), range.size().value(), at.value()}, ended);
}

// Whether the CPU can touch all of it: if not, the process crashes.
bool check_for_cpu(Inspection& look, AddressRange range, AccessFlags needed) {
  DeviceAddress next = range.begin();
  while (next < range.end()) {
    const LiveMapping* mapping = look.objects.mapping_at(next);
    const LiveAllocation* other = look.objects.allocation_at(next);
    const bool is_open = mapping != nullptr
                             ? mapping->is_host_unknown || allows(mapping->host, needed)
                             : other != nullptr && other->kind == OtherMemory::host;
    if (!is_open) {
      const AccessFlags host = mapping != nullptr ? mapping->host : AccessFlags::none;
      return look.report(RuleId::copy_no_access_on_host,
                         {next.value(), range.begin().value(), number_of(host)},
                         mapping != nullptr ? mapping->made : MadeBy());
    }
    next = mapping != nullptr ? mapping->range.end() : other->range.end();
  }
  return true;
}

bool check_touched(Inspection& look, const Touched& touched, StreamHandle stream) {
  const auto range = look.range_of(touched.address, touched.size);
  if (!range || range->is_empty()) {
    return range.has_value();
  }
  if (touched.is_by_cpu && touched.reach == CpuReach::alone) {
    return check_for_cpu(look, *range, touched.needed);
  }
  DeviceAddress next = range->begin();
  while (next < range->end()) {
    if (const LiveMapping* mapping = look.objects.mapping_at(next)) {
      if (!check_mapping(look, *mapping, next, touched.needed, stream)) {
        return false;
      }
      next = mapping->range.end();
    } else if (const LiveAllocation* other = look.objects.allocation_at(next)) {
      if (touched.needed != AccessFlags::none) {
        is_allocated_in_order(look, *other, stream);
      }
      next = other->range.end();
    } else {
      return check_nothing_there(look, *range, next);
    }
  }
  const LiveReservation* reservation = look.objects.reservation_at(range->begin());
  if (reservation != nullptr && reservation->range.end() < range->end()) {
    look.report(RuleId::copy_crosses_reservations,
                {range->begin().value(), range->size().value(), reservation->range.end().value()},
                reservation->made);
  }
  return !touched.is_by_cpu || check_for_cpu(look, *range, touched.needed);
}

bool is_in_current_context(Inspection& look, StreamHandle stream) {
  const LiveOrder* made = look.objects.stream(stream);
  if (made == nullptr || made->context.is_null() ||
      look.objects.current_context() == made->context) {
    return true;
  }
  const auto current = look.facts.current_context();
  if (!current || *current == made->context) {
    return true;
  }
  return look.report(RuleId::launch_in_other_context,
                     {stream.value(), made->context.value(), current->value()}, made->made);
}

Touched written(DeviceAddress address, Bytes size) {
  return {address, size, AccessFlags::read_write};
}
Touched was_read(DeviceAddress address, Bytes size) { return {address, size, AccessFlags::read}; }

bool check_host_memory(Inspection& look, std::span<const std::byte> memory) {
  return look.holds(memory.data() != nullptr || memory.empty(), RuleId::null_pointer);
}

// How far the CPU reaches, where the layer knows who copies.
CpuReach reach_of(Inspection& look, const Touched& side, StreamHandle stream) {
  const auto range = AddressRange::make(side.address, side.size);
  const auto context = look.objects.context_of(stream);
  if (!range || !context) {
    return CpuReach::none;
  }
  const CpuReach reach = cpu_reach(look.objects, *range, *context);
  return reach == CpuReach::none || is_still_current(look, stream) ? reach : CpuReach::none;
}

void check_htod(Inspection& look, const MemcpyHtodRequest& copy, StreamHandle stream) {
  if (check_host_memory(look, copy.source)) {
    Touched to = written(copy.destination, Bytes(copy.source.size()));
    to.reach = reach_of(look, to, stream);
    to.is_by_cpu = copied_by_cpu(to.reach, CpuReach::alone).destination;
    check_touched(look, to, stream);
  }
}
void check_dtoh(Inspection& look, const MemcpyDtohRequest& copy, StreamHandle stream) {
  if (check_host_memory(look, copy.destination)) {
    Touched from = was_read(copy.source, Bytes(copy.destination.size()));
    from.reach = reach_of(look, from, stream);
    from.is_by_cpu = copied_by_cpu(CpuReach::alone, from.reach).source;
    check_touched(look, from, stream);
  }
}
void check_dtod(Inspection& look, const MemcpyDtodRequest& copy, StreamHandle stream) {
  Touched to = written(copy.destination, copy.size);
  Touched from = was_read(copy.source, copy.size);
  to.reach = reach_of(look, to, stream);
  from.reach = reach_of(look, from, stream);
  const CopiedByCpu by_cpu = copied_by_cpu(to.reach, from.reach);
  to.is_by_cpu = by_cpu.destination;
  from.is_by_cpu = by_cpu.source || may_be_read_by_cpu(look.objects, copy, from.reach);
  if (check_touched(look, to, stream)) {
    check_touched(look, from, stream);
  }
}

// What lies where the layer knows nothing, the driver knows; and who has access, where the layer
// does not know that.
void check_copied(Inspection& look, DeviceAddress address, Bytes size, const Status& answer,
                  StreamHandle stream = {}) {
  const auto range = AddressRange::make(address, size);
  if (answer.error().code != ErrorCode::invalid_value || !range) {
    return;
  }
  if (const auto unknown = look.first_unknown(*range)) {
    look.report(RuleId::copy_not_mapped, {address.value(), size.value(), unknown->value()});
    return;
  }
  // No mapping: a fill of what another device's mem_alloc gave.
  const LiveMapping* mapping = look.objects.mapping_at(address);
  const auto context = look.objects.context_of(stream);
  const DeviceOrdinal device =
      context ? look.device_of(*context).value_or(DeviceOrdinal()) : DeviceOrdinal();
  const AccessFlags access = mapping != nullptr ? mapping->access_of(device) : AccessFlags::none;
  look.report(RuleId::copy_no_access, {address.value(), number(device.value()), number_of(access)},
              mapping != nullptr ? mapping->made : MadeBy());
}

}  // namespace

TESSERA_CHECK_CALL(memcpy_htod) { check_htod(look, request, {}); }
TESSERA_CHECK_CALL(memcpy_dtoh) { check_dtoh(look, request, {}); }
TESSERA_CHECK_CALL(memcpy_dtod) { check_dtod(look, request, {}); }
TESSERA_CHECK_CALL(memset_d8) {
  check_touched(look, written(request.destination, request.size), {});
}
TESSERA_CHECK_CALL(memcpy_htod_async) {
  if (stream_is_live(look, request.stream)) {
    check_htod(look, request.copy, request.stream);
  }
}
TESSERA_CHECK_CALL(memcpy_dtoh_async) {
  if (stream_is_live(look, request.stream)) {
    check_dtoh(look, request.copy, request.stream);
  }
}
TESSERA_CHECK_CALL(memcpy_dtod_async) {
  if (stream_is_live(look, request.stream)) {
    check_dtod(look, request.copy, request.stream);
  }
}
TESSERA_CHECK_CALL(memset_d8_async) {
  if (stream_is_live(look, request.stream)) {
    check_touched(look, written(request.set.destination, request.set.size), request.stream);
  }
}
TESSERA_CHECK_CALL(launch_touch) {
  if (!stream_is_live(look, request.stream)) {
    return;
  }
  if (!is_in_current_context(look, request.stream)) {
    return;
  }
  const bool is_write = request.touch == Touch::write;
  const bool may_go_on = check_touched(
      look, is_write ? written(request.address, Bytes(1)) : was_read(request.address, Bytes(1)),
      request.stream);
  if (may_go_on && !is_write && !request.result.is_null()) {
    check_touched(look, written(request.result, Bytes(1)), request.stream);
  }
}

TESSERA_CHECK_ANSWER(memcpy_htod) {
  check_copied(look, request.destination, Bytes(request.source.size()), answer);
}
TESSERA_CHECK_ANSWER(memcpy_dtoh) {
  check_copied(look, request.source, Bytes(request.destination.size()), answer);
}
TESSERA_CHECK_ANSWER(memcpy_dtod) { check_copied(look, request.destination, request.size, answer); }
TESSERA_CHECK_ANSWER(memset_d8) { check_copied(look, request.destination, request.size, answer); }
TESSERA_CHECK_ANSWER(memcpy_htod_async) {
  check_copied(look, request.copy.destination, Bytes(request.copy.source.size()), answer,
               request.stream);
}
TESSERA_CHECK_ANSWER(memcpy_dtoh_async) {
  check_copied(look, request.copy.source, Bytes(request.copy.destination.size()), answer,
               request.stream);
}
TESSERA_CHECK_ANSWER(memcpy_dtod_async) {
  check_copied(look, request.copy.destination, request.copy.size, answer, request.stream);
}
TESSERA_CHECK_ANSWER(memset_d8_async) {
  check_copied(look, request.set.destination, request.set.size, answer, request.stream);
}

TESSERA_CHECK_CALL(mem_get_handle_for_address_range) {
  look.flags_are(request.flags, 1);
  constexpr Bytes least_host_page(4096);
  if (request.size.is_zero() || !is_aligned(request.address, least_host_page) ||
      !is_aligned(request.size, least_host_page)) {
    look.report(RuleId::range_handle_unaligned,
                {request.address.value(), request.size.value(), least_host_page.value()});
    return;
  }
  check_touched(look, {request.address, request.size, AccessFlags::none}, {});
}
// Memory may have come from where the layer doesn't see it, and host pages be larger.
TESSERA_CHECK_ANSWER(mem_get_handle_for_address_range) {
  const auto range = AddressRange::make(request.address, request.size);
  if (answer.error().code == ErrorCode::invalid_value && range) {
    look.report(RuleId::range_handle_not_mapped,
                {request.address.value(), request.size.value(),
                 look.first_unknown(*range).value_or(range->begin()).value()});
  }
}

}  // namespace tessera::validation
