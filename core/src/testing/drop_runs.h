// The first half of making a failing program small: whatever can be left out is left out.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

namespace tessera::testing {

struct ItemRun {
  std::size_t first = 0;
  std::size_t count = 0;
};

// Leaves out runs of items, longest first, from the end: what comes later depends on what comes
// before. `size()` is how many items there are now. `take(count, run_of)` tries candidates 0 to
// `count`, in order or several at once, each without `run_of(number)` of the items that are left
// then, if that is anything; it keeps those that still fail, and says whether there were any.
// Returns whether anything was left out.
template <class Size, class Take>
bool drop_runs(const Size& size, const Take& take) {
  bool is_smaller = false;
  for (std::size_t run = std::max<std::size_t>(size() / 2, 1); run != 0; run /= 2) {
    const std::size_t count = size();
    const auto run_of = [&](std::size_t number) -> std::optional<ItemRun> {
      const std::size_t end = count - number;
      return end < run || end > size() ? std::nullopt : std::optional(ItemRun{end - run, run});
    };
    is_smaller = take(count, run_of) || is_smaller;
  }
  return is_smaller;
}

}  // namespace tessera::testing
