// must(): the value of a call that a test takes for granted. Without one the test ends here, so the
// value itself may be left alone.
#pragma once

#include <stdexcept>
#include <utility>

#include "tessera/result.h"

namespace tessera::test {

template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(to_string(result.error()));
  }
  return std::move(result).value();
}
inline void must(const Status& status) {
  if (!status) {
    throw std::runtime_error(to_string(status.error()));
  }
}

}  // namespace tessera::test
