// Addresses and memory.
#include <algorithm>

#include "validation/checks.h"

namespace tessera::validation {
namespace {

// The widest address space of any device has 57 bits [h200].
constexpr Bytes alignment_max(1ULL << 57U);

constexpr std::uint32_t known_export_types = 1U | 2U | 4U | 8U;
constexpr std::uint32_t windows_export_types = 2U | 4U;

bool check_export_types(Inspection& look, const AllocationProperties& properties) {
  const auto types = static_cast<std::uint32_t>(properties.requested_handle_types);
  if ((types & ~known_export_types) != 0) {
    look.report(RuleId::create_export_types_unknown, {types});
  }
  const std::uint32_t known = types & known_export_types;
  const Location location = properties.location;
  // Memory without a node is not exported, and takes no bit at all [h200].
  const bool takes_none = location.type == LocationType::host;
  if (known == 0 && !(takes_none && types != 0)) {
    return true;
  }
  const DeviceOrdinal device(location.type == LocationType::device ? location.id : 0);
  const auto supported = look.facts.export_types(device);
  if (!supported) {
    return true;
  }
  const auto bits = static_cast<std::uint32_t>(*supported);
  if ((known & ~bits) == 0 && !takes_none) {
    return true;
  }
  return look.report(RuleId::create_export_types_unsupported, {types, bits});
}

bool check_plain(Inspection& look, const AllocationProperties& properties) {
  const bool is_on_device = properties.location.type == LocationType::device;
  const bool is_tile_pool = (properties.usage & usage_tile_pool) != 0;
  const auto types = static_cast<std::uint32_t>(properties.requested_handle_types);
  const bool has_extra =
      properties.compression != Compression::none || properties.gpu_direct_rdma_capable != 0;
  const bool has_types = is_tile_pool && types != 0;
  const bool has_compression =
      (properties.usage & usage_hw_decompress) != 0 && properties.compression != Compression::none;
  const bool has_metadata =
      properties.win32_handle_metadata != nullptr && (types & windows_export_types) == 0;
  if (((is_tile_pool || !is_on_device) && has_extra) || has_types || has_compression ||
      has_metadata) {
    return look.report(
        RuleId::create_properties_conflict,
        {properties.usage, number_of(properties.compression), properties.gpu_direct_rdma_capable});
  }
  return true;
}

bool check_location(Inspection& look, Location location) {
  switch (location.type) {
    case LocationType::device:
      return look.device_exists(DeviceOrdinal(location.id));
    case LocationType::host:
      return true;
    case LocationType::host_numa:
      if (location.id >= 0) {
        return true;
      }
      break;
    default:
      break;
  }
  return look.report(RuleId::create_location, {number_of(location.type), number(location.id)});
}

bool check_compression(Inspection& look, const AllocationProperties& properties) {
  if (properties.compression == Compression::none) {
    return true;
  }
  const Location location = properties.location;
  const bool is_known = properties.compression == Compression::generic;
  const bool is_supported = location.type != LocationType::device ||
                            look.facts.compression(DeviceOrdinal(location.id)).value_or(true);
  return look.holds(is_known && is_supported, RuleId::create_compression,
                    {number_of(properties.compression)});
}

}  // namespace

TESSERA_CHECK_CALL(mem_get_allocation_granularity) {
  if (look.pointers_are_given(request.null_pointers)) {
    look.flags_are(number_of(request.option), 1);
  }
}

TESSERA_CHECK_CALL(mem_address_reserve) {
  if (!look.pointers_are_given(request.null_pointers) || !look.flags_are(request.flags) ||
      !look.size_fits(RuleId::reserve_size, request.size)) {
    return;
  }
  if ((!request.alignment.is_zero() && !is_power_of_two(request.alignment)) ||
      request.alignment > alignment_max) {
    look.report(RuleId::reserve_alignment, {request.alignment.value()});
    return;
  }
  const Bytes unit = std::max(request.alignment, look.facts.granularity());
  if (!unit.is_zero() && !is_aligned(request.hint, unit)) {
    look.report(RuleId::reserve_hint_unaligned, {request.hint.value(), unit.value()});
  }
}

TESSERA_CHECK_CALL(mem_address_free) {
  if (look.objects.reservation_at(request.address) == nullptr) {
    const DeadObject* gone = look.objects.dead(DeadKind::reservation, request.address.value());
    if (gone != nullptr && gone->value == request.address.value() &&
        look.objects.reservation_with_hint(request.address) == nullptr) {
      look.report(RuleId::free_twice, {request.address.value()}, gone->ended);
      return;
    }
  }
  const LiveReservation* reservation =
      look.reservation_at(RuleId::free_not_reserved, request.address);
  if (reservation == nullptr) {
    return;
  }
  const AddressRange range = reservation->range;
  if (range.begin() != request.address || range.size() != request.size) {
    // A hint that lies in another reservation is still no base of this program's own.
    look.report(RuleId::free_not_whole,
                {request.address.value(), request.size.value(), range.size().value()},
                reservation->made);
    return;
  }
  const LiveMapping* mapping = look.objects.mapping_from(range.begin());
  if (mapping != nullptr && mapping->range.begin() < range.end()) {
    look.report(RuleId::free_while_mapped,
                {mapping->range.begin().value(), mapping->range.size().value()}, mapping->made);
  }
}

TESSERA_CHECK_CALL(mem_create) {
  if (!look.pointers_are_given(request.null_pointers) || !look.flags_are(request.flags) ||
      !look.size_fits(RuleId::create_size, request.size)) {
    return;
  }
  const AllocationProperties& properties = request.properties;
  if (properties.reserved != AllocationProperties().reserved) {
    look.report(RuleId::create_reserved_bytes);
    return;
  }
  if (properties.type != AllocationType::pinned) {
    look.report(RuleId::create_type, {number_of(properties.type)});
    return;
  }
  if (check_location(look, properties.location) && check_compression(look, properties) &&
      check_plain(look, properties)) {
    check_export_types(look, properties);
  }
}

// How many NUMA nodes there are, only the answer tells.
TESSERA_CHECK_ANSWER(mem_create) {
  if (answer.error().code != ErrorCode::invalid_value) {
    return;
  }
  const Location location = request.properties.location;
  if (location.type != LocationType::device) {
    look.report(RuleId::create_location, {number_of(location.type), number(location.id)});
  } else if ((request.properties.usage & usage_tile_pool) != 0) {
    look.report(RuleId::create_tile_pool_too_large, {request.size.value()});
  }
}

TESSERA_CHECK_CALL(mem_release) {
  if (request.is_null()) {
    look.report(RuleId::null_handle);
    return;
  }
  const LiveHandle* handle = look.objects.handle(request);
  if (handle == nullptr) {
    if (const DeadObject* gone = look.objects.dead(DeadKind::handle, request.value())) {
      look.report(RuleId::release_too_often, {request.value(), 0}, gone->ended);
    } else {
      look.report(RuleId::unknown_handle, {request.value()});
    }
    return;
  }
  if (handle->references() == 0) {
    look.report(RuleId::release_too_often, {request.value(), handle->mappings}, handle->made);
    return;
  }
  if (handle->references() > 1 || handle->mappings != 0) {
    return;
  }
  const LiveMemory& memory = look.objects.memory(handle->memory);
  const bool is_last = memory.handles == 1;
  if (is_last && memory.bindings + memory.bound.size() != 0) {
    look.report(RuleId::released_while_bound,
                {request.value(), memory.bindings + memory.bound.size()}, handle->made);
  } else if (is_last && memory.has_fabric_export) {
    look.report(RuleId::fabric_export_unheld, {memory.size.value()}, handle->made);
  }
}

TESSERA_CHECK_CALL(mem_get_allocation_properties_from_handle) {
  if (look.pointers_are_given(request.null_pointers)) {
    look.usable(request.handle, Inspection::Wants::memory);
  }
}

TESSERA_CHECK_CALL(mem_retain_allocation_handle) {
  const LiveMapping* mapping = look.objects.mapping_at(request);
  if (mapping == nullptr || look.objects.reservation_at(request) == nullptr) {
    const DeadObject* gone = look.objects.dead(DeadKind::mapping, request.value());
    look.report(RuleId::retain_not_mapped, {request.value()},
                gone != nullptr ? gone->ended : MadeBy());
  }
}

}  // namespace tessera::validation
