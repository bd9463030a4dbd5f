#include "tessera/scenario/world.h"

namespace tessera::scenario {

World::~World() = default;

}  // namespace tessera::scenario
