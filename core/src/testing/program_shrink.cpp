#include "tessera/testing/program_shrink.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "testing/drop_runs.h"

namespace tessera::testing {
namespace {

// One way to make a call plainer; what it changes to the same is no change.
using Change = void (*)(Op&);
constexpr std::array<Change, 12> changes = {
    [](Op& op) { op.place.bytes = 0; },
    [](Op& op) { op.place.granules = 0; },
    [](Op& op) { op.source = {}; },
    [](Op& op) { op.extra = plain_bytes(0); },
    [](Op& op) { op.flags = 0; },
    [](Op& op) { op.device = 0; },
    [](Op& op) { op.value = op.kind == OpKind::set_access ? 3 : 1; },
    [](Op& op) { op.size.bytes = 0; },
    [](Op& op) { op.size.count = std::min<std::int16_t>(op.size.count, 1); },
    [](Op& op) { op.size.count = std::min<std::int16_t>(op.size.count, 2); },
    [](Op& op) { op.other = no_slot; },
    [](Op& op) { op.place.granules = std::min<std::int8_t>(op.place.granules, 1); },
};

class Shrinker {
 public:
  Shrinker(Program program, const FindFailing& find_failing, const ShrinkLimits& limits)
      : best_(std::move(program)), find_failing_(find_failing), left_(limits.attempts) {}

  Program run() {
    bool is_smaller = true;
    while (is_smaller && left_ != 0) {
      is_smaller = drop_calls();
      is_smaller = simplify_calls() || is_smaller;
      is_smaller = rename_slots() || is_smaller;
    }
    return best_;
  }

 private:
  // Tries candidates 0 to `count`, each made from the smallest program so far. `make` gives nothing
  // where that has no such candidate.
  template <class Make>
  bool take_failing(std::size_t count, Make&& make) {
    bool is_taken = false;
    for (std::size_t next = 0; next < count && left_ != 0;) {
      std::vector<Program> candidates;
      std::vector<std::size_t> numbers;
      for (std::size_t i = next; i < count && candidates.size() < left_; ++i) {
        if (std::optional<Program> candidate = make(i)) {
          candidate->drain = candidate->ops.size();
          candidates.push_back(std::move(*candidate));
          numbers.push_back(i);
        }
      }
      const std::optional<std::size_t> found =
          candidates.empty() ? std::nullopt : find_failing_(candidates);
      left_ -= found ? *found + 1 : candidates.size();
      if (!found) {
        break;
      }
      best_ = std::move(candidates[*found]);
      next = numbers[*found] + 1;
      is_taken = true;
    }
    return is_taken;
  }

  bool drop_calls() {
    return drop_runs(
        [this] { return best_.ops.size(); },
        [this](std::size_t count, const auto& run_of) {
          return take_failing(count, [&](std::size_t number) -> std::optional<Program> {
            const std::optional<ItemRun> run = run_of(number);
            if (!run) {
              return std::nullopt;
            }
            Program candidate = best_;
            const auto first = candidate.ops.begin() + static_cast<std::ptrdiff_t>(run->first);
            candidate.ops.erase(first, first + static_cast<std::ptrdiff_t>(run->count));
            return candidate;
          });
        });
  }

  bool simplify_calls() {
    return take_failing(best_.ops.size() * changes.size(),
                        [&](std::size_t number) -> std::optional<Program> {
                          const std::size_t index = number / changes.size();
                          Op op = best_.ops[index];
                          changes[number % changes.size()](op);
                          normalize(op);
                          if (op == best_.ops[index]) {
                            return std::nullopt;
                          }
                          Program candidate = best_;
                          candidate.ops[index] = op;
                          return candidate;
                        });
  }

  // Slots numbered in the order in which they are first filled, for who reads it.
  bool rename_slots() {
    std::array<std::array<std::uint8_t, slots_max>, slot_kinds> names = {};
    std::array<std::uint8_t, slot_kinds> used = {};
    for (auto& of_kind : names) {
      of_kind.fill(no_slot);
    }
    const auto name = [&](SlotKind kind, std::uint8_t slot) {
      if (kind == SlotKind::none || slot >= slots_max) {
        return slot;
      }
      const auto index = static_cast<std::size_t>(kind);
      if (names[index][slot] == no_slot) {
        names[index][slot] = used[index]++;
      }
      return names[index][slot];
    };
    Program candidate = best_;
    for (Op& op : candidate.ops) {
      op.object = name(object_of(op.kind), op.object);
      op.other = name(other_of(op.kind), op.other);
      op.place.slot = name(op.place.base, op.place.slot);
      op.source.slot = name(op.source.base, op.source.slot);
      op.result = name(result_of(op.kind), op.result);
    }
    return !(candidate == best_) &&
           take_failing(1, [&](std::size_t) { return std::optional<Program>(candidate); });
  }

  Program best_;
  const FindFailing& find_failing_;
  std::size_t left_;
};

}  // namespace

Program shrink_in_rounds(Program program, const FindFailing& find_failing,
                         const ShrinkLimits& limits) {
  return Shrinker(std::move(program), find_failing, limits).run();
}

Program shrink(Program program, const std::function<bool(const Program&)>& fails,
               const ShrinkLimits& limits) {
  return shrink_in_rounds(
      std::move(program),
      [&fails](std::span<const Program> candidates) -> std::optional<std::size_t> {
        const auto found = std::find_if(candidates.begin(), candidates.end(), fails);
        return found == candidates.end()
                   ? std::nullopt
                   : std::optional(static_cast<std::size_t>(found - candidates.begin()));
      },
      limits);
}

}  // namespace tessera::testing
