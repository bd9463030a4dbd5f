// Small programs, one for each owner, buffer and the transport, that use it all and leave nothing:
// for sweeps of faults on the simulator, and for the same on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/owners/undo_failure.h"

namespace tessera::test {

struct OwnerProgram {
  const char* name;
  Status (*body)(DriverUse use);
  std::int32_t devices = 1;  // that it uses
  // Gets over some errors by design, and then succeeds.
  bool may_recover = false;
  bool simulated_only = false;
};

[[nodiscard]] const std::vector<OwnerProgram>& owner_programs();

// Runs the body. What a destructor could not give back is tried again, and is the program's error
// if it has no other. A context is current.
Status run_owner_program(const OwnerProgram& program, Driver& driver);

}  // namespace tessera::test
