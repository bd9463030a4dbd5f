// What owners share: a reservation and a memory live until the last of their holders is gone.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include "owners/state_memory.h"
#include "tessera/address.h"
#include "tessera/call_site.h"
#include "tessera/owners/physical_allocation.h"
#include "tessera/owners/undo_failure.h"

namespace tessera::detail {

class ReservationState {
 public:
  ReservationState(DriverUse use, AddressRange range, Bytes granularity, CallSite site) noexcept
      : use_(use), range_(range), granularity_(granularity), site_(site) {}
  ReservationState(const ReservationState&) = delete;
  ReservationState& operator=(const ReservationState&) = delete;
  ~ReservationState() {
    if (open_) [[unlikely]] {
      report(close());
    }
  }

  [[nodiscard]] Driver& driver() const noexcept { return *use_.driver; }
  [[nodiscard]] const DriverUse& use() const noexcept { return use_; }
  [[nodiscard]] AddressRange range() const noexcept { return range_; }
  [[nodiscard]] Bytes granularity() const noexcept { return granularity_; }

  // A mapping in it could not be unmapped, and went to the sink. Nor can the addresses be freed
  // before that, so they go there, too.
  void leave_behind(const Error& error) noexcept { leftover_ = error; }
  [[nodiscard]] bool has_leftovers() const noexcept { return leftover_.has_value(); }

  // Nothing more to do after a success, or when it went to the sink.
  Status close() {
    if (leftover_ && open_) [[unlikely]] {
      open_ = false;
      report(*leftover_);
    }
    if (open_) {
      TESSERA_TRY(driver().mem_address_free({.address = range_.begin(), .size = range_.size()}));
      open_ = false;
    }
    return {};
  }

 private:
  void report(const Status& status) noexcept;

  DriverUse use_;
  AddressRange range_;
  Bytes granularity_;
  CallSite site_;
  std::optional<Error> leftover_;
  bool open_ = true;
};

class PhysicalState {
 public:
  PhysicalState(DriverUse use, AllocationHandle handle, Bytes size,
                const AllocationProperties& asked, MemoryOrigin origin, CallSite site) noexcept
      : use_(use), handle_(handle), size_(size), asked_(asked), origin_(origin), site_(site) {}
  PhysicalState(const PhysicalState&) = delete;
  PhysicalState& operator=(const PhysicalState&) = delete;
  ~PhysicalState() {
    if (open_) [[unlikely]] {
      report(close());
    }
  }

  [[nodiscard]] Driver& driver() const noexcept { return *use_.driver; }
  [[nodiscard]] const DriverUse& use() const noexcept { return use_; }
  [[nodiscard]] AllocationHandle handle() const noexcept { return handle_; }
  [[nodiscard]] Bytes size() const noexcept { return size_; }
  [[nodiscard]] const AllocationProperties& asked() const noexcept { return asked_; }
  [[nodiscard]] MemoryOrigin origin() const noexcept { return origin_; }

  // A binding of it could not be unbound, and went to the sink; the reference goes there, too,
  // because what is bound is not to be released before.
  void leave_behind(const Error& error) noexcept { leftover_ = error; }

  // What the driver said of memory that came from elsewhere.
  void note_properties(const AllocationProperties& properties) noexcept { asked_ = properties; }

  // Nothing more to do after a success, or when it went to the sink.
  Status close() {
    if (leftover_ && open_) [[unlikely]] {
      open_ = false;
      report(*leftover_);
    }
    if (open_) {
      TESSERA_TRY(driver().mem_release(handle_));
      open_ = false;
    }
    return {};
  }

 private:
  void report(const Status& status) noexcept;

  DriverUse use_;
  AllocationHandle handle_;
  Bytes size_;
  AllocationProperties asked_;
  MemoryOrigin origin_;
  CallSite site_;
  std::optional<Error> leftover_;
  bool open_ = true;
};

// Whoever shares it; the last one's end is the state's.
template <class State, class... Arguments>
std::shared_ptr<State> make_state(Arguments&&... arguments) {
  return std::allocate_shared<State>(StateMemory<State>(), std::forward<Arguments>(arguments)...);
}

// Gives up a share of a state. Where it is the last one, the state is closed first, and kept if
// that fails. Two threads that give up the last two shares at once may both leave it to the
// destructor, whose failure goes to the sink.
template <class State>
Status give_up(std::shared_ptr<State>& state) {
  if (state != nullptr) {
    if (state.use_count() == 1) {
      TESSERA_TRY(state->close());
    }
    state.reset();
  }
  return {};
}

}  // namespace tessera::detail
