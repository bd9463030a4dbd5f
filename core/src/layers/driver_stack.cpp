#include "tessera/layers/driver_stack.h"

namespace tessera {

DriverStack stack_layers(Driver& base, const LayerOptions& options) {
  DriverStack stack(base);
  // From the driver up.
  if (options.count) {
    stack.counting_ = std::make_unique<CountingDriver>(stack.top_);
    stack.top_ = stack.counting_.get();
  }
  if (options.faults) {
    stack.faults_ = std::make_unique<FaultInjectingDriver>(stack.top_, *options.faults);
    stack.top_ = stack.faults_.get();
  }
  if (options.trace) {
    stack.tracing_ = std::make_unique<TracingDriver>(stack.top_, *options.trace);
    stack.top_ = stack.tracing_.get();
  }
  if (options.validation) {
    stack.validating_ = std::make_unique<ValidatingDriver>(stack.top_, *options.validation);
    stack.top_ = stack.validating_.get();
  }
  return stack;
}

}  // namespace tessera
