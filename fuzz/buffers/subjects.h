// One maker for each kind of buffer; null where the machine has no room for it, or a fault met it.
#pragma once

#include <memory>

#include "world.h"

namespace tessera::fuzz {

[[nodiscard]] std::unique_ptr<Subject> make_growable(World& world);
[[nodiscard]] std::unique_ptr<Subject> make_vector(World& world);
[[nodiscard]] std::unique_ptr<Subject> make_sleepable(World& world);
[[nodiscard]] std::unique_ptr<Subject> make_striped(World& world);
[[nodiscard]] std::unique_ptr<Subject> make_ring(World& world);
[[nodiscard]] std::unique_ptr<Subject> make_vmm_alloc(World& world);

}  // namespace tessera::fuzz
