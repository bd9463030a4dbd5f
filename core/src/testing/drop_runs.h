// The first half of making a failing program small: whatever can be left out is left out.
#pragma once

#include <algorithm>
#include <cstddef>

namespace tessera::testing {

// Leaves out runs of items, longest first, from the end: what comes later depends on what comes
// before. `size()` is how many items there are now; `take_without(first, count)` tries the rest,
// and keeps it and says true if it still fails. Returns whether anything was left out.
template <class Size, class TakeWithout>
bool drop_runs(const Size& size, const TakeWithout& take_without) {
  bool is_smaller = false;
  for (std::size_t run = std::max<std::size_t>(size() / 2, 1); run != 0; run /= 2) {
    for (std::size_t end = size(); end >= run && end != 0;) {
      const bool is_taken = take_without(end - run, run);
      is_smaller = is_smaller || is_taken;
      end -= is_taken ? std::min(run, end) : 1;
      end = std::min(end, size());
    }
  }
  return is_smaller;
}

}  // namespace tessera::testing
