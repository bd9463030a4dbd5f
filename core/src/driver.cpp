#include "tessera/driver.h"

namespace tessera {

Driver::~Driver() = default;

}  // namespace tessera
