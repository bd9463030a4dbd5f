#include "validation/cpu_copies.h"

namespace tessera::validation {

namespace {

// Memory that the layer has not seen made, or was imported, is on the host if the host has access.
bool is_on_host(const LiveObjects& objects, const LiveMapping& mapping) {
  const bool is_known = mapping.memory != no_memory && !objects.memory(mapping.memory).is_foreign;
  return is_known ? is_host(objects.memory(mapping.memory).properties.location.type)
                  : mapping.host != AccessFlags::none;
}

}  // namespace

CpuReach cpu_reach(const LiveObjects& objects, AddressRange side, ContextHandle copier) {
  const LiveMapping* first = objects.mapping_at(side.begin());
  const LiveContext* context = objects.context(copier);
  if (side.is_empty()) {
    return CpuReach::none;
  }
  if (first != nullptr && context != nullptr && is_on_host(objects, *first) &&
      !first->is_unknown(context->device) &&
      first->access_of(context->device) == AccessFlags::none) {
    return CpuReach::alone;
  }
  for (DeviceAddress next = side.begin(); next < side.end();) {
    if (const LiveMapping* mapping = objects.mapping_at(next)) {
      if (!mapping->is_host_unknown && mapping->host != AccessFlags::none) {
        return CpuReach::shared;
      }
      next = mapping->range.end();
    } else if (const LiveAllocation* other = objects.allocation_at(next)) {
      return other->kind == OtherMemory::host ? CpuReach::shared : CpuReach::none;
    } else {
      break;
    }
  }
  return CpuReach::none;
}

bool may_be_read_by_cpu(const LiveObjects& objects, const MemcpyDtodRequest& copy,
                        CpuReach source) {
  const LiveAllocation* to = objects.allocation_at(copy.destination);
  return source == CpuReach::shared && copy.size <= idle_read_max &&
         (to == nullptr || to->kind != OtherMemory::managed);
}

}  // namespace tessera::validation
