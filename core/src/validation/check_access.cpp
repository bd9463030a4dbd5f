#include <algorithm>

#include "validation/checks.h"

namespace tessera::validation {
namespace {

bool is_known(AccessFlags flags) noexcept {
  return flags == AccessFlags::none || flags == AccessFlags::read ||
         flags == AccessFlags::read_write;
}

bool check_location(Inspection& look, Location location) {
  if (location.type == LocationType::device) {
    return look.device_exists(DeviceOrdinal(location.id));
  }
  return look.holds(is_host(location.type), RuleId::access_location,
                    {number_of(location.type), number(location.id)});
}

// Where the mappings are that a set access is for. Nothing after a report that ends it.
struct Run {
  std::uint64_t mappings = 0;
  AddressRange range;  // up to the first hole
};

std::optional<Run> run_of(Inspection& look, AddressRange range) {
  const DeviceAddress last = range.end() - Bytes(1);
  for (const DeviceAddress address : {range.begin(), last}) {
    const LiveMapping* mapping = look.objects.mapping_at(address);
    // The driver looks at the last address before it looks for holes: whether something ends there.
    const LiveAllocation* other = address == last ? look.objects.allocation_at(last) : nullptr;
    if (mapping == nullptr && other != nullptr && other->range.end() == range.end()) {
      continue;
    }
    if (mapping == nullptr) {
      const DeadObject* gone = look.objects.dead(DeadKind::mapping, address.value());
      look.report(RuleId::set_access_not_mapped, {address.value()},
                  gone != nullptr ? gone->ended : MadeBy());
      return std::nullopt;
    }
    if (!range.contains(mapping->range)) {
      look.report(RuleId::set_access_cuts_mapping,
                  {mapping->range.begin().value(), mapping->range.size().value()}, mapping->made);
      return std::nullopt;
    }
  }
  Run run;
  DeviceAddress next = range.begin();
  bool has_hole = false;
  look.objects.for_each_mapping(range, [&](const LiveMapping& mapping) {
    has_hole = has_hole || mapping.range.begin() != next;
    if (!has_hole) {
      ++run.mappings;
      next = mapping.range.end();
    }
  });
  if (has_hole) {
    look.report(RuleId::set_access_over_hole, {next.value()});
  }
  run.range = AddressRange(range.begin(), next - range.begin());
  return run;
}

bool check_descriptors(Inspection& look, std::span<const AccessDescriptor> descriptors) {
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    const AccessDescriptor& one = descriptors[i];
    if (!is_known(one.flags)) {
      return look.report(RuleId::access_flags_unknown, {number_of(one.flags)});
    }
    if (!check_location(look, one.location)) {
      return false;
    }
  }
  for (std::size_t i = 1; i < descriptors.size(); ++i) {
    const auto before = descriptors.first(i);
    const auto same = [&](const AccessDescriptor& other) {
      return other.location == descriptors[i].location;
    };
    if (std::any_of(before.begin(), before.end(), same)) {
      look.report(RuleId::access_location_twice,
                  {number_of(descriptors[i].location.type), number(descriptors[i].location.id)});
      break;
    }
  }
  return true;
}

bool check_reach(Inspection& look, const LiveMapping& mapping, const AccessDescriptor& wanted) {
  if (wanted.flags == AccessFlags::none || mapping.memory == no_memory) {
    return true;
  }
  const LiveMemory& memory = look.objects.memory(mapping.memory);
  const Location at = memory.properties.location;
  if (memory.is_foreign || memory.is_multicast || at.type != LocationType::device) {
    return true;
  }
  if (is_host(wanted.location.type)) {
    return look.report(RuleId::access_host_to_device_memory,
                       {mapping.range.begin().value(), number(at.id)}, mapping.made);
  }
  const DeviceOrdinal device(wanted.location.id);
  return look.holds(look.facts.can_access(device, DeviceOrdinal(at.id)).value_or(true),
                    RuleId::access_peer_unreachable,
                    {number(device.value()), number(at.id), mapping.range.begin().value()},
                    mapping.made);
}

bool check_registration(Inspection& look, AddressRange range,
                        std::span<const AccessDescriptor> descriptors) {
  const auto obstacle = look.objects.access_obstacle(range, descriptors);
  if (!obstacle) {
    return true;
  }
  const LiveMapping& mapping = *obstacle->mapping;
  const std::uint64_t begin = mapping.range.begin().value();
  return obstacle->code == ErrorCode::unknown
             ? look.report(RuleId::set_access_rdma_unregistered, {obstacle->unnoted.value(), begin},
                           mapping.made)
             : look.report(RuleId::set_access_rdma_peer,
                           {number(descriptors[obstacle->descriptor].location.id), begin},
                           mapping.made);
}

bool takes_access_away(const LiveMapping& mapping, const AccessDescriptor& wanted) {
  return wanted.location.type == LocationType::device &&
         wanted.flags < mapping.access_of(DeviceOrdinal(wanted.location.id));
}

// Work of that device which may still use the range.
const PendingWork* work_of(const Inspection& look, AddressRange range, DeviceOrdinal device) {
  return look.work.in_flight(
      range, [&](ContextHandle context) { return look.device_of(context) == device; });
}

bool is_part_of_longer_row(const LiveObjects& objects, AddressRange range) {
  const LiveReservation* reservation = objects.reservation_at(range.begin());
  const auto joins = [&](const LiveMapping* neighbour, DeviceAddress border) {
    return neighbour != nullptr && reservation != nullptr &&
           (neighbour->range.end() == border || neighbour->range.begin() == border) &&
           reservation->range.contains(neighbour->range.begin());
  };
  return joins(objects.mapping_before(range.begin()), range.begin()) ||
         joins(objects.mapping_at(range.end()), range.end());
}

}  // namespace

