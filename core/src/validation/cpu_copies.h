// Copies that the CPU does: a side of a copy that begins in host memory, to which the device has no
// access, is read or written by the CPU, with the host's access, and the call waits for that
// [h200].
#pragma once

#include <optional>

#include "tessera/live_objects.h"

namespace tessera::validation {

// `device`: of the context that copies; nothing where it is not known.
[[nodiscard]] inline bool is_copied_by_cpu(const LiveObjects& objects, DeviceAddress begin,
                                           std::optional<DeviceOrdinal> device) {
  const LiveMapping* mapping = objects.mapping_at(begin);
  return device && mapping != nullptr && mapping->memory != no_memory &&
         !mapping->is_unknown(*device) &&
         is_host(objects.memory(mapping->memory).properties.location.type) &&
         mapping->access_of(*device) == AccessFlags::none;
}

}  // namespace tessera::validation
