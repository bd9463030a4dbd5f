// The suite on the simulator: every built-in profile, plain, behind a wrapper and under all layers,
// with and without bytes.
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <unistd.h>

#include "conformance/backend.h"
#include "tessera/layers/driver_stack.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::conformance {
namespace {

// Owns what it forwards to.
class OwningWrapper final : public DriverWrapper {
 public:
  explicit OwningWrapper(std::unique_ptr<Driver> target)
      : DriverWrapper(target.get()), owned_(std::move(target)) {}

 private:
  std::unique_ptr<Driver> owned_;
};

// Counting, fault injection with an empty plan, and tracing over it.
class OwningStack final : public DriverWrapper {
 public:
  static std::unique_ptr<Driver> over(std::unique_ptr<Driver> target) {
    DriverStack stack =
        stack_layers(*target, {.count = true, .faults = FaultPlan(), .trace = TraceOptions()});
    return std::unique_ptr<Driver>(new OwningStack(std::move(target), std::move(stack)));
  }

 private:
  OwningStack(std::unique_ptr<Driver> target, DriverStack stack)
      : DriverWrapper(&stack.driver()), owned_(std::move(target)), stack_(std::move(stack)) {}

  std::unique_ptr<Driver> owned_;
  DriverStack stack_;
};

enum class Over { nothing, wrapper, layers };

Features features_of(const sim::Profile& profile, bool bytes) {
  return {.bytes = bytes,
          .reservation_granularity = profile.reservation_granularity,
          .export_types = profile.export_types,
          .host_locations = profile.host_locations,
          .compression = profile.compression,
          .managed_memory = profile.managed_memory,
          .memory_pools = profile.memory_pools,
          .dma_buf = profile.dma_buf,
          .copies_check_access = profile.quirks.copies_check_access,
          .reexports_imported = profile.quirks.reexport_imported,
          .maps_parts = profile.quirks.partial_mapping};
}

// A case that failed half-way has failed already, so it may leave anything.
std::string left_over(const sim::SimDriver& driver) {
  if (std::string fault = driver.check_invariants(); !fault.empty()) {
    return fault;
  }
  const sim::Books books = driver.books();
  const auto counts = {std::pair("reservations", books.reservations),
                       std::pair("mappings", books.mappings),
                       std::pair("allocations", books.allocations),
                       std::pair("handles", books.handles),
                       std::pair("legacy allocations", books.legacy_allocations),
                       std::pair("contexts", books.contexts)};
  std::string left;
  for (const auto& [what, count] : counts) {
    if (count != 0) {
      left += std::to_string(count) + " " + what + " are left; ";
    }
  }
  return left;
}

Backend backend_of(std::string_view profile_name, Over over, bool bytes) {
  const auto make = [profile_name, over, bytes](std::int32_t devices) {
    const sim::Profile& profile = *sim::built_in_profile(profile_name);
    auto made = std::make_unique<sim::SimDriver>(
        profile, sim::SimOptions{.devices = devices, .bytes = bytes});
    sim::SimDriver& driver = *made;
    Machine machine;
    machine.features = [&profile, bytes] { return features_of(profile, bytes); };
    machine.host_read = [&driver](DeviceAddress address) {
      const auto byte = driver.host_read(address);
      EXPECT_TRUE(byte.has_value());
      return std::to_integer<std::uint8_t>(byte.value_or(std::byte{}));
    };
    machine.host_write = [&driver](DeviceAddress address, std::uint8_t value) {
      EXPECT_TRUE(driver.host_write(address, std::byte{value}).has_value());
    };
    machine.close = [&driver](const ShareableHandle& handle) {
      if (handle.type == HandleTypes::posix_file_descriptor) {
        EXPECT_EQ(::close(handle.file_descriptor), 0);
      } else {
        EXPECT_TRUE(driver.close_win32_handle(handle.win32).has_value());
      }
    };
    machine.left_over = [&driver] { return left_over(driver); };
    machine.driver = std::move(made);
    if (over == Over::wrapper) {
      machine.driver = std::make_unique<OwningWrapper>(std::move(machine.driver));
    } else if (over == Over::layers) {
      machine.driver = OwningStack::over(std::move(machine.driver));
    }
    return machine;
  };
  static constexpr std::array suffixes = {"", "_wrapped", "_layers"};
  const std::string name = std::string(profile_name) + suffixes.at(static_cast<std::size_t>(over)) +
                           (bytes ? "" : "_books");
  return {.name = name, .devices_max = 4, .make = make};
}

std::vector<Backend> all_of(std::initializer_list<bool> with_bytes) {
  std::vector<Backend> all;
  for (const std::string_view profile : sim::built_in_profile_names()) {
    for (const bool bytes : with_bytes) {
      for (const Over over : {Over::nothing, Over::wrapper, Over::layers}) {
        all.push_back(backend_of(profile, over, bytes));
      }
    }
  }
  return all;
}

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = all_of({true});
  return all;
}

const std::vector<Backend>& backends_of_books() {
  static const std::vector<Backend> all = all_of({true, false});
  return all;
}

}  // namespace tessera::conformance
