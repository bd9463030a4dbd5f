// Copies that the CPU does, with the host's access: without that the process crashes [h200].
#pragma once

#include <cstdint>

#include "tessera/live_objects.h"
#include "tessera/requests.h"

namespace tessera::validation {

// What the CPU can do of a side of a copy: nothing, what the device can too (it has access, and the
// host has access to a part), or all alone (it begins in memory on the host, to which the device
// has no access). Host memory of the program's own is the CPU's alone.
enum class CpuReach : std::uint8_t { none, shared, alone };
// `copier`: the context that copies.
[[nodiscard]] CpuReach cpu_reach(const LiveObjects& objects, AddressRange side,
                                 ContextHandle copier);

// Which sides the CPU copies: those that are its alone, and both where it reaches both. The call
// waits for what the CPU writes.
struct CopiedByCpu {
  bool destination = false;
  bool source = false;
};
[[nodiscard]] CopiedByCpu copied_by_cpu(CpuReach destination, CpuReach source) noexcept;
// Whether it is so little that the CPU reads a source within its reach if the stream is idle: not
// for managed memory.
[[nodiscard]] bool may_be_read_by_cpu(const LiveObjects& objects, const MemcpyDtodRequest& copy,
                                      CpuReach source);

}  // namespace tessera::validation
