// Programs that mean the same on every driver: without calls that no documentation gives a meaning,
// such as the use of a handle that is dead, which ends the process on a real driver.
#pragma once

#include <cstdint>

#include "tessera/sim/profile.h"
#include "tessera/testing/program.h"

namespace tessera::tools {

// The program without
//   - calls that crash a real driver, by the rules of the validation layer;
//   - calls on addresses that are neither the program's nor close to null, and copies and unmaps
//     that end beyond 2^64: the driver has memory of its own there, at places that differ from
//     process to process;
//   - calls on an allocation that is gone, and questions where one lies in its block: the driver
//     puts them where it likes;
//   - releases of a handle that is gone, once another was made: its number may be in use again;
//   - hints of reservations: whether one is honoured hangs on where the driver has memory;
//   - mappings, unmaps and access past the end of a reservation, where the driver may have memory
//     of its own: on machines of several devices, and where it makes some while the program runs;
//   - copies of little that the host, too, has access to, in a stream of the program's own: behind
//     work of the default stream a device may read too soon (docs/fidelity.md);
//   - on machines of several devices, calls beside the reservation that they name: what lies there
//     hangs on where the driver puts reservations, which is known of one device;
// and with a synchronize before a call that takes memory from under a copy: a copy is over at once
// on the simulator, and sooner or later on a device. (A kernel lasts as long as it is told to.)
// The machine has such a profile and so many devices.
[[nodiscard]] testing::Program defined_program(testing::Program program,
                                               const sim::Profile& profile, std::int32_t devices);

// The program with kernels that last longer than the calls around them on a real device, so that
// what happens while they run does so there, too.
[[nodiscard]] testing::Program with_long_kernels(testing::Program program);

}  // namespace tessera::tools
