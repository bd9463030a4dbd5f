// What the suites on a real GPU share: a driver with device 0's primary context current, and
// memory that gives itself back. Answers are compared as recordings write them: "INVALID_VALUE".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/must.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::gpu {

// "OK", or the error's name.
template <class T>
[[nodiscard]] std::string answer(const Result<T>& result) {
  return result ? "OK" : code_name(result.error().code);
}

using test::must;

// The driver, started; or the reason why no test here can run. Found out once a process.
struct Machine {
  cuda::CudaDriver* driver = nullptr;
  std::int32_t devices = 0;
  std::string no_gpu = {};
};
[[nodiscard]] const Machine& machine();

class GpuTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] cuda::CudaDriver& driver() const { return *machine().driver; }
  [[nodiscard]] Bytes granule() const { return granule_; }

  [[nodiscard]] std::uint8_t byte_at(DeviceAddress address) const;
  void put_byte(DeviceAddress address, std::uint8_t value) const;

  static constexpr DeviceOrdinal device{0};

 private:
  bool has_context_ = false;
  Bytes granule_;
};

// Reserved addresses; unmapped as a whole and given back at the end.
class ReservedRange {
 public:
  ReservedRange(Driver& driver, Bytes size);
  ReservedRange(const ReservedRange&) = delete;
  ReservedRange& operator=(const ReservedRange&) = delete;
  ~ReservedRange();

  [[nodiscard]] DeviceAddress begin() const { return begin_; }
  [[nodiscard]] Bytes size() const { return size_; }

 private:
  Driver& driver_;
  Bytes size_;
  DeviceAddress begin_;
};

// One handle's worth of memory.
class Memory {
 public:
  Memory(Driver& driver, Bytes size, AllocationProperties properties = {});
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory();

  [[nodiscard]] AllocationHandle handle() const { return handle_; }
  [[nodiscard]] Bytes size() const { return size_; }

 private:
  Driver& driver_;
  Bytes size_;
  AllocationHandle handle_;
};

void map(Driver& driver, DeviceAddress address, const Memory& memory);
void give_access(Driver& driver, DeviceAddress address, Bytes size, DeviceOrdinal device,
                 AccessFlags flags = AccessFlags::read_write);

// Host memory that kernels reach too.
class HostMemory {
 public:
  HostMemory(Driver& driver, Bytes size);
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  ~HostMemory();

  [[nodiscard]] volatile std::uint8_t* bytes() const;
  [[nodiscard]] DeviceAddress address() const;

 private:
  Driver& driver_;
  std::byte* memory_;
};

}  // namespace tessera::gpu
