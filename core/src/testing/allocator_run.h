// What check_allocator and sweep_allocator run an allocator with: the machine it runs on, and the
// blocks that it gave so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "tessera/layers/driver_stack.h"
#include "tessera/testing/allocator_check.h"
#include "testing/allocator_sequence.h"

namespace tessera::testing {

// What the allocator throws while `run` uses it, in words; empty: nothing. What is not derived from
// std::exception goes on: test frameworks end a test so.
template <class Run>
[[nodiscard]] std::string thrown_by(const Run& run) {
  try {
    run();
  } catch (const std::exception& exception) {
    return std::string("an exception is thrown: ") + exception.what();
  }
  return {};
}

// A new driver under validation and a limit of memory, with device 0's primary context current.
class AllocatorMachine {
 public:
  explicit AllocatorMachine(const AllocatorTest& test);
  AllocatorMachine(const AllocatorMachine&) = delete;
  AllocatorMachine& operator=(const AllocatorMachine&) = delete;
  ~AllocatorMachine();

  // Why nothing can be run on it.
  [[nodiscard]] const Status& started() const noexcept { return started_; }
  [[nodiscard]] Driver& driver() noexcept { return stack_.driver(); }
  // The same below validation, for the many reads that only compare bytes.
  [[nodiscard]] Driver& base() noexcept { return *base_; }
  [[nodiscard]] Bytes granule() const noexcept { return granule_; }

  // In words; empty: nothing.
  [[nodiscard]] std::string leaks() const;
  [[nodiscard]] std::string violations() const;

 private:
  Status start();

  std::unique_ptr<Driver> base_;
  DriverStack stack_;
  ContextHandle context_;
  Bytes granule_;
  Status started_;
};

// One allocator and its blocks.
class AllocatorRun {
 public:
  // The allocator's calls go through `driver`: the machine's, or a layer over it.
  AllocatorRun(const AllocatorTest& test, AllocatorMachine& machine, Driver& driver)
      : test_(test), machine_(machine), driver_(driver) {}

  // Makes the allocator.
  [[nodiscard]] Status open();
  // The allocator's own answer. What else is wrong, `failure` says.
  [[nodiscard]] Status perform(const AllocatorOp& op);
  [[nodiscard]] Status free_all();
  // Ends the allocator.
  void close() { allocator_.reset(); }

  // Looks at all blocks, and asks the allocator itself.
  void inspect();
  // What was found so far, in words; empty: nothing.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

  [[nodiscard]] bool has_blocks() const noexcept { return !blocks_.empty(); }
  // Where a block is; null: nowhere.
  [[nodiscard]] DeviceAddress address_of(std::size_t block) const;

 private:
  struct Block {
    std::size_t number;
    AddressRange range;
  };

  // The byte that a block is filled with.
  static std::uint8_t fill_of(std::size_t block) {
    return static_cast<std::uint8_t>(1 + block % 255);
  }
  void fail(std::string what);
  void take(std::size_t number, DeviceAddress address, Bytes size);
  void fill(const Block& block);
  void look_at(const Block& block);
  void look_at(const Block& block, DeviceAddress address);

  const AllocatorTest& test_;
  AllocatorMachine& machine_;
  Driver& driver_;
  std::unique_ptr<AllocatorUnderTest> allocator_;
  std::vector<Block> blocks_;
  std::string failure_;
};

}  // namespace tessera::testing
