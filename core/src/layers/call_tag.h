// Picks an overload by the call, for code that treats most calls alike and some on their own.
#pragma once

#include <type_traits>

#include "tessera/layers/intercept.h"

namespace tessera::layers {

template <Call call>
using CallTag = std::integral_constant<Call, call>;

}  // namespace tessera::layers
