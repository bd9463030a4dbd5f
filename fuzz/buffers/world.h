// The world of one fuzzed program on buffers: a simulated machine under the layers that inject
// faults and look for broken rules, and what is asked of all kinds of buffers alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tessera/layers/fault_injecting_driver.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/owners/access_set.h"
#include "tessera/owners/memory_options.h"
#include "tessera/owners/quiescence.h"
#include "tessera/owners/undo_failure.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/choices.h"

namespace tessera::fuzz {

using tessera::testing::Choices;

inline constexpr DeviceOrdinal device_0{0};
inline constexpr DeviceOrdinal device_1{1};

class World {
 public:
  // The simulator has just been restarted; it and the choices outlive the world.
  World(sim::SimDriver& simulator, std::int32_t devices, const sim::Profile& profile,
        Choices& choices);

  [[nodiscard]] Choices& choices() noexcept { return choices_; }
  [[nodiscard]] DriverUse use() noexcept { return {driver_, sink_}; }
  [[nodiscard]] Driver& driver() noexcept { return driver_; }
  // The distance of the bytes that are written and read back.
  [[nodiscard]] Bytes unit() const noexcept { return unit_; }

  // --- Arguments ---

  [[nodiscard]] Bytes size();
  [[nodiscard]] MemoryOptions memory();
  // Device 0 is always among those with access: from there bytes are read back.
  [[nodiscard]] AccessSet access();
  [[nodiscard]] DeviceOrdinal device();
  // Also one that proves nothing; not one that would be wrong. Nothing where making it failed.
  [[nodiscard]] std::optional<Quiescence> proof();

  // --- Steps ---

  // Other calls fail from now on.
  void plan_faults();
  // A kernel reads there for a while.
  void launch_at(DeviceAddress address);
  // Work was queued that nobody waited for.
  void note_work() noexcept { has_work_ = true; }
  void begin_step();
  // Whether a call worked. Its error must be one that was injected, or that such a machine, or such
  // arguments (`also`), may give.
  template <class Answer>
  bool worked(const char* what, const Answer& answer,
              std::initializer_list<ErrorCode> also = {ErrorCode::invalid_value}) {
    return judge(what, answer ? Error{} : answer.error(), also);
  }
  // The same of a call that makes something: after an error nothing of it may be left.
  template <class Answer>
  bool made(const char* what, const Answer& answer) {
    const bool is_made = worked(what, answer);
    if (!is_made) {
      require_nothing_left();
    }
    return is_made;
  }
  // After a call that failed and leaves nothing: the books are as when the step began.
  void require_nothing_left();
  void stop_faults() { faults_.set_plan({}); }
  // All was given back, where possible; the rest is in the sink. No fault from here on.
  void finish();

  // --- Bytes, past all layers ---

  void put(DeviceAddress address, std::uint8_t value);
  [[nodiscard]] std::uint8_t get(DeviceAddress address);

  // Prints what was done, and `what`, and aborts, unless it holds.
  void require(bool holds, const char* what) const {
    if (!holds) [[unlikely]] {
      fail(what);
    }
  }

 private:
  struct Step {
    const char* what;
    Error error;
  };

  bool judge(const char* what, const Error& error, std::initializer_list<ErrorCode> also);
  [[noreturn]] void fail(const char* what) const;

  sim::SimDriver& simulator_;
  std::int32_t devices_;
  Choices& choices_;
  Bytes unit_;
  // Sizes that its reservations refuse come up: the buffers know the granularity of memory alone.
  bool refuses_sizes_;
  FaultInjectingDriver faults_;
  ValidatingDriver driver_;
  CollectingSink sink_;
  sim::Books at_begin_;
  StreamHandle stream_;
  bool has_work_ = false;
  // When the step began.
  sim::Books before_;
  std::uint64_t faults_before_ = 0;
  std::size_t undo_failures_before_ = 0;
  std::vector<Step> steps_;
};

// A byte in each unit of a range that was written, and is to be found again.
class Marks {
 public:
  explicit Marks(World& world) noexcept : world_(&world) {}

  // So many bytes are there now; what is new holds anything.
  void resize(Bytes size) {
    values_.resize(static_cast<std::size_t>((size.value() + world_->unit().value() - 1) /
                                            world_->unit().value()));
  }
  void forget() { values_.assign(values_.size(), 0); }
  // Writes one.
  void write(DeviceAddress base);
  // Those in the first `size` bytes.
  void check(DeviceAddress base, Bytes size, const char* what) const;
  void check(DeviceAddress base, const char* what) const {
    check(base, world_->unit() * values_.size(), what);
  }

 private:
  World* world_;
  std::vector<std::uint8_t> values_;  // zero: unknown
};

// A buffer in use.
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  // Does one of the things that can be done with it.
  virtual void step() = 0;
  // Sees that it is what it should be.
  virtual void check() = 0;
  // Whether it is closed now.
  virtual bool close(Quiescence proof) = 0;
  // Whether its end gives all back, or leaves it to the sink.
  [[nodiscard]] virtual bool cleans_up() const { return true; }
  // An address that a kernel may read; null if there is none.
  [[nodiscard]] virtual DeviceAddress readable() const = 0;
};

}  // namespace tessera::fuzz
