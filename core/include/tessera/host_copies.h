// Who does the copies of memory on the host: the device, or the CPU with the host's access.
//
// What an H200's driver does (host_copies.vmm.gz, 9,091 calls). The CPU must copy what begins in
// memory on the host to which the device has no access. What host and device both have access to,
// it copies if the other side is within its reach too; a little of it, it also reads for a stream
// that is idle, but for a copy to managed memory. All else the device copies. What the CPU reads
// for a device is staged at the call, unless it is much; for all else that the CPU copies the call
// waits.
#pragma once

#include <cstdint>

#include "tessera/bytes.h"

namespace tessera {

// What the CPU can do of a side of a copy: nothing, what the device can do too, or all, alone. The
// program's own memory is the CPU's alone; where the host has access to a part of a range, it is
// shared, and the process crashes at the rest.
enum class CpuReach : std::uint8_t { none, shared, alone };

// What the CPU reads for an idle stream at most (24,577 bytes it does not), and what it stages
// (3 MiB it does not).
inline constexpr Bytes idle_read_max = 24_KiB;
inline constexpr Bytes staged_copy_max = 2_MiB;

struct CopiedByCpu {
  bool destination = false;
  bool source = false;
};
// `reads_for_idle_stream`: it is a little, for a stream that is idle.
[[nodiscard]] constexpr CopiedByCpu copied_by_cpu(CpuReach destination, CpuReach source,
                                                  bool reads_for_idle_stream = false) noexcept {
  const bool reaches_both = destination != CpuReach::none && source != CpuReach::none;
  return {.destination = destination == CpuReach::alone || reaches_both,
          .source = source == CpuReach::alone || reaches_both ||
                    (source == CpuReach::shared && reads_for_idle_stream)};
}

}  // namespace tessera
