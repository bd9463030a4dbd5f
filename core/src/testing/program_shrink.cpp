#include "tessera/testing/program_shrink.h"

#include <algorithm>
#include <array>

namespace tessera::testing {
namespace {

class Shrinker {
 public:
  Shrinker(Program program, const std::function<bool(const Program&)>& fails,
           const ShrinkLimits& limits)
      : best_(std::move(program)), fails_(fails), left_(limits.attempts) {}

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
  bool take_if_failing(Program candidate) {
    if (left_ == 0) {
      return false;
    }
    --left_;
    candidate.drain = candidate.ops.size();
    if (!fails_(candidate)) {
      return false;
    }
    best_ = std::move(candidate);
    return true;
  }

  // Runs of calls, longest first, from the end: what comes later depends on what comes before.
  bool drop_calls() {
    bool is_smaller = false;
    for (std::size_t run = std::max<std::size_t>(best_.ops.size() / 2, 1); run != 0; run /= 2) {
      for (std::size_t end = best_.ops.size(); end >= run && end != 0;) {
        Program candidate = best_;
        const auto first = candidate.ops.begin() + static_cast<std::ptrdiff_t>(end - run);
        candidate.ops.erase(first, first + static_cast<std::ptrdiff_t>(run));
        const bool is_taken = take_if_failing(std::move(candidate));
        is_smaller = is_smaller || is_taken;
        end -= is_taken ? std::min(run, end) : 1;
        end = std::min(end, best_.ops.size());
      }
    }
    return is_smaller;
  }

  template <class Change>
  bool try_change(std::size_t index, Change&& change) {
    Program candidate = best_;
    change(candidate.ops[index]);
    normalize(candidate.ops[index]);
    return !(candidate.ops[index] == best_.ops[index]) && take_if_failing(std::move(candidate));
  }

  bool simplify_calls() {
    bool is_simpler = false;
    for (std::size_t i = 0; i < best_.ops.size(); ++i) {
      const auto change = [&](auto&& how) { is_simpler = try_change(i, how) || is_simpler; };
      change([](Op& op) { op.place.bytes = 0; });
      change([](Op& op) { op.place.granules = 0; });
      change([](Op& op) { op.source = {}; });
      change([](Op& op) { op.extra = plain_bytes(0); });
      change([](Op& op) { op.flags = 0; });
      change([](Op& op) { op.device = 0; });
      change([](Op& op) { op.value = op.kind == OpKind::set_access ? 3 : 1; });
      change([](Op& op) { op.size.bytes = 0; });
      for (const std::int16_t count : {std::int16_t{1}, std::int16_t{2}}) {
        if (best_.ops[i].size.count > count) {
          change([&](Op& op) { op.size.count = count; });
        }
      }
      if (best_.ops[i].other != no_slot) {
        change([](Op& op) { op.other = no_slot; });
      }
      if (best_.ops[i].place.granules > 1) {
        change([](Op& op) { op.place.granules = 1; });
      }
    }
    return is_simpler;
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
    return !(candidate == best_) && take_if_failing(std::move(candidate));
  }

  Program best_;
  const std::function<bool(const Program&)>& fails_;
  std::size_t left_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails,
               const ShrinkLimits& limits) {
  return Shrinker(std::move(program), fails, limits).run();
}

}  // namespace tessera::testing
