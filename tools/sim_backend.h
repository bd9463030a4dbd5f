// The simulator as a backend: a new simulated machine for each world.
#pragma once

#include <memory>

#include "backend.h"
#include "tessera/sim/profile.h"

namespace tessera::tools {

[[nodiscard]] std::unique_ptr<Backend> make_sim_backend(sim::Profile profile,
                                                        const BackendOptions& options);

}  // namespace tessera::tools
