#include <algorithm>

#include "machine.h"

namespace tessera::sim {

Status Machine::check_multicast(const MulticastProperties& properties) const {
  if (!profile_.multicast) {
    return refuse(ErrorCode::not_supported, Reason::not_supported_here);
  }
  if (properties.flags != 0) {
    return invalid(Reason::flags_not_zero, properties.flags);
  }
  if (properties.device_count == 0 ||
      properties.device_count > static_cast<std::uint32_t>(options_.devices)) {
    return invalid(Reason::multicast_device_count, properties.device_count,
                   static_cast<std::uint64_t>(options_.devices));
  }
  if (properties.handle_types != HandleTypes::none &&
      !has_all(profile_.export_types, properties.handle_types)) {
    return invalid(Reason::handle_types_not_supported,
                   static_cast<std::uint64_t>(properties.handle_types),
                   static_cast<std::uint64_t>(profile_.export_types));
  }
  return {};
}

Result<Bytes> Machine::multicast_get_granularity(const MulticastGranularityRequest& request) {
  TESSERA_TRY(check_multicast(request.properties));
  switch (request.option) {
    case GranularityOption::minimum:
      return profile_.granularity_minimum;
    case GranularityOption::recommended:
      return profile_.granularity_recommended;
  }
  return invalid(Reason::unknown_granularity_option, static_cast<std::uint64_t>(request.option));
}

Result<AllocationHandle> Machine::multicast_create(const MulticastProperties& properties) {
  TESSERA_TRY(check_multicast(properties));
  TESSERA_TRY(check_size(properties.size, profile_.granularity_minimum));
  Multicast multicast;
  multicast.properties = properties;
  return store_.value_of(store_.add_multicast_handle(std::move(multicast)));
}

Result<SlabIndex> Machine::need_multicast(AllocationHandle handle) const {
  TESSERA_TRY_ASSIGN(const SlabIndex index, need_handle(handle));
  if (!store_.entry(index).is_multicast) {
    return invalid(Reason::not_multicast, handle.value());
  }
  return index;
}

Status Machine::multicast_add_device(const MulticastAddDeviceRequest& request) {
  TESSERA_TRY_ASSIGN(const SlabIndex index, need_multicast(request.multicast));
  TESSERA_TRY(check_device(request.device));
  Multicast& multicast = store_.multicast(store_.entry(index).object);
  const bool is_known = std::find(multicast.devices.begin(), multicast.devices.end(),
                                  request.device) != multicast.devices.end();
  if (is_known || multicast.devices.size() == multicast.properties.device_count) {
    return invalid(is_known ? Reason::multicast_device_twice : Reason::multicast_is_full,
                   static_cast<std::uint64_t>(request.device.value()),
                   multicast.properties.device_count);
  }
  multicast.devices.push_back(request.device);
  return {};
}

Status Machine::bind(SlabIndex multicast_handle, const MulticastBinding& binding) {
  Multicast& multicast = store_.multicast(store_.entry(multicast_handle).object);
  const Bytes granularity = profile_.granularity_minimum;
  if (multicast.devices.size() != multicast.properties.device_count) {
    return refuse(ErrorCode::illegal_state, Reason::multicast_devices_missing,
                  multicast.devices.size(), multicast.properties.device_count);
  }
  if (binding.size.is_zero() || !is_aligned(binding.size, granularity) ||
      !is_aligned(binding.multicast_offset, granularity) ||
      !is_aligned(binding.memory_offset, granularity)) {
    return invalid(Reason::binding_not_aligned, binding.multicast_offset.value(),
                   binding.size.value(), granularity.value());
  }
  const Memory& memory = store_.memory(binding.memory);
  const auto end = checked_add(binding.multicast_offset, binding.size);
  const auto memory_end = checked_add(binding.memory_offset, binding.size);
  if (!end || !memory_end || *end > multicast.properties.size || *memory_end > memory.size) {
    return invalid(Reason::binding_outside, binding.size.value(), multicast.properties.size.value(),
                   memory.size.value());
  }
  const auto& devices = multicast.devices;
  if (memory.properties.location.type != LocationType::device ||
      std::find(devices.begin(), devices.end(), binding.device) == devices.end()) {
    return refuse(ErrorCode::invalid_device, Reason::multicast_device_not_added,
                  static_cast<std::uint64_t>(binding.device.value()));
  }
  for (const MulticastBinding& other : multicast.bindings) {
    if (other.device == binding.device && other.multicast_offset < *end &&
        binding.multicast_offset < other.multicast_offset + other.size) {
      return invalid(Reason::already_bound, other.multicast_offset.value(), other.size.value(),
                     static_cast<std::uint64_t>(binding.device.value()));
    }
  }
  multicast.bindings.push_back(binding);
  store_.add_holder(binding.memory);
  return {};
}

Status Machine::multicast_bind_mem(const MulticastBindMemRequest& request) {
  TESSERA_TRY_ASSIGN(const SlabIndex multicast, need_multicast(request.multicast));
  TESSERA_TRY_ASSIGN(const SlabIndex handle, need_handle(request.memory));
  if (request.flags != 0) {
    return invalid(Reason::flags_not_zero, request.flags);
  }
  const HandleEntry& entry = store_.entry(handle);
  if (entry.is_multicast) {
    return invalid(Reason::is_multicast, request.memory.value());
  }
  return bind(multicast,
              {.device = DeviceOrdinal(store_.memory(entry.object).properties.location.id),
               .multicast_offset = request.multicast_offset,
               .size = request.size,
               .memory = entry.object,
               .memory_offset = request.memory_offset});
}

Status Machine::multicast_bind_addr(const MulticastBindAddrRequest& request) {
  TESSERA_TRY_ASSIGN(const SlabIndex multicast, need_multicast(request.multicast));
  if (request.flags != 0) {
    return invalid(Reason::flags_not_zero, request.flags);
  }
  const Mapping* mapping = space_.mapping_at(request.address);
  if (mapping == nullptr || store_.entry(mapping->handle).is_multicast) {
    return invalid(Reason::not_mapped, request.address.value());
  }
  const SlabIndex memory = store_.entry(mapping->handle).object;
  return bind(multicast,
              {.device = DeviceOrdinal(store_.memory(memory).properties.location.id),
               .multicast_offset = request.multicast_offset,
               .size = request.size,
               .memory = memory,
               .memory_offset = mapping->offset + (request.address - mapping->range.begin())});
}

Status Machine::multicast_unbind(const MulticastUnbindRequest& request) {
  TESSERA_TRY_ASSIGN(const SlabIndex index, need_multicast(request.multicast));
  TESSERA_TRY(check_device(request.device));
  auto& bindings = store_.multicast(store_.entry(index).object).bindings;
  const auto is_named = [&](const MulticastBinding& binding) {
    return binding.device == request.device &&
           binding.multicast_offset == request.multicast_offset && binding.size == request.size;
  };
  const auto found = std::find_if(bindings.begin(), bindings.end(), is_named);
  if (found == bindings.end()) {
    return invalid(Reason::not_bound, request.multicast_offset.value(), request.size.value(),
                   static_cast<std::uint64_t>(request.device.value()));
  }
  const SlabIndex memory = found->memory;
  bindings.erase(found);
  store_.remove_holder(memory);
  return {};
}

}  // namespace tessera::sim
