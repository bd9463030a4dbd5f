// PageFills: which whole pages hold one value and nothing else, so that a fill of any size costs a
// few words. Pages that are not named hold zeros.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <map>

namespace tessera::sim {

class PageFills {
 public:
  struct Run {
    std::uint64_t end;  // behind its last page
    std::uint8_t value;
  };

  [[nodiscard]] std::uint8_t value_at(std::uint64_t page) const noexcept;
  // Whether one of the pages from `begin` to before `end` is named.
  [[nodiscard]] bool any_in(std::uint64_t begin, std::uint64_t end) const noexcept;
  // The pages from `begin` to before `end`, of which there is one; zero: they are not named.
  void set(std::uint64_t begin, std::uint64_t end, std::uint8_t value);
  void clear() noexcept { runs_.clear(); }
  // By the first page; they do not overlap.
  [[nodiscard]] const std::map<std::uint64_t, Run>& runs() const noexcept { return runs_; }

 private:
  std::map<std::uint64_t, Run> runs_;
};

}  // namespace tessera::sim
