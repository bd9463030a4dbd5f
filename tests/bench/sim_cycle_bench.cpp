// What a simulated call costs, and how that grows with what is live. Bytes are off; one thread.
// BM_StdMap is the yardstick: one insert and one erase in a std::map of as many entries.
#include <cstdint>
#include <map>
#include <vector>

#include <benchmark/benchmark.h>

#include "tessera/sim/sim_driver.h"

namespace tessera::sim {
namespace {

constexpr std::int64_t calls_per_cycle = 7;
constexpr Bytes granule = 2_MiB;

// A simulated machine with `live` mappings in one reservation.
class LiveMachine {
 public:
  explicit LiveMachine(std::int64_t live)
      : driver_(*built_in_profile("h200"), {.devices = 1, .bytes = false}) {
    must(driver_.init(0));
    const auto count = static_cast<std::uint64_t>(live);
    const DeviceAddress base = must(driver_.mem_address_reserve({.size = granule * (count + 1)}));
    for (std::uint64_t i = 0; i < count; ++i) {
      map_one(base + granule * i);
    }
  }

  Driver& driver() { return driver_; }

  AllocationHandle map_one(DeviceAddress address) {
    const AllocationHandle handle = must(driver_.mem_create({.size = granule, .properties = {}}));
    must(driver_.mem_map({.address = address, .size = granule, .handle = handle}));
    must(driver_.mem_set_access(
        {.address = address, .size = granule, .descriptors = std::span(&read_write_, 1)}));
    return handle;
  }

  template <class T>
  static T must(Result<T> result) {
    TESSERA_CHECK(result.has_value());
    return std::move(result).value();
  }
  static void must(const Status& status) { TESSERA_CHECK(status.has_value()); }

 private:
  AccessDescriptor read_write_ = {.location = on_device(DeviceOrdinal(0)),
                                  .flags = AccessFlags::read_write};
  SimDriver driver_;
};

void BM_Cycle(benchmark::State& state) {
  LiveMachine machine(state.range(0));
  Driver& driver = machine.driver();
  for (auto _ : state) {
    const DeviceAddress address = LiveMachine::must(driver.mem_address_reserve({.size = granule}));
    const AllocationHandle handle = machine.map_one(address);
    LiveMachine::must(driver.mem_unmap({.address = address, .size = granule}));
    LiveMachine::must(driver.mem_release(handle));
    LiveMachine::must(driver.mem_address_free({.address = address, .size = granule}));
  }
  state.SetItemsProcessed(state.iterations() * calls_per_cycle);
}
BENCHMARK(BM_Cycle)->Arg(0)->Arg(1'000)->Arg(20'000)->Arg(40'000);

void BM_StdMap(benchmark::State& state) {
  std::map<std::uint64_t, std::uint64_t> map;
  const auto count = static_cast<std::uint64_t>(state.range(0));
  for (std::uint64_t i = 0; i < count; ++i) {
    map.emplace(i * granule.value(), i);
  }
  std::uint64_t next = 1;
  for (auto _ : state) {
    // Anywhere in the map, as reservations come and go anywhere.
    next = next * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::uint64_t key = (count == 0 ? 0 : (next >> 33U) % count) * granule.value() + 1;
    map.emplace(key, key);
    map.erase(key);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_StdMap)->Arg(0)->Arg(1'000)->Arg(20'000)->Arg(40'000);

}  // namespace
}  // namespace tessera::sim
