// Any bytes as a profile's file: they are refused in words, or are a machine that runs programs,
// and are written and read back equal.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "tessera/check.h"
#include "tessera/sim/profile_file.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/program_generator.h"
#include "tessera/testing/program_runner.h"

namespace tessera::sim {
namespace {

Status cycle(Driver& driver, Bytes granule) {
  TESSERA_TRY_ASSIGN(const DeviceAddress address, driver.mem_address_reserve({.size = granule}));
  const auto handle =
      driver.mem_create({.size = granule, .properties = {.location = on_device(DeviceOrdinal(0))}});
  if (handle) {
    const Status mapped = driver.mem_map({.address = address, .size = granule, .handle = *handle});
    if (mapped) {
      const std::array access = {AccessDescriptor{.location = on_device(DeviceOrdinal(0)),
                                                  .flags = AccessFlags::read_write}};
      if (driver.mem_set_access({.address = address, .size = granule, .descriptors = access})) {
        std::array bytes = {std::byte{1}, std::byte{2}};
        TESSERA_TRY(driver.memset_d8({.destination = address, .value = 7, .size = granule}));
        TESSERA_TRY(driver.memcpy_htod({.destination = address, .source = bytes}));
        TESSERA_TRY(driver.memcpy_dtoh({.destination = bytes, .source = address + 1_B}));
        TESSERA_CHECK(bytes[0] == std::byte{2} && bytes[1] == std::byte{7});
      }
      TESSERA_TRY(driver.ctx_synchronize());
      TESSERA_TRY(driver.mem_unmap({.address = address, .size = granule}));
    }
    TESSERA_TRY(driver.mem_release(*handle));
  }
  return driver.mem_address_free({.address = address, .size = granule});
}

void run_programs(const Profile& profile) {
  // Memory has bytes only where some are written, and fills are kept as their value.
  SimDriver driver(profile);
  TESSERA_CHECK(driver.init(0).has_value());
  const auto context = driver.device_primary_ctx_retain(DeviceOrdinal(0));
  if (!context) {
    return;
  }
  TESSERA_CHECK(driver.ctx_set_current(*context).has_value());
  const Books before = driver.books();
  const Bytes granule = std::max(profile.granularity_minimum, profile.reservation_granularity);
  TESSERA_CHECK(cycle(driver, granule).has_value());
  TESSERA_CHECK(driver.books() == before);

  // Any program; what its calls answer is driver_fuzz's affair.
  static testing::ProgramGenerator generator({.descriptors = false, .host_memory = false});
  testing::Program program;
  testing::ProgramRunner runner(driver, granule);
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    generator.generate(seed, program);
    for (const testing::Op& op : program.ops) {
      runner.run(op);
    }
    runner.forget();
  }
  const std::string wrong = driver.check_invariants();
  if (!wrong.empty()) {
    detail::check_failed(wrong.c_str(), __FILE__, __LINE__);
  }
}

void run(const std::string& text) {
  const auto result = profile_from_text(text);
  if (const auto* error = std::get_if<ProfileError>(&result)) {
    TESSERA_CHECK(!error->message.empty());
    return;
  }
  const auto& profile = std::get<Profile>(result);
  TESSERA_CHECK(check_profile(profile).empty());
  const auto again = profile_from_text(profile_to_text(profile));
  const auto* read = std::get_if<Profile>(&again);
  TESSERA_CHECK(read != nullptr && *read == profile);
  TESSERA_CHECK(check_machine(profile, {}).empty());
  run_programs(profile);
}

}  // namespace
}  // namespace tessera::sim

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tessera::sim::run({data, data + size});
  return 0;
}
