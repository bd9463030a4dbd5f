// What owners and buffers add to the bare calls, on the simulator with bytes off; one thread. The
// goal is 20 ns a call at most. Each pair of benchmarks makes the same driver calls.
#include <array>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "tessera/buffers/growable_buffer.h"
#include "tessera/sim/sim_driver.h"

namespace tessera {
namespace {

constexpr Bytes granule = 2_MiB;
constexpr std::int64_t calls_per_cycle = 7;
// Growths of one buffer: enough that making and closing it does not count.
constexpr std::uint64_t growths = 256;
constexpr std::int64_t calls_per_growth = 3;

template <class T>
T must(Result<T> result) {
  TESSERA_CHECK(result.has_value());
  return std::move(result).value();
}
void must(const Status& status) { TESSERA_CHECK(status.has_value()); }

class Machine {
 public:
  Machine() : driver_(*sim::built_in_profile("h200"), {.devices = 1, .bytes = false}) {
    must(driver_.init(0));
  }
  Driver& driver() { return driver_; }

 private:
  sim::SimDriver driver_;
};

constexpr std::array read_write = {
    AccessDescriptor{.location = on_device(DeviceOrdinal(0)), .flags = AccessFlags::read_write}};

AllocationHandle map_one(Driver& driver, DeviceAddress address) {
  const AllocationHandle handle = must(driver.mem_create({.size = granule, .properties = {}}));
  must(driver.mem_map({.address = address, .size = granule, .handle = handle}));
  must(driver.mem_set_access({.address = address, .size = granule, .descriptors = read_write}));
  return handle;
}

void BM_CycleBare(benchmark::State& state) {
  Machine machine;
  Driver& driver = machine.driver();
  for (auto _ : state) {
    const DeviceAddress address = must(driver.mem_address_reserve({.size = granule}));
    const AllocationHandle handle = map_one(driver, address);
    must(driver.mem_unmap({.address = address, .size = granule}));
    must(driver.mem_release(handle));
    must(driver.mem_address_free({.address = address, .size = granule}));
  }
  state.SetItemsProcessed(state.iterations() * calls_per_cycle);
}
BENCHMARK(BM_CycleBare);

void BM_CycleOwners(benchmark::State& state) {
  Machine machine;
  Driver& driver = machine.driver();
  const AccessSet access = AccessSet::of_device(DeviceOrdinal(0));
  for (auto _ : state) {
    Reservation reservation =
        must(Reservation::make(driver, {.size = granule, .granularity = granule}));
    PhysicalAllocation memory =
        must(PhysicalAllocation::create(driver, {.size = granule, .granularity = granule}));
    Mapping mapping = must(Mapping::map(reservation, Bytes(), memory));
    must(mapping.grant(access));
    must(mapping.close(Quiescence::promised()));
    must(memory.close());
    must(reservation.close());
  }
  state.SetItemsProcessed(state.iterations() * calls_per_cycle);
}
BENCHMARK(BM_CycleOwners);

// What a growable buffer must keep, kept by hand.
void BM_GrowBare(benchmark::State& state) {
  Machine machine;
  Driver& driver = machine.driver();
  for (auto _ : state) {
    state.PauseTiming();
    const DeviceAddress base = must(driver.mem_address_reserve({.size = granule * growths}));
    std::vector<AllocationHandle> handles;
    state.ResumeTiming();
    for (std::uint64_t i = 0; i < growths; ++i) {
      handles.push_back(map_one(driver, base + granule * i));
    }
    state.PauseTiming();
    for (std::uint64_t i = growths; i-- > 0;) {
      must(driver.mem_unmap({.address = base + granule * i, .size = granule}));
      must(driver.mem_release(handles[i]));
    }
    must(driver.mem_address_free({.address = base, .size = granule * growths}));
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(growths) *
                          calls_per_growth);
}
BENCHMARK(BM_GrowBare);

void BM_GrowBuffer(benchmark::State& state) {
  Machine machine;
  for (auto _ : state) {
    state.PauseTiming();
    GrowableBuffer buffer = must(GrowableBuffer::make(
        machine.driver(), {.reserve = granule * growths, .growth = GrowthPolicy::exact()}));
    state.ResumeTiming();
    for (std::uint64_t i = 0; i < growths; ++i) {
      must(buffer.grow_by(granule));
    }
    state.PauseTiming();
    must(buffer.close(Quiescence::promised()));
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(growths) *
                          calls_per_growth);
}
BENCHMARK(BM_GrowBuffer);

}  // namespace
}  // namespace tessera
