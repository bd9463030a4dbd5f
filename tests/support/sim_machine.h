// What the tests of SimDriver share: a simulated machine that is up, short names for the usual
// steps, and a look at its invariants when it goes.
#pragma once

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>

#include "support/bare_calls.h"
#include "support/matchers.h"
#include "support/must.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::sim {

using test::fails_with;
using test::is_ok;
using test::is_ok_and_holds;

inline constexpr DeviceOrdinal device_0{0};
inline constexpr DeviceOrdinal device_1{1};
// A multiple of 2 MiB so large that adding as much wraps.
inline constexpr Bytes last_unit{~std::uint64_t{0} << 21U};

using test::must;

[[nodiscard]] inline const Profile& profile_named(std::string_view name) {
  return *built_in_profile(name);
}

// Initialized, with device 0's primary context current on the thread that made it.
class SimMachine : public test::BareCalls<SimMachine> {
 public:
  explicit SimMachine(const Profile& profile, const SimOptions& options = {})
      : driver_(profile, options), unit_(profile.granularity_minimum) {
    must(driver_.init(0));
    primary_ = must(driver_.device_primary_ctx_retain(device_0));
    must(driver_.ctx_set_current(primary_));
  }
  explicit SimMachine(std::string_view profile, const SimOptions& options = {})
      : SimMachine(profile_named(profile), options) {}
  SimMachine(const SimMachine&) = delete;
  SimMachine& operator=(const SimMachine&) = delete;
  ~SimMachine() { EXPECT_EQ(driver_.check_invariants(), ""); }

  [[nodiscard]] SimDriver& driver() { return driver_; }
  [[nodiscard]] SimDriver* operator->() { return &driver_; }
  [[nodiscard]] Bytes unit() const { return unit_; }
  [[nodiscard]] ContextHandle primary() const { return primary_; }
  [[nodiscard]] Bytes free_memory(DeviceOrdinal device = device_0) {
    return driver_.books().devices.at(static_cast<std::size_t>(device.value())).free;
  }

  void map(DeviceAddress address, std::uint64_t count, AllocationHandle handle) {
    must(BareCalls::map(address, count, handle));
  }

  Status put(DeviceAddress address, std::uint8_t value) {
    const std::array source = {std::byte{value}};
    return driver_.memcpy_htod({.destination = address, .source = source});
  }
  [[nodiscard]] Result<std::uint8_t> get(DeviceAddress address) {
    std::array<std::byte, 1> byte = {};
    TESSERA_TRY(driver_.memcpy_dtoh({.destination = byte, .source = address}));
    return std::to_integer<std::uint8_t>(byte[0]);
  }
  Status launch_write(DeviceAddress address, std::uint8_t value, std::uint64_t duration_ns = 0,
                      StreamHandle stream = {}) {
    return driver_.launch_touch({.address = address,
                                 .touch = Touch::write,
                                 .value = value,
                                 .duration_ns = duration_ns,
                                 .stream = stream});
  }

 private:
  SimDriver driver_;
  Bytes unit_;
  ContextHandle primary_;
};

}  // namespace tessera::sim
