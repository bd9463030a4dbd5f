// Sketch: what a program has made so far, if its calls did what they looked like doing. The
// generator draws operands from it; it need not be right, only mostly so. What may be left to undo
// it keeps for certain: `drain` gives the calls that undo it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/testing/program.h"

namespace tessera::testing {

class Sketch {
 public:
  static constexpr int reservation_max = 32;  // granules that are kept track of

  struct Reservation {
    Size size;
    std::int16_t granules = 0;  // zero: not one that is kept track of
    std::uint32_t taken = 0;    // granules with a mapping, as bits
  };
  struct Mapping {
    Place place;
    Size size;
    std::uint8_t handle = no_slot;
    bool is_known = false;  // where it lies, and that it is there
    bool is_accessible = false;
    std::int8_t device = 0;  // of its memory
  };
  struct Memory {
    std::int16_t granules = 0;
    std::uint8_t owed = 0;  // references that this slot's call took
    std::uint8_t same_as = no_slot;
    std::int8_t device = 0;
    bool is_exportable = false;
    bool is_multicast = false;
    bool is_on_host = false;
    bool is_released = false;
  };
  struct Pointer {
    std::int16_t bytes = 0;
    bool is_stream_ordered = false;
    bool is_host = false;
  };

  void clear();
  // Notes what the operation may have made. `is_likely`: it should have succeeded.
  void apply(const Op& op, bool is_likely);
  void drain(std::vector<Op>& ops) const;

  // Slots that hold something, as bits.
  [[nodiscard]] std::uint16_t live(SlotKind kind) const noexcept {
    return live_[static_cast<std::size_t>(kind)];
  }
  // Slots that nothing to be undone depends on.
  [[nodiscard]] std::uint16_t vacant(SlotKind kind) const noexcept;
  [[nodiscard]] const Reservation& reservation(unsigned slot) const { return reservations_[slot]; }
  [[nodiscard]] const Memory& memory(unsigned slot) const { return memories_[slot]; }
  [[nodiscard]] const Pointer& pointer(unsigned slot) const { return pointers_[slot]; }
  [[nodiscard]] const std::vector<Mapping>& mappings() const noexcept { return mappings_; }
  [[nodiscard]] bool has_context() const noexcept { return has_context_; }
  [[nodiscard]] std::uint8_t event_stream(unsigned event) const { return event_streams_[event]; }

 private:
  void apply_result(const Op& op, bool is_likely);
  void apply_map(const Op& op, bool is_likely);
  void apply_unmap(const Op& op, bool is_likely);
  void apply_release(const Op& op, bool is_likely);
  void apply_context(const Op& op, bool is_likely);
  void take(const Mapping& mapping, bool on) noexcept;
  void set(SlotKind kind, unsigned slot, bool live, bool held) noexcept;
  void drain_contexts(std::vector<Op>& ops) const;

  std::array<std::uint16_t, slot_kinds> live_ = {};
  std::array<std::uint16_t, slot_kinds> held_ = {};  // may have something to be undone
  std::array<Reservation, slots_max> reservations_ = {};
  std::array<Memory, slots_max> memories_ = {};
  std::array<Pointer, slots_max> pointers_ = {};
  std::array<std::uint8_t, slots_max> event_streams_ = {};
  std::vector<Mapping> mappings_;
  std::array<std::uint8_t, 8> retained_ = {};  // references to primary contexts, by device
  bool has_context_ = true;
  bool is_home_released_ = false;  // the reference that programs begin with
  bool is_home_reset_ = false;
  bool is_home_ = true;  // the primary context of device 0 is current
};

}  // namespace tessera::testing
