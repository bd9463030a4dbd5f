#include "page_fills.h"

#include <iterator>

namespace tessera::sim {

std::uint8_t PageFills::value_at(std::uint64_t page) const noexcept {
  const auto after = runs_.upper_bound(page);
  if (after == runs_.begin()) {
    return 0;
  }
  const Run& run = std::prev(after)->second;
  return page < run.end ? run.value : std::uint8_t{0};
}

bool PageFills::any_in(std::uint64_t begin, std::uint64_t end) const noexcept {
  const auto after = runs_.lower_bound(end);
  return after != runs_.begin() && std::prev(after)->second.end > begin;
}

void PageFills::set(std::uint64_t begin, std::uint64_t end, std::uint8_t value) {
  auto run = runs_.lower_bound(begin);
  if (run != runs_.begin()) {
    Run& before = std::prev(run)->second;
    if (before.end > end) {
      runs_.emplace_hint(run, end, before);
    }
    before.end = before.end > begin ? begin : before.end;
  }
  while (run != runs_.end() && run->first < end) {
    if (run->second.end > end) {
      runs_.emplace_hint(std::next(run), end, run->second);
    }
    run = runs_.erase(run);
  }
  if (value != 0) {
    runs_.emplace_hint(run, begin, Run{.end = end, .value = value});
  }
}

}  // namespace tessera::sim
