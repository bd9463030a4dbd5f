// What the tests of owners share: a simulated machine, whose books have to be at the end what they
// were at the beginning, and a sink that fails the test unless the test expects its failures.
#pragma once

#include "support/sim_machine.h"
#include "tessera/layers/fault_injecting_driver.h"
#include "tessera/owners/mapping.h"
#include "tessera/owners/transaction.h"

namespace tessera {

using sim::device_0;
using sim::device_1;
using test::fails_with;
using test::is_ok;
using test::must;

class OwnersMachine {
 public:
  explicit OwnersMachine(std::string_view profile = "h200", std::int32_t devices = 1)
      : machine_(profile, {.devices = devices}), before_(machine_.driver().books()) {}
  OwnersMachine(const OwnersMachine&) = delete;
  OwnersMachine& operator=(const OwnersMachine&) = delete;
  ~OwnersMachine() {
    EXPECT_TRUE(sink_.failures().empty()) << to_string(sink_.failures().front());
    EXPECT_EQ(machine_.driver().books(), before_) << "something is left, or too much is gone";
  }

  [[nodiscard]] sim::SimMachine& machine() { return machine_; }
  [[nodiscard]] sim::SimDriver& driver() { return machine_.driver(); }
  [[nodiscard]] CollectingSink& sink() { return sink_; }
  [[nodiscard]] DriverUse use() { return {driver(), sink_}; }
  // The same, through a layer of the test's.
  [[nodiscard]] DriverUse use(Driver& layer) { return {layer, sink_}; }
  [[nodiscard]] Bytes unit() const { return machine_.unit(); }
  [[nodiscard]] sim::Books books() { return driver().books(); }
  [[nodiscard]] const sim::Books& books_before() const { return before_; }

  Reservation reserve(std::uint64_t units) {
    return must(Reservation::make(use(), {.size = unit() * units}));
  }
  PhysicalAllocation create(std::uint64_t units) {
    return must(PhysicalAllocation::create(use(), {.size = unit() * units}));
  }
  // A mapping of its own memory in its own reservation, with access for the devices given.
  Mapping mapped(std::uint64_t units, std::initializer_list<DeviceOrdinal> devices = {device_0}) {
    Mapping mapping = must(Mapping::map(reserve(units), Bytes(0), create(units)));
    must(mapping.grant(AccessSet::of_devices(devices)));
    return mapping;
  }

 private:
  sim::SimMachine machine_;
  CollectingSink sink_;
  sim::Books before_;
};

// A layer that fails the first call of a kind, without making it.
[[nodiscard]] inline FaultInjectingDriver failing_once(Driver& target, Call call,
                                                       ErrorCode code = ErrorCode::out_of_memory) {
  return {&target, {.faults = {Fault::nth_of(call, 1, code)}}};
}

}  // namespace tessera
