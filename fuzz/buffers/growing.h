// What the buffers that grow are made with.
#pragma once

#include "tessera/buffers/growable_buffer.h"
#include "world.h"

namespace tessera::fuzz {

[[nodiscard]] GrowableBufferOptions growable_options(World& world);

// Sizes, pieces and statistics agree.
void check_sizes(const World& world, const GrowableBuffer& buffer);

}  // namespace tessera::fuzz
