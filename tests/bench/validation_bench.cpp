// What layers that keep books cost: the cycle of sim_cycle_bench, bare, under LedgerDriver and
// under ValidatingDriver, with so many mappings live. The difference to the bare one is the
// layer's; ns_per_call is over the cycle's 7 calls.
#include <benchmark/benchmark.h>

#include "tessera/layers/ledger_driver.h"
#include "tessera/layers/validating_driver.h"
#include "tessera/sim/sim_driver.h"

namespace tessera {
namespace {

constexpr Bytes granule = 2_MiB;
constexpr double calls_per_cycle = 7;

template <class T>
T must(Result<T> result) {
  TESSERA_CHECK(result.has_value());
  return std::move(result).value();
}
void must(const Status& status) { TESSERA_CHECK(status.has_value()); }

// The layer as it is made over a driver; Bare is none.
struct Bare {
  explicit Bare(Driver* target) : driver(*target) {}
  Driver& driver;
};
template <class Layer>
struct Under {
  explicit Under(Driver* target) : layer(target), driver(layer) {}
  Layer layer;
  Driver& driver;
};

AllocationHandle map_one(Driver& driver, DeviceAddress address) {
  const AccessDescriptor access = {.location = {}, .flags = AccessFlags::read_write};
  const AllocationHandle handle = must(driver.mem_create({.size = granule, .properties = {}}));
  must(driver.mem_map({.address = address, .size = granule, .handle = handle}));
  must(driver.mem_set_access(
      {.address = address, .size = granule, .descriptors = std::span(&access, 1)}));
  return handle;
}

template <class Stack>
void BM_Cycle(benchmark::State& state) {
  sim::SimDriver simulator(*sim::built_in_profile("h200"), {.devices = 1, .bytes = false});
  Stack stack(&simulator);
  Driver& driver = stack.driver;
  must(driver.init(0));
  const auto live = static_cast<std::uint64_t>(state.range(0));
  const DeviceAddress base = must(driver.mem_address_reserve({.size = granule * (live + 1)}));
  for (std::uint64_t i = 0; i < live; ++i) {
    map_one(driver, base + granule * i);
  }
  for (auto _ : state) {
    const DeviceAddress address = must(driver.mem_address_reserve({.size = granule}));
    const AllocationHandle handle = map_one(driver, address);
    must(driver.mem_unmap({.address = address, .size = granule}));
    must(driver.mem_release(handle));
    must(driver.mem_address_free({.address = address, .size = granule}));
  }
  state.counters["ns_per_call"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * calls_per_cycle,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_TEMPLATE(BM_Cycle, Bare)->Arg(0)->Arg(1'000)->Arg(20'000);
BENCHMARK_TEMPLATE(BM_Cycle, Under<LedgerDriver>)->Arg(0)->Arg(1'000)->Arg(20'000);
BENCHMARK_TEMPLATE(BM_Cycle, Under<ValidatingDriver>)->Arg(0)->Arg(1'000)->Arg(20'000);

}  // namespace
}  // namespace tessera