TESSERA_CHECK_CALL(mem_set_access) {
  if (request.size.is_zero() || request.descriptors.empty()) {
    look.report(RuleId::set_access_empty, {request.size.value(), request.descriptors.size()});
    return;
  }
  if (request.descriptors.data() == nullptr) {
    look.report(RuleId::null_pointer);
    return;
  }
  const auto range = look.range_of(request.address, request.size);
  const auto run = range ? run_of(look, *range) : std::nullopt;
  if (!run || !check_descriptors(look, request.descriptors)) {
    return;
  }
  bool may_go_on = true;
  const PendingWork* work = nullptr;
  bool has_rdma = false;
  look.objects.for_each_mapping(run->range, [&](const LiveMapping& mapping) {
    for (const AccessDescriptor& wanted : request.descriptors) {
      may_go_on = may_go_on && check_reach(look, mapping, wanted);
      if (work == nullptr && takes_access_away(mapping, wanted)) {
        work = work_of(look, mapping.range, DeviceOrdinal(wanted.location.id));
      }
    }
    has_rdma =
        has_rdma || (mapping.memory != no_memory &&
                     look.objects.memory(mapping.memory).properties.gpu_direct_rdma_capable != 0);
  });
  if (!may_go_on || (has_rdma && !check_registration(look, run->range, request.descriptors))) {
    return;
  }
  const std::uint64_t begin = range->begin().value();
  const std::uint64_t size = range->size().value();
  if (work != nullptr) {
    look.report(RuleId::set_access_in_flight, {begin, size, work->queued.call_number},
                work->queued);
  }
  if (run->mappings > 1 && run->range == *range && is_part_of_longer_row(look.objects, *range)) {
    look.report(RuleId::set_access_part_of_run, {begin, size, run->mappings});
  }
}

TESSERA_CHECK_CALL(mem_get_access) {
  if (!look.pointers_are_given(request.null_pointers) || !check_location(look, request.location) ||
      look.objects.mapping_at(request.address) != nullptr) {
    return;
  }
  if (const LiveAllocation* other = look.objects.allocation_at(request.address)) {
    look.report(RuleId::get_access_other_memory, {request.address.value()}, other->made);
    return;
  }
  const DeadObject* gone = look.objects.dead(DeadKind::mapping, request.address.value());
  look.report(RuleId::get_access_not_mapped, {request.address.value()},
              gone != nullptr ? gone->ended : MadeBy());
}

}  // namespace tessera::validation
