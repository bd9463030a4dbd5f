// vmm_alloc and vmm_free: memory of its own reservation, ready for use: what everyone writes first.
// Every failure is undone. vmm_free needs no size, and refuses an address that vmm_alloc did not
// give, or gave and took back.
#pragma once

#include "tessera/call_site.h"
#include "tessera/owners/access_set.h"
#include "tessera/owners/memory_options.h"
#include "tessera/owners/quiescence.h"
#include "tessera/owners/undo_failure.h"

namespace tessera {

struct VmmAllocOptions {
  MemoryOptions memory = {};
  // Who gets access, besides the device, or the host, that the memory is on.
  AccessSet access = {};
};

// `size` is rounded up to the granularity. The driver outlives what it gave. Any thread.
// ERRORS: those of granularity, reserve, create, map and set access; nothing is left then.
[[nodiscard]] Result<DeviceAddress> vmm_alloc(DriverUse use, Bytes size,
                                              const VmmAllocOptions& options = {},
                                              CallSite site = CallSite::here());

// Waits for the work of the current context and of the primary contexts of all devices with access,
// or takes proof that it is done.
// Null is harmless. ERRORS: invalid_value (vmm_alloc did not give this address, or several drivers
// did: name the driver); those of undoing, after which it is still allocated and can be freed
// again.
Status vmm_free(DeviceAddress address);
Status vmm_free(Driver& driver, DeviceAddress address);
Status vmm_free(Driver& driver, DeviceAddress address, Quiescence proof);

// The range that vmm_alloc gave at `address`. ERRORS: as vmm_free.
[[nodiscard]] Result<AddressRange> vmm_range(Driver& driver, DeviceAddress address);

}  // namespace tessera
