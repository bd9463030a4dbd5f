// What the books say of who copies (tessera/host_copies.h). Where the CPU has no access, the
// process crashes [h200].
#pragma once

#include "tessera/host_copies.h"
#include "tessera/live_objects.h"
#include "tessera/requests.h"

namespace tessera::validation {

// `copier`: the context that copies.
[[nodiscard]] CpuReach cpu_reach(const LiveObjects& objects, AddressRange side,
                                 ContextHandle copier);

// Whether it is so little that the CPU reads a source within its reach if the stream is idle: not
// for managed memory.
[[nodiscard]] bool may_be_read_by_cpu(const LiveObjects& objects, const MemcpyDtodRequest& copy,
                                      CpuReach source);

}  // namespace tessera::validation
