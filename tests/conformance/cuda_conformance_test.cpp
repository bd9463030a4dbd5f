// The suite on the real driver. Without a GPU every case is skipped and says why.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/backend.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::conformance {
namespace {

// Why there is no GPU; empty if there is one. Asked in a child, because some cases need a process
// in which the driver was never initialized.
std::string why_no_gpu(cuda::CudaDriver& driver) {
  const pid_t child = ::fork();
  if (child < 0) {
    return "no process can be made to look for a GPU";
  }
  if (child == 0) {
    const Status started = driver.init(0);
    const auto count = driver.device_get_count();
    std::_Exit(started && count && *count > 0 ? 0 : 1);
  }
  int status = 0;
  const bool is_there =
      ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return is_there ? "" : "no GPU here: the driver finds no device";
}

struct Opened {
  std::unique_ptr<cuda::CudaDriver> driver;
  std::string missing;
};

// One a process, like the driver itself. Left open: the library stays loaded for good anyway.
Opened& opened() {
  static Opened& once = *[] {
    auto* made = new Opened;
    auto driver = cuda::CudaDriver::open();
    if (!driver) {
      made->missing = "no GPU here: " + to_string(driver.error());
    } else {
      made->driver = std::move(driver).value();
      made->missing = why_no_gpu(*made->driver);
    }
    return made;
  }();
  return once;
}

// What no attribute tells is as on an H200 with driver 580.159.04.
Features features_of(Driver& driver) {
  const auto has = [&driver](std::int32_t attribute) {
    return driver.device_get_attribute({.attribute = attribute, .device = {}}).value_or(0) != 0;
  };
  return {.reservation_granularity =
              driver
                  .mem_get_allocation_granularity(
                      {.properties = {}, .option = GranularityOption::recommended})
                  .value_or(2_MiB),
          .export_types = (has(103) ? HandleTypes::posix_file_descriptor : HandleTypes::none) |
                          (has(104) ? HandleTypes::win32 : HandleTypes::none),
          .host_locations = has(141) && has(145),
          .compression = has(107),
          .managed_memory = has(83),
          .memory_pools = has(115),
          .dma_buf = has(124)};
}

volatile std::uint8_t& host_byte(DeviceAddress address) {
  return *reinterpret_cast<volatile std::uint8_t*>(static_cast<std::uintptr_t>(address.value()));
}

Machine make_machine(std::int32_t devices) {
  Machine machine;
  machine.isolates = true;
  machine.missing = opened().missing;
  if (!machine.missing.empty()) {
    return machine;
  }
  cuda::CudaDriver& driver = *opened().driver;
  if (devices > 1) {
    const Status started = driver.init(0);
    const std::int32_t count = started ? driver.device_get_count().value_or(0) : 0;
    if (count < devices) {
      machine.missing =
          "needs " + std::to_string(devices) + " GPUs; there are " + std::to_string(count);
      return machine;
    }
  }
  machine.driver = std::make_unique<DriverWrapper>(&driver);
  machine.features = [&driver] { return features_of(driver); };
  machine.host_read = [](DeviceAddress address) { return std::uint8_t{host_byte(address)}; };
  machine.host_write = [](DeviceAddress address, std::uint8_t value) {
    host_byte(address) = value;
  };
  machine.close = [](const ShareableHandle& handle) {
    EXPECT_EQ(::close(handle.file_descriptor), 0);
  };
  return machine;
}

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = {
      {.name = "cuda", .devices_max = 64, .make = make_machine}};
  return all;
}

const std::vector<Backend>& backends_of_books() { return backends(); }

}  // namespace tessera::conformance
