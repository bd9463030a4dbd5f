// Deep states: rare situations that programs must reach for a run to be worth something, and a
// detector that watches the naive model for them. deep_states.def has the list.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "model/naive_model.h"

namespace tessera::model {

enum class DeepState : std::uint8_t {
#define TESSERA_DEEP_STATE(name, floor, text) name,
#include "model/deep_states.def"
#undef TESSERA_DEEP_STATE
};
inline constexpr std::size_t deep_state_count = 0
#define TESSERA_DEEP_STATE(name, floor, text) +1
#include "model/deep_states.def"
#undef TESSERA_DEEP_STATE
    ;

[[nodiscard]] std::string_view name_of(DeepState state) noexcept;
// The least share of programs that must reach it, in thousandths.
[[nodiscard]] unsigned floor_of(DeepState state) noexcept;

class DeepStates {
 public:
  // Around each program and each operation of it.
  void begin() noexcept;
  void before(const Op& op, const NaiveModel& model) noexcept;
  void after(const Op& op, const Arguments& arguments, const Outcome& outcome,
             const NaiveModel& model) noexcept;
  void end(const NaiveModel& model, bool was_drained) noexcept;

  [[nodiscard]] std::uint64_t programs() const noexcept { return programs_; }
  // How many programs reached it.
  [[nodiscard]] std::uint64_t count(DeepState state) const noexcept {
    return counts_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] std::size_t seen() const noexcept;
  void add(const DeepStates& other) noexcept;

 private:
  void reach(DeepState state, bool is_reached) noexcept {
    reached_ |= std::uint64_t{is_reached ? 1U : 0U} << static_cast<unsigned>(state);
  }
  void look_at_mapping(const Op& op, const Arguments& arguments, const Outcome& outcome,
                       const NaiveModel& model) noexcept;
  void look_at_memory(const Op& op, const Arguments& arguments, const Outcome& outcome,
                      const NaiveModel& model) noexcept;
  void look_at_data(const Op& op, const Arguments& arguments, const Outcome& outcome,
                    const NaiveModel& model) noexcept;
  void look_at_copy(const Arguments& arguments, const Outcome& outcome,
                    const NaiveModel& model) noexcept;

  std::array<std::uint64_t, deep_state_count> counts_ = {};
  std::uint64_t programs_ = 0;
  std::uint64_t reached_ = 0;  // by this program, as bits
  // Before the operation.
  std::size_t blocks_ = 0;
  std::size_t legacy_ = 0;
  std::size_t contexts_ = 0;  // alive, where the operation may end some
  std::size_t work_ = 0;
  unsigned maps_ = 0;
};
static_assert(deep_state_count <= 64);

}  // namespace tessera::model
