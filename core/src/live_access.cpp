// The part of LiveObjects about access: who may touch a mapping, and how far a set access gets.
#include <algorithm>
#include <map>

#include "tessera/live_objects.h"

namespace tessera {
namespace {

std::uint64_t device_bit(std::int32_t device) noexcept {
  return device >= 0 ? std::uint64_t{1} << std::min(device, 63) : 0;
}

void set_bit(std::uint64_t& bits, std::uint64_t bit, bool wanted) noexcept {
  bits = wanted ? bits | bit : bits & ~bit;
}

}  // namespace

AccessFlags LiveMapping::access_of(DeviceOrdinal device) const noexcept {
  const std::uint64_t bit = device_bit(device.value());
  if ((writers & bit) != 0) {
    return AccessFlags::read_write;
  }
  return (readers & bit) != 0 ? AccessFlags::read : AccessFlags::none;
}

bool LiveMapping::is_unknown(DeviceOrdinal device) const noexcept {
  return (unknown_devices & device_bit(device.value())) != 0;
}

RdmaRegistration* LiveObjects::registration_of(const LiveMapping& mapping) const {
  if (mapping.memory == no_memory ||
      memories_[mapping.memory].properties.gpu_direct_rdma_capable == 0) {
    return nullptr;
  }
  LiveHandle& handle = handle_of(mapping);
  return handle.rdma ? &*handle.rdma : nullptr;
}

template <class Visit>
void LiveObjects::for_each_in_run(AddressRange range, Visit&& visit) const {
  DeviceAddress next = range.begin();
  auto found = first_touching(next);
  while (found != mappings_.end()) {
    auto& mapping = const_cast<LiveMapping&>(found->second);
    if (mapping.range.begin() != next || mapping.range.end() > range.end() || !visit(mapping)) {
      return;
    }
    next = mapping.range.end();
    // As in for_each_mapping: no step that is not needed.
    if (next == range.end()) {
      return;
    }
    ++found;
  }
}

void LiveObjects::give_access(LiveMapping& mapping, const AccessDescriptor& wanted) {
  if (wanted.location.type != LocationType::device) {
    mapping.host = wanted.flags;
    mapping.is_host_unknown = false;
    return;
  }
  const DeviceOrdinal device(wanted.location.id);
  if (RdmaRegistration* rdma = registration_of(mapping)) {
    const bool is_own = memories_[mapping.memory].properties.location.id == device.value();
    static_cast<void>(
        rdma->set_access(mapping.range.begin(), is_own, mapping.access_of(device), wanted.flags));
  }
  const std::uint64_t bit = device_bit(device.value());
  set_bit(mapping.readers, bit, wanted.flags != AccessFlags::none);
  set_bit(mapping.writers, bit, wanted.flags == AccessFlags::read_write);
  set_bit(mapping.unknown_devices, bit, false);
}

void LiveObjects::set_access(const SetAccessRequest& request) {
  const auto range = AddressRange::make(request.address, request.size);
  if (!range) {
    return;
  }
  for_each_in_run(*range, [&](LiveMapping& mapping) {
    for (const AccessDescriptor& wanted : request.descriptors) {
      give_access(mapping, wanted);
    }
    return true;
  });
}

std::optional<AccessObstacle> LiveObjects::access_obstacle(
    AddressRange range, std::span<const AccessDescriptor> descriptors) const {
  std::map<const RdmaRegistration*, RdmaRegistration> registrations;  // as they will be
  std::optional<AccessObstacle> obstacle;
  const auto try_one = [&](const LiveMapping& mapping, std::size_t index) {
    const AccessDescriptor& wanted = descriptors[index];
    const LiveMemory& memory = memories_[mapping.memory];
    if (is_host(wanted.location.type)) {
      const bool is_refused = wanted.flags != AccessFlags::none && !memory.is_foreign &&
                              !memory.is_multicast &&
                              memory.properties.location.type == LocationType::device;
      return is_refused ? std::optional(ErrorCode::not_supported) : std::nullopt;
    }
    const DeviceOrdinal device(wanted.location.id);
    RdmaRegistration* rdma = registration_of(mapping);
    if (rdma == nullptr || mapping.is_unknown(device)) {
      return std::optional<ErrorCode>();
    }
    AccessFlags before = mapping.access_of(device);
    for (const AccessDescriptor& earlier : descriptors.first(index)) {
      before = earlier.location == wanted.location ? earlier.flags : before;
    }
    return registrations.try_emplace(rdma, *rdma)
        .first->second.set_access(mapping.range.begin(),
                                  memory.properties.location.id == device.value(), before,
                                  wanted.flags);
  };
  for_each_in_run(range, [&](const LiveMapping& mapping) {
    for (std::size_t i = 0; i < descriptors.size() && mapping.memory != no_memory; ++i) {
      if (const auto code = try_one(mapping, i)) {
        obstacle = {.mapping = &mapping, .descriptor = i, .code = *code, .unnoted = {}};
        if (const auto found = registrations.find(registration_of(mapping));
            found != registrations.end()) {
          obstacle->unnoted = found->second.unnoted();
        }
        return false;
      }
    }
    return true;
  });
  return obstacle;
}

void LiveObjects::set_access_in_part(const SetAccessRequest& request, ErrorCode code) {
  const auto range = AddressRange::make(request.address, request.size);
  const bool may_be_in_part = code == ErrorCode::unknown || code == ErrorCode::invalid_value ||
                              code == ErrorCode::not_supported;
  if (!range || !may_be_in_part) {
    return;
  }
  const auto obstacle = access_obstacle(*range, request.descriptors);
  if (!obstacle || obstacle->code != code) {
    std::size_t steps = 0;
    for_each_in_run(*range, [&](const LiveMapping&) {
      steps += request.descriptors.size();
      return true;
    });
    if (steps == 1) {
      return;  // it is the one that was refused: nothing is different
    }
    for_each_in_run(*range, [&](LiveMapping& mapping) {
      for (const AccessDescriptor& wanted : request.descriptors) {
        const Location at = wanted.location;
        mapping.unknown_devices |= at.type == LocationType::device ? device_bit(at.id) : 0;
        mapping.is_host_unknown = mapping.is_host_unknown || is_host(at.type);
      }
      return true;
    });
    return;
  }
  for_each_in_run(*range, [&](LiveMapping& mapping) {
    const bool is_last = &mapping == obstacle->mapping;
    const std::size_t done = is_last ? obstacle->descriptor : request.descriptors.size();
    for (const AccessDescriptor& wanted : request.descriptors.first(done)) {
      give_access(mapping, wanted);
    }
    if (is_last && code != ErrorCode::not_supported) {
      AccessDescriptor lost = request.descriptors[done];
      lost.flags = AccessFlags::none;
      give_access(mapping, lost);
    }
    return !is_last;
  });
}

}  // namespace tessera
