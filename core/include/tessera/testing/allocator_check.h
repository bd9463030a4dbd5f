// check_allocator, sweep_allocator: test an allocator of one's own that makes its memory through a
// Driver. Say once what is tested and on what:
//
//   AllocatorTest test() {
//     return {.make_driver = [] { return std::make_unique<sim::SimDriver>(profile); },
//             .make_allocator = [](Driver& driver) { return under_test<Pool>(driver); }};
//   }
//
// and use it in a property test (a loop over seeds), a fault sweep and a fuzz target, with any test
// framework: examples/allocator_kit has all of them.
//
// A check draws allocations and frees in any order, runs them on a new driver under validation
// (layers/validating_driver.h) with so little memory that it runs out, and looks after each:
//   - allocations have the alignment asked for, overlap no other, can be written and read, and keep
//     what was written, whatever is allocated and freed beside them;
//   - allocate fails with out_of_memory or not at all, and never while nothing else is allocated;
//     free does not fail;
//   - no rule is broken, no std::exception thrown; AllocatorUnderTest::check finds nothing wrong.
// At the end all is freed, the allocator destroyed, and nothing may be left. A sequence that fails
// is made as short as it gets.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tessera/driver.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/testing/choices.h"
#include "tessera/testing/fault_sweep.h"

namespace tessera::testing {

// Its destructor gives back all that it holds. Device 0's primary context is current.
class AllocatorUnderTest {
 public:
  AllocatorUnderTest() = default;
  AllocatorUnderTest(const AllocatorUnderTest&) = delete;
  AllocatorUnderTest& operator=(const AllocatorUnderTest&) = delete;
  virtual ~AllocatorUnderTest();

  // Memory that device 0 reads and writes; `size` is not zero. After an error nothing has changed.
  virtual Result<DeviceAddress> allocate(Bytes size) = 0;
  // What `allocate` gave; no work uses it any more. After an error it is still allocated.
  virtual Status free(DeviceAddress address) = 0;
  // What is wrong with the allocator's own state, in words; empty: nothing.
  virtual std::string check() { return {}; }
};

// An `Allocator` made from `arguments`, with `Result<DeviceAddress> allocate(Bytes)` and `Status
// free(DeviceAddress)`; and `std::string check()`, if it has that. For others derive from
// AllocatorUnderTest.
template <class Allocator, class... Arguments>
[[nodiscard]] std::unique_ptr<AllocatorUnderTest> under_test(Arguments&&... arguments) {
  class Adapter final : public AllocatorUnderTest {
   public:
    explicit Adapter(Arguments&&... from) : allocator_(std::forward<Arguments>(from)...) {}
    Result<DeviceAddress> allocate(Bytes size) override { return allocator_.allocate(size); }
    Status free(DeviceAddress address) override { return allocator_.free(address); }
    std::string check() override {
      if constexpr (requires(Allocator & allocator) { allocator.check(); }) {
        return allocator_.check();
      } else {
        return {};
      }
    }

   private:
    Allocator allocator_;
  };
  return std::make_unique<Adapter>(std::forward<Arguments>(arguments)...);
}

struct AllocatorTest {
  // Required. A new driver each time, in the same state; it need not be initialized.
  std::function<std::unique_ptr<Driver>()> make_driver;
  // Required. Makes all calls through the driver it is given.
  std::function<Result<std::unique_ptr<AllocatorUnderTest>>(Driver&)> make_allocator;

  // What the allocator can have of the device's memory; more is refused with out_of_memory. Figures
  // that make no sense, here and below, are what the report says.
  Bytes capacity = 24_MiB;
  // The largest size asked for, at most the capacity: so much can be had whenever nothing else is
  // allocated.
  Bytes size_max = 8_MiB;
  Bytes alignment = 1_B;        // of the addresses
  std::size_t blocks_max = 16;  // allocated at once; these three: 1 to 2^20
  std::size_t operations_max = 64;
  std::size_t swept_operations_max = 16;  // by sweep_allocator, which runs them very often
  ValidationOptions validation = {};      // keeps at least one finding
};

struct AllocatorReport {
  std::size_t operations = 0;  // that were run, of the first sequence
  std::size_t refusals = 0;    // of those, allocations that found too little memory
  std::string failure = {};    // what is wrong; empty: nothing
  // The shortest sequence found that fails, for which `failure` is: a line an operation.
  std::string sequence = {};

  // Something was run, and nothing was wrong.
  [[nodiscard]] bool passed() const noexcept { return operations != 0 && failure.empty(); }
};

[[nodiscard]] std::string to_string(const AllocatorReport& report);

// One sequence of operations. The same choices are the same sequence, with every compiler.
[[nodiscard]] AllocatorReport check_allocator(const AllocatorTest& test, Choices choices);

// sweep_faults over a sequence: fails each of the allocator's driver calls in turn. Allocations
// that find too little memory are left out of it. `make_world` of the options is not looked at;
// their default lets an allocator get over an error, by giving back what it keeps and trying again.
[[nodiscard]] SweepReport sweep_allocator(const AllocatorTest& test, Choices choices,
                                          SweepOptions options = {.make_world = {},
                                                                  .may_recover = true});

}  // namespace tessera::testing
