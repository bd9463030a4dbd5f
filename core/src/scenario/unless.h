// Fields that scenarios leave out where they have their usual value.
#pragma once

#include <optional>

namespace tessera::scenario {

template <class T>
std::optional<T> unless(T value, T usual = {}) {
  return value == usual ? std::nullopt : std::optional(value);
}

}  // namespace tessera::scenario
