// stack_layers: puts the layers that are asked for on a driver.
//
//   DriverStack stack = stack_layers(driver, {.count = true, .trace = TraceOptions{}});
//   program(stack.driver());
//   stack.tracing()->text();
//
// Order, from the program down: validation, tracing, fault injection, counting, the driver. The
// trace has what the program did and was answered, faults included; what validation refuses is not
// in it, because that call was not made. Counting is lowest: it counts what reached the
// driver, so a call that a fault kept from it is no call there (FaultInjectingDriver::calls counts
// what the program made).
#pragma once

#include <memory>
#include <optional>

#include "tessera/layers/counting_driver.h"
#include "tessera/layers/fault_injecting_driver.h"
#include "tessera/layers/tracing_driver.h"
#include "tessera/layers/validating_driver.h"

namespace tessera {

struct LayerOptions {
  bool count = false;
  std::optional<FaultPlan> faults = {};
  std::optional<TraceOptions> trace = {};
  std::optional<ValidationOptions> validation = {};
};

class DriverStack {
 public:
  DriverStack(DriverStack&&) noexcept = default;
  DriverStack& operator=(DriverStack&&) noexcept = default;

  // The top. With no layer asked for, the very driver that was given: it costs nothing then.
  [[nodiscard]] Driver& driver() const noexcept { return *top_; }

  // A layer that was asked for, else null. They stay where they are when the stack is moved.
  [[nodiscard]] CountingDriver* counting() const noexcept { return counting_.get(); }
  [[nodiscard]] FaultInjectingDriver* faults() const noexcept { return faults_.get(); }
  [[nodiscard]] TracingDriver* tracing() const noexcept { return tracing_.get(); }
  [[nodiscard]] ValidatingDriver* validating() const noexcept { return validating_.get(); }

 private:
  friend DriverStack stack_layers(Driver& base, const LayerOptions& options);
  explicit DriverStack(Driver& base) noexcept : top_(&base) {}

  // Each layer after those below it, so that it goes first.
  std::unique_ptr<CountingDriver> counting_;
  std::unique_ptr<FaultInjectingDriver> faults_;
  std::unique_ptr<TracingDriver> tracing_;
  std::unique_ptr<ValidatingDriver> validating_;
  Driver* top_;
};

// `base` outlives the stack.
[[nodiscard]] DriverStack stack_layers(Driver& base, const LayerOptions& options);

}  // namespace tessera
