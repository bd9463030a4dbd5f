// What all buffers ask before they make anything, so that a refusal names what is wrong with it.
#pragma once

#include <span>

#include "tessera/driver.h"
#include "tessera/owners/access_set.h"
#include "tessera/owners/memory_options.h"

namespace tessera::detail {

// ERRORS: invalid_device (one of them does not exist).
Status check_devices(Driver& driver, std::span<const DeviceOrdinal> devices);

// `access`, and read and write for the device that the memory is on unless `access` names it.
// ERRORS: invalid_device; peer_access_unsupported (a device cannot reach the memory).
Result<AccessSet> checked_access(Driver& driver, const MemoryOptions& memory,
                                 const AccessSet& access);

// What a call of a buffer that was closed, or moved from, comes back with.
[[nodiscard]] Error buffer_is_closed() noexcept;

}  // namespace tessera::detail
