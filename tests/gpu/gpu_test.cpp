#include "gpu_test.h"

#include <memory>
#include <utility>

namespace tessera::gpu {
namespace {

Machine find_machine() {
  // Lives as long as the process: the driver's library does too.
  static std::unique_ptr<cuda::CudaDriver> driver;
  auto opened = cuda::CudaDriver::open();
  if (!opened) {
    return {.no_gpu = to_string(opened.error())};
  }
  driver = std::move(opened).value();
  if (const Status started = driver->init(0); !started) {
    return {.no_gpu = to_string(started.error())};
  }
  const auto count = driver->device_get_count();
  if (!count || *count == 0) {
    return {.no_gpu = count ? "the driver counts no device" : to_string(count.error())};
  }
  return {.driver = driver.get(), .devices = *count};
}

}  // namespace

const Machine& machine() {
  static const Machine found = find_machine();
  return found;
}

void GpuTest::SetUp() {
  if (machine().driver == nullptr) {
    GTEST_SKIP() << "no GPU here: " << machine().no_gpu;
  }
  const ContextHandle context = must(driver().device_primary_ctx_retain(device));
  has_context_ = true;
  must(driver().ctx_set_current(context));
  granule_ = must(driver().mem_get_allocation_granularity({.properties = {}}));
}

void GpuTest::TearDown() {
  if (has_context_) {
    EXPECT_EQ(answer(driver().ctx_synchronize()), "OK");
    EXPECT_EQ(answer(driver().ctx_set_current(ContextHandle())), "OK");
    EXPECT_EQ(answer(driver().device_primary_ctx_release(device)), "OK");
  }
}

std::uint8_t GpuTest::byte_at(DeviceAddress address) const {
  std::array<std::byte, 1> byte = {};
  must(driver().memcpy_dtoh({.destination = byte, .source = address}));
  return std::to_integer<std::uint8_t>(byte[0]);
}

void GpuTest::put_byte(DeviceAddress address, std::uint8_t value) const {
  const std::array byte = {std::byte{value}};
  must(driver().memcpy_htod({.destination = address, .source = byte}));
}

ReservedRange::ReservedRange(Driver& driver, Bytes size)
    : driver_(driver), size_(size), begin_(must(driver.mem_address_reserve({.size = size}))) {}

ReservedRange::~ReservedRange() {
  EXPECT_EQ(answer(driver_.mem_unmap({.address = begin_, .size = size_})), "OK");
  EXPECT_EQ(answer(driver_.mem_address_free({.address = begin_, .size = size_})), "OK");
}

Memory::Memory(Driver& driver, Bytes size, AllocationProperties properties)
    : driver_(driver),
      size_(size),
      handle_(must(driver.mem_create({.size = size, .properties = properties}))) {}

Memory::~Memory() { EXPECT_EQ(answer(driver_.mem_release(handle_)), "OK"); }

void map(Driver& driver, DeviceAddress address, const Memory& memory) {
  must(driver.mem_map({.address = address, .size = memory.size(), .handle = memory.handle()}));
}

void give_access(Driver& driver, DeviceAddress address, Bytes size, DeviceOrdinal device,
                 AccessFlags flags) {
  const std::array descriptors = {AccessDescriptor{.location = on_device(device), .flags = flags}};
  must(driver.mem_set_access({.address = address, .size = size, .descriptors = descriptors}));
}

HostMemory::HostMemory(Driver& driver, Bytes size)
    : driver_(driver), memory_(must(driver.mem_host_alloc({.size = size}))) {}

HostMemory::~HostMemory() { EXPECT_EQ(answer(driver_.mem_free_host(memory_)), "OK"); }

volatile std::uint8_t* HostMemory::bytes() const {
  return reinterpret_cast<volatile std::uint8_t*>(memory_);
}

DeviceAddress HostMemory::address() const {
  return DeviceAddress(reinterpret_cast<std::uintptr_t>(memory_));
}

}  // namespace tessera::gpu
