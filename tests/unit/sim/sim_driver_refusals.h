// Bad input of every kind: an error that says what was wrong, and nothing changes; nothing crashes,
// also where a real driver does. A table says what is tried; the fixture tries it on a profile.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/sim_machine.h"

namespace tessera::sim {

inline constexpr std::uint64_t huge = ~std::uint64_t{0};
inline constexpr AllocationHandle made_up{0xdead'beef};
inline constexpr ContextHandle made_up_context{0xdead'beef};
inline constexpr StreamHandle made_up_stream{0xdead'beef};
inline constexpr EventHandle made_up_event{0xdead'beef};
inline constexpr DeviceOrdinal no_device{99};
inline constexpr DeviceAddress nowhere{0x7000'0000'0000};
inline constexpr DeviceAddress last_address{huge};

// A machine with something of each kind.
struct World {
  explicit World(const Profile& profile)
      : machine(profile, {.devices = 2}), driver(machine.driver()), unit(machine.unit()) {
    // The reservation's size suits profiles whose two granularities differ.
    range = machine.reserve(8);
    handle = machine.create(2);
    mapping = range + unit * 2;
    machine.map(mapping, 2, handle);
    must(machine.allow(mapping, 2));
    allocated = must(driver.mem_alloc(4_KiB));
    unmapped = machine.create(1);
    released = machine.create(1);
    must(driver.mem_release(released));
    destroyed = must(driver.ctx_create({.device = device_0}));
    must(driver.ctx_destroy(destroyed));
    stream = must(driver.stream_create(StreamFlags::blocking));
    event = must(driver.event_create(EventFlags::none));
  }

  Status map(const MapRequest& request) { return driver.mem_map(request); }
  Status access(DeviceAddress address, Bytes size, AccessDescriptor descriptor) {
    const std::array descriptors = {descriptor};
    return driver.mem_set_access({.address = address, .size = size, .descriptors = descriptors});
  }

  SimMachine machine;
  SimDriver& driver;
  Bytes unit;
  DeviceAddress range;
  DeviceAddress mapping;
  DeviceAddress allocated;
  AllocationHandle handle;
  AllocationHandle unmapped;
  AllocationHandle released;
  ContextHandle destroyed;
  StreamHandle stream;
  EventHandle event;
};

struct Refusal {
  Call call;
  const char* what;
  std::optional<Error> (*make)(World& world);
};

template <class T>
[[nodiscard]] std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

#define TESSERA_REFUSAL(method, what, expression)                                      \
  Refusal {                                                                            \
    Call::method, what, []([[maybe_unused]] World& w) { return error_of(expression); } \
  }

class SimDriverRefusals : public testing::TestWithParam<std::string_view> {
 protected:
  static void expect_refused(const std::vector<Refusal>& refusals) {
    const Profile& profile = profile_named(GetParam());
    World world(profile);
    const Books before = world.driver.books();
    for (const Refusal& refusal : refusals) {
      SCOPED_TRACE(std::string(method_name(refusal.call)) + ", " + refusal.what);
      const std::optional<Error> error = refusal.make(world);
      ASSERT_TRUE(error.has_value());
      EXPECT_NE(explain(*error), "");
      EXPECT_EQ(error->call, refusal.call);
      EXPECT_EQ(error->origin, Origin::simulator);
      EXPECT_EQ(world.driver.books(), before);
      EXPECT_EQ(world.driver.check_invariants(), "");
    }
    // All is as it was.
    EXPECT_THAT(world.machine.put(world.mapping, 1), is_ok());
    EXPECT_THAT(world.driver.ctx_synchronize(), is_ok());
  }
};

[[nodiscard]] inline std::string profile_of(const testing::TestParamInfo<std::string_view>& info) {
  return std::string(info.param);
}

}  // namespace tessera::sim
