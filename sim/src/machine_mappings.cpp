#include <algorithm>

#include "machine.h"

namespace tessera::sim {
namespace {

bool is_known(AccessFlags flags) noexcept {
  return flags == AccessFlags::none || flags == AccessFlags::read ||
         flags == AccessFlags::read_write;
}

}  // namespace

Status Machine::check_map_part(const MapRequest& request, Bytes handle_size) const {
  if (request.offset.is_zero() && request.size == handle_size) {
    return {};
  }
  if (!profile_.quirks.partial_mapping) {
    return refuse(ErrorCode::not_supported, Reason::not_whole_handle, request.size.value(),
                  request.offset.value(), handle_size.value());
  }
  const Bytes granularity = profile_.granularity_minimum;
  if (!is_aligned(request.offset, granularity) || !is_aligned(request.size, granularity)) {
    return invalid(Reason::binding_not_aligned, request.offset.value(), request.size.value(),
                   granularity.value());
  }
  const auto end = checked_add(request.offset, request.size);
  if (!end || *end > handle_size) {
    return invalid(Reason::part_outside_handle, request.size.value(), request.offset.value(),
                   handle_size.value());
  }
  return {};
}

Status Machine::check_map_place(const MapRequest& request) const {
  const Bytes granularity = profile_.granularity_minimum;
  if (!is_aligned(request.address, granularity)) {
    return invalid(Reason::address_not_aligned, request.address.value(), granularity.value());
  }
  const auto reservation = space_.reservation_at(request.address);
  if (!reservation) {
    return invalid(Reason::not_reserved, request.address.value());
  }
  const auto range = AddressRange::make(request.address, request.size);
  if (!range || (!profile_.quirks.map_may_leave_reservation && !reservation->contains(*range))) {
    return invalid(Reason::leaves_reservation, request.address.value(), request.size.value(),
                   reservation->end().value());
  }
  if (space_.has_block_in(*range)) {
    const auto block = space_.block_at(request.address);
    const auto taken = block ? block : space_.block_from(request.address);
    return invalid(Reason::already_mapped, taken->range.begin().value(),
                   taken->range.size().value());
  }
  return {};
}

Status Machine::mem_map(const MapRequest& request) {
  if (request.flags != 0) {
    return invalid(Reason::flags_not_zero, request.flags);
  }
  if (request.size.is_zero()) {
    return invalid(Reason::size_is_zero, profile_.granularity_minimum.value());
  }
  // Null is refused before the size is compared with the memory's, other places after that [h200].
  if (request.address.is_null()) {
    return invalid(Reason::not_reserved, 0);
  }
  TESSERA_TRY_ASSIGN(const SlabIndex handle, need_handle(request.handle));
  if (store_.entry(handle).is_tile_pool) {
    return invalid(Reason::tile_pool_not_mappable, request.handle.value());
  }
  TESSERA_TRY(check_map_part(request, store_.size_of(handle)));
  TESSERA_TRY(check_map_place(request));
  if (RdmaRegistration* rdma = store_.rdma_registration(handle)) {
    if (rdma->refuses_mappings()) {
      return refuse(ErrorCode::unknown, Reason::rdma_not_registered, rdma->unnoted().value());
    }
    rdma->map(request.address);
  }
  space_.map(AddressRange(request.address, request.size), handle, request.offset);
  store_.add_mapping(handle);
  return {};
}

std::size_t Machine::unmap_inside(AddressRange range) {
  return space_.unmap_inside(range, [this](SlabIndex handle, DeviceAddress begin) {
    if (RdmaRegistration* rdma = store_.rdma_registration(handle)) {
      rdma->unmap(begin);
    }
    store_.remove_mapping(handle);
  });
}

Status Machine::mem_unmap(const UnmapRequest& request) {
  if (request.size.is_zero()) {
    return invalid(Reason::size_is_zero, profile_.granularity_minimum.value());
  }
  if (!space_.reservation_at(request.address)) {
    return invalid(Reason::not_reserved, request.address.value());
  }
  const auto range = AddressRange::make(request.address, request.size);
  if (!range) {
    // Its end lies before its begin: nothing is between them, and nothing is no error, while an end
    // inside a mapping is one [h200].
    if (!profile_.quirks.unmap_accepts_holes) {
      return invalid(Reason::range_wraps, request.address.value(), request.size.value());
    }
    const DeviceAddress end(request.address.value() + request.size.value());
    for (const DeviceAddress place : {request.address, end}) {
      const auto cut = space_.block_at(place);
      if (cut && cut->range.begin() != place) {
        return invalid(Reason::cuts_mapping, cut->range.begin().value(), cut->range.size().value());
      }
    }
    return {};
  }
  if (space_.cuts_block(*range)) {
    const auto first = space_.block_at(range->begin());
    const bool cuts_first = first && !range->contains(first->range);
    const auto cut = cuts_first ? first : space_.block_at(range->end() - 1_B);
    return invalid(Reason::cuts_mapping, cut->range.begin().value(), cut->range.size().value());
  }
  if (!profile_.quirks.unmap_accepts_holes) {
    TESSERA_TRY(mappings_of(*range));
  }
  const std::size_t unmapped = unmap_inside(*range);
  if (unmapped > 1) {
    spend_for(Call::mem_unmap, unmapped - 1);
  }
  return {};
}

Status Machine::check_descriptors(const SetAccessRequest& request) const {
  for (const AccessDescriptor& descriptor : request.descriptors) {
    if (!is_known(descriptor.flags)) {
      return invalid(Reason::unknown_access_flags, static_cast<std::uint64_t>(descriptor.flags));
    }
    const Location location = descriptor.location;
    if (location.type == LocationType::device) {
      if (!is_device(DeviceOrdinal(location.id))) {
        return invalid(Reason::no_such_device, signed_value(location.id),
                       static_cast<std::uint64_t>(options_.devices));
      }
    } else if (!is_host(location.type)) {
      return invalid(Reason::location_not_supported, static_cast<std::uint64_t>(location.type));
    }
  }
  return {};
}

Location Machine::location_of(const Mapping& mapping) const {
  const HandleEntry& entry = store_.entry(mapping.handle);
  return entry.is_multicast ? Location() : store_.memory(entry.object).properties.location;
}

Status Machine::check_access_reach(const Mapping& mapping,
                                   const AccessDescriptor& descriptor) const {
  if (descriptor.flags == AccessFlags::none) {
    return {};
  }
  const Location memory = location_of(mapping);
  if (is_host(descriptor.location.type)) {
    if (!is_host(memory.type)) {
      return refuse(ErrorCode::not_supported, Reason::host_access_to_device_memory,
                    mapping.range.begin().value(), signed_value(memory.id));
    }
    return {};
  }
  const DeviceOrdinal device(descriptor.location.id);
  if (!store_.entry(mapping.handle).is_multicast && memory.type == LocationType::device &&
      !can_reach(device, DeviceOrdinal(memory.id))) {
    return invalid(Reason::not_peers, signed_value(device.value()), signed_value(memory.id));
  }
  return {};
}

Result<std::vector<SlabIndex>> Machine::mappings_of(AddressRange range) const {
  std::vector<SlabIndex> mappings;
  DeviceAddress next = range.begin();
  while (next < range.end()) {
    const auto block = space_.block_at(next);
    if (!block || block->kind != BlockKind::mapping) {
      return invalid(Reason::hole_in_range, next.value(), range.begin().value(),
                     range.size().value());
    }
    mappings.push_back(block->index);
    next = block->range.end();
  }
  return mappings;
}

Result<std::vector<SlabIndex>> Machine::mappings_to_set(AddressRange range) const {
  const auto first = space_.block_at(range.begin());
  if (!first || first->kind != BlockKind::mapping) {
    return invalid(Reason::not_mapped, range.begin().value());
  }
  if (first->range.begin() != range.begin()) {
    return invalid(Reason::cuts_mapping, first->range.begin().value(), first->range.size().value());
  }
  if (first->range == range) {
    return std::vector<SlabIndex>{first->index};
  }
  const auto last = space_.block_at(range.end() - 1_B);
  if (!last) {
    return invalid(Reason::not_mapped, (range.end() - 1_B).value());
  }
  if (last->range.end() != range.end()) {
    return invalid(Reason::cuts_mapping, last->range.begin().value(), last->range.size().value());
  }
  if (!profile_.quirks.set_access_stops_at_hole) {
    return mappings_of(range);
  }
  // The driver walks from mapping to mapping, and takes the first hole for the end [h200].
  std::vector<SlabIndex> run;
  DeviceAddress next = range.begin();
  while (next < range.end()) {
    const auto block = space_.block_at(next);
    if (!block || block->kind != BlockKind::mapping) {
      break;
    }
    run.push_back(block->index);
    next = block->range.end();
  }
  return run;
}

Status Machine::check_page_tables(const std::vector<SlabIndex>& run,
                                  const SetAccessRequest& request) const {
  bool grants = false;
  for (const AccessDescriptor& descriptor : request.descriptors) {
    grants = grants || descriptor.flags != AccessFlags::none;
  }
  std::size_t more = 0;
  for (const SlabIndex mapping : run) {
    more += grants && !space_.mapping(mapping).is_accessible() ? 1U : 0U;
  }
  if (more != 0 && space_.accessible_mapping_count() + more > profile_.accessible_mappings_max) {
    return refuse(ErrorCode::out_of_memory, Reason::out_of_page_tables,
                  space_.accessible_mapping_count(), more, profile_.accessible_mappings_max);
  }
  return {};
}

Status Machine::set_access(SlabIndex index, const AccessDescriptor& descriptor) {
  const Mapping& mapping = space_.mapping(index);
  TESSERA_TRY(check_access_reach(mapping, descriptor));
  if (is_host(descriptor.location.type)) {
    space_.set_host_access(index, descriptor.flags);
    return {};
  }
  const DeviceOrdinal device(descriptor.location.id);
  if (RdmaRegistration* rdma = store_.rdma_registration(mapping.handle)) {
    const DeviceAddress begin = mapping.range.begin();
    const bool is_own = location_of(mapping).id == device.value();
    const auto refused =
        rdma->set_access(begin, is_own, mapping.access_of(device), descriptor.flags);
    if (refused) {
      space_.set_access(index, device, AccessFlags::none);
      return is_own ? refuse(*refused, Reason::rdma_not_registered, rdma->unnoted().value())
                    : refuse(*refused, Reason::rdma_not_for_peers, begin.value(),
                             signed_value(device.value()));
    }
  }
  space_.set_access(index, device, descriptor.flags);
  return {};
}

Status Machine::mem_set_access(const SetAccessRequest& request) {
  if (request.size.is_zero() || request.descriptors.empty()) {
    return request.size.is_zero()
               ? invalid(Reason::size_is_zero, profile_.granularity_minimum.value())
               : invalid(Reason::no_descriptors);
  }
  if (request.descriptors.data() == nullptr) {
    return invalid(Reason::null_pointer);
  }
  const auto range = AddressRange::make(request.address, request.size);
  if (!range) {
    return invalid(Reason::range_wraps, request.address.value(), request.size.value());
  }
  TESSERA_TRY_ASSIGN(const std::vector<SlabIndex> run, mappings_to_set(*range));
  TESSERA_TRY(check_descriptors(request));
  TESSERA_TRY(check_page_tables(run, request));
  // One after the other: what was set before one that is refused stays [h200].
  for (const SlabIndex mapping : run) {
    for (const AccessDescriptor& descriptor : request.descriptors) {
      TESSERA_TRY(set_access(mapping, descriptor));
    }
  }
  if (run.size() > 1) {
    spend_for(Call::mem_set_access, run.size() - 1);
  }
  return {};
}

namespace {

// Asked for the host, the driver speaks of device 0 too: where both have access, of the one whose
// access changed last, else of the one that has any [h200].
AccessFlags access_of_host(const Mapping& mapping) noexcept {
  const AccessFlags device = mapping.access_of(DeviceOrdinal());
  if (mapping.host == AccessFlags::none || device == AccessFlags::none) {
    return std::max(mapping.host, device);
  }
  return mapping.is_host_latest ? mapping.host : device;
}

}  // namespace

Result<AccessFlags> Machine::mem_get_access(const GetAccessRequest& request) {
  if (has_any(request.null_pointers, NullPointers::output | NullPointers::properties)) {
    return invalid(Reason::null_pointer);
  }
  // Null is refused before the location is looked at, other places after that [h200].
  if (request.address.is_null()) {
    return invalid(Reason::not_mapped, 0);
  }
  const Location location = request.location;
  const bool is_on_device = location.type == LocationType::device;
  if (!is_on_device && !is_host(location.type)) {
    return refuse(ErrorCode::invalid_device, Reason::location_not_supported,
                  static_cast<std::uint64_t>(location.type));
  }
  if (is_on_device) {
    TESSERA_TRY(check_device(DeviceOrdinal(location.id)));
  }
  const auto block = space_.block_at(request.address);
  if (block && block->kind == BlockKind::legacy) {
    return AccessFlags::none;
  }
  if (!block || block->kind != BlockKind::mapping) {
    return invalid(Reason::not_mapped, request.address.value());
  }
  const Mapping& mapping = space_.mapping(block->index);
  switch (location.type) {
    case LocationType::host_numa:
      return mapping.host;
    case LocationType::host:
      return access_of_host(mapping);
    default:
      return mapping.access_of(DeviceOrdinal(location.id));
  }
}

}  // namespace tessera::sim
