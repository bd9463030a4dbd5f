#include <algorithm>

#include "validation/checks.h"

namespace tessera::validation {
namespace {

struct Wanted {
  AllocationHandle multicast;
  Bytes multicast_offset;
  MemoryIndex memory;
  Bytes memory_offset;
  Bytes size;
};

bool has_device(const LiveMemory& multicast, DeviceOrdinal device) {
  const auto& devices = multicast.devices;
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

bool check_multicast_devices(Inspection& look, const MulticastProperties& properties) {
  const auto count = look.facts.device_count();
  if (!look.flags_are(properties.flags)) {
    return false;
  }
  const std::uint32_t wanted = properties.device_count;
  return !count || look.holds(wanted >= 1 && wanted <= static_cast<std::uint32_t>(*count),
                              RuleId::multicast_device_count, {wanted, number(*count)});
}

bool check_binding_place(Inspection& look, const Wanted& wanted, const LiveMemory& object,
                         const LiveMemory& memory) {
  if (wanted.size.is_zero() || !look.is_aligned_to_granularity(wanted.size.value()) ||
      !look.is_aligned_to_granularity(wanted.multicast_offset.value()) ||
      !look.is_aligned_to_granularity(wanted.memory_offset.value())) {
    return look.report(
        RuleId::binding_unaligned,
        {wanted.multicast_offset.value(), wanted.size.value(), look.facts.granularity().value()});
  }
  const auto end = checked_add(wanted.multicast_offset, wanted.size);
  const auto memory_end = checked_add(wanted.memory_offset, wanted.size);
  const bool is_size_known = !(memory.is_foreign && memory.size.is_zero());
  if (!end || !memory_end || *end > object.size || (is_size_known && *memory_end > memory.size)) {
    return look.report(RuleId::binding_outside,
                       {wanted.size.value(), object.size.value(), memory.size.value()});
  }
  return true;
}

void check_binding(Inspection& look, const Wanted& wanted) {
  const LiveMemory& object = *look.objects.memory_of(wanted.multicast);
  const LiveMemory& memory = look.objects.memory(wanted.memory);
  if (object.devices.size() != object.device_count) {
    look.report(RuleId::multicast_devices_missing, {object.devices.size(), object.device_count});
    return;
  }
  if (!check_binding_place(look, wanted, object, memory) || memory.is_foreign) {
    return;
  }
  const Location at = memory.properties.location;
  const DeviceOrdinal device(at.id);
  if (at.type != LocationType::device || !has_device(object, device)) {
    look.report(RuleId::binding_device_not_added, {number(at.id)}, memory.made);
    return;
  }
  for (const LiveBinding& other : object.bound) {
    if (other.device == device && other.multicast_offset < wanted.multicast_offset + wanted.size &&
        wanted.multicast_offset < other.multicast_offset + other.size) {
      look.report(RuleId::binding_overlaps,
                  {other.multicast_offset.value(), other.size.value(), number(at.id)}, other.made);
      return;
    }
  }
}

}  // namespace

TESSERA_CHECK_CALL(multicast_create) {
  if (check_multicast_devices(look, request)) {
    look.size_fits(RuleId::multicast_size, request.size);
  }
}

TESSERA_CHECK_CALL(multicast_get_granularity) {
  if (check_multicast_devices(look, request.properties)) {
    look.flags_are(number_of(request.option), 1);
  }
}

TESSERA_CHECK_CALL(multicast_add_device) {
  if (look.usable(request.multicast, Inspection::Wants::multicast) == nullptr ||
      !look.device_exists(request.device)) {
    return;
  }
  const LiveMemory& object = *look.objects.memory_of(request.multicast);
  if (has_device(object, request.device) || object.devices.size() == object.device_count) {
    look.report(RuleId::multicast_device_twice,
                {number(request.device.value()), object.devices.size(), object.device_count},
                object.made);
  }
}

TESSERA_CHECK_CALL(multicast_bind_mem) {
  if (look.usable(request.multicast, Inspection::Wants::multicast) == nullptr) {
    return;
  }
  const LiveHandle* memory = look.usable(request.memory, Inspection::Wants::memory);
  if (memory != nullptr && look.flags_are(request.flags)) {
    check_binding(look, {request.multicast, request.multicast_offset, memory->memory,
                         request.memory_offset, request.size});
  }
}

TESSERA_CHECK_CALL(multicast_bind_addr) {
  if (look.usable(request.multicast, Inspection::Wants::multicast) == nullptr ||
      !look.flags_are(request.flags)) {
    return;
  }
  const LiveMapping* mapping = look.objects.mapping_at(request.address);
  if (mapping == nullptr) {
    look.report(RuleId::binding_address_not_mapped, {request.address.value()});
  } else if (mapping->memory != no_memory) {
    if (look.objects.memory(mapping->memory).is_multicast) {
      look.report(RuleId::handle_is_multicast, {mapping->handle.value()}, mapping->made);
      return;
    }
    check_binding(look,
                  {request.multicast, request.multicast_offset, mapping->memory,
                   mapping->offset + (request.address - mapping->range.begin()), request.size});
  }
}

TESSERA_CHECK_CALL(multicast_unbind) {
  if (look.usable(request.multicast, Inspection::Wants::multicast) == nullptr ||
      !look.device_exists(request.device)) {
    return;
  }
  const LiveMemory& object = *look.objects.memory_of(request.multicast);
  const auto is_named = [&](const LiveBinding& binding) {
    return binding.device == request.device &&
           binding.multicast_offset == request.multicast_offset && binding.size == request.size;
  };
  if (std::none_of(object.bound.begin(), object.bound.end(), is_named)) {
    look.report(RuleId::unbind_not_bound, {request.multicast_offset.value(), request.size.value(),
                                           number(request.device.value())});
  }
}

}  // namespace tessera::validation
