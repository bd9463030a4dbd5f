// What the conformance cases share. A case is written once for every Driver: it states what holds
// on every machine, takes little (machines may be tiny), and gives back all that it took, also when
// it fails half-way: a real GPU outlives it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "conformance/backend.h"
#include "support/matchers.h"
#include "support/must.h"

namespace tessera::conformance {

using test::fails_with;
using test::is_ok;
using test::is_ok_and_holds;

inline constexpr DeviceOrdinal first_device{0};
inline constexpr DeviceOrdinal second_device{1};
inline constexpr std::int32_t no_such_ordinal = 99;
// So long that the calls after it are made while the kernel still runs.
inline constexpr std::uint64_t long_ns = 50'000'000;

using test::must;

// Reserved addresses; what is mapped there at the end is unmapped.
class Reservation {
 public:
  Reservation(Driver& driver, Bytes size, Bytes alignment = {});
  Reservation(const Reservation&) = delete;
  Reservation& operator=(const Reservation&) = delete;
  ~Reservation();

  [[nodiscard]] DeviceAddress begin() const { return begin_; }
  [[nodiscard]] Bytes size() const { return size_; }
  // Maps all of a handle, to be unmapped by `unmap` or at the end.
  void map(DeviceAddress address, Bytes size, AllocationHandle handle);
  Status unmap(DeviceAddress address, Bytes size);
  // The driver has taken all mappings away, or the case has.
  void forget_mappings() { mappings_.clear(); }
  // Freed by the case.
  void forget() { is_freed_ = true; }

 private:
  Driver& driver_;
  Bytes size_;
  DeviceAddress begin_;
  std::vector<std::pair<DeviceAddress, Bytes>> mappings_;
  bool is_freed_ = false;
};

// One reference to physical memory.
class Memory {
 public:
  Memory(Driver& driver, Bytes size, const AllocationProperties& properties = {});
  Memory(Driver& driver, AllocationHandle handle, Bytes size);
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  [[nodiscard]] AllocationHandle handle() const { return handle_; }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] Status release();

 private:
  Driver& driver_;
  Bytes size_;
  AllocationHandle handle_;
  bool is_released_ = false;
};

// Runs `undo` at the end.
class Cleanup {
 public:
  explicit Cleanup(std::function<void()> undo) : undo_(std::move(undo)) {}
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  ~Cleanup() { undo_(); }

 private:
  std::function<void()> undo_;
};

// A machine that nothing was called on yet.
class FreshMachine : public testing::TestWithParam<Backend> {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] Driver& driver() const { return *machine_.driver; }
  [[nodiscard]] const Machine& machine() const { return machine_; }
  // How many devices the case needs; a backend that has fewer skips it.
  [[nodiscard]] virtual std::int32_t devices_needed() const { return 1; }
  // Runs a case that leaves a process unusable, in one of its own where the machine needs that.
  void isolated(const std::function<void()>& body);

 private:
  Machine machine_;
};

// A machine with device 0's primary context current.
class Conformance : public FreshMachine {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] const Features& features() const { return features_; }
  // Whether the case loses the process's contexts.
  [[nodiscard]] virtual bool may_be_lost() const { return false; }
  // A size that both memory and reservations can have.
  [[nodiscard]] Bytes unit() const { return unit_; }
  [[nodiscard]] std::int32_t device_count() const { return device_count_; }
  [[nodiscard]] ContextHandle primary() const { return primary_; }
  [[nodiscard]] Bytes free_memory();

  Status set_access(DeviceAddress address, Bytes size, AccessFlags flags = AccessFlags::read_write,
                    DeviceOrdinal device = first_device);
  Status set_access_of(DeviceAddress address, Bytes size, Location location, AccessFlags flags);
  [[nodiscard]] Result<AccessFlags> access(DeviceAddress address,
                                           DeviceOrdinal device = first_device);
  Status fill(DeviceAddress address, Bytes size, std::uint8_t value);
  Status put(DeviceAddress address, std::uint8_t value);
  [[nodiscard]] Result<std::uint8_t> get(DeviceAddress address);
  // Expects this byte there; on a machine without bytes, that it can be read.
  void expect_byte(DeviceAddress address, std::uint8_t value);
  // A kernel that writes, waited for by nobody.
  Status launch_write(DeviceAddress address, std::uint8_t value, StreamHandle stream = {},
                      std::uint64_t duration_ns = 0);
  [[nodiscard]] Result<std::uint64_t> attribute(PointerAttribute which, DeviceAddress address);
  // Memory at `address` that device 0 can use: works, and what it holds survives.
  void expect_usable(DeviceAddress address, Bytes size);

 private:
  Features features_;
  Bytes unit_;
  std::int32_t device_count_ = 0;
  ContextHandle primary_;
};

// The name of a case's backend.
[[nodiscard]] std::string name_of(const testing::TestParamInfo<Backend>& info);

}  // namespace tessera::conformance
