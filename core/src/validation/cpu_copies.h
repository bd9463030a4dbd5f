// Copies that the CPU does: a side of a copy that begins in host memory, to which the device has no
// access, is read or written by the CPU, with the host's access, and the call waits for that
// [h200].
#pragma once

#include "tessera/live_objects.h"

namespace tessera::validation {

// `copier`: the context that copies.
[[nodiscard]] inline bool is_copied_by_cpu(const LiveObjects& objects, DeviceAddress begin,
                                           ContextHandle copier) {
  const LiveMapping* mapping = objects.mapping_at(begin);
  const LiveContext* context = objects.context(copier);
  return mapping != nullptr && mapping->memory != no_memory && context != nullptr &&
         !mapping->is_unknown(context->device) &&
         is_host(objects.memory(mapping->memory).properties.location.type) &&
         mapping->access_of(context->device) == AccessFlags::none;
}

}  // namespace tessera::validation
