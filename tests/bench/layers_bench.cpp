// What each layer adds to a call: the cycle reserve, create, map, set access, unmap, release,
// address free, bare and under layers. Bytes are off; one thread.
#include <optional>
#include <utility>

#include <benchmark/benchmark.h>

#include "tessera/layers/driver_stack.h"
#include "tessera/sim/sim_driver.h"

namespace tessera {
namespace {

constexpr std::int64_t calls_per_cycle = 7;
constexpr Bytes granule = 2_MiB;

template <class T>
T must(Result<T> result) {
  TESSERA_CHECK(result.has_value());
  return std::move(result).value();
}
void must(const Status& status) { TESSERA_CHECK(status.has_value()); }

void cycle(Driver& driver) {
  const AccessDescriptor read_write = {.location = {}, .flags = AccessFlags::read_write};
  const DeviceAddress address = must(driver.mem_address_reserve({.size = granule}));
  const AllocationHandle handle = must(driver.mem_create({.size = granule, .properties = {}}));
  must(driver.mem_map({.address = address, .size = granule, .handle = handle}));
  must(driver.mem_set_access(
      {.address = address, .size = granule, .descriptors = {&read_write, 1}}));
  must(driver.mem_unmap({.address = address, .size = granule}));
  must(driver.mem_release(handle));
  must(driver.mem_address_free({.address = address, .size = granule}));
}

void run(benchmark::State& state, const std::optional<LayerOptions>& layers) {
  sim::SimDriver driver(*sim::built_in_profile("h200"), {.devices = 1, .bytes = false});
  must(driver.init(0));
  std::optional<DriverStack> stack;
  if (layers) {
    stack = stack_layers(driver, *layers);
  }
  Driver& top = stack ? stack->driver() : driver;
  for (auto _ : state) {
    cycle(top);
  }
  state.SetItemsProcessed(state.iterations() * calls_per_cycle);
}

void BM_Bare(benchmark::State& state) { run(state, std::nullopt); }
BENCHMARK(BM_Bare);
void BM_EmptyStack(benchmark::State& state) { run(state, LayerOptions()); }
BENCHMARK(BM_EmptyStack);
void BM_Counting(benchmark::State& state) { run(state, LayerOptions{.count = true}); }
BENCHMARK(BM_Counting);
void BM_FaultsWithEmptyPlan(benchmark::State& state) {
  run(state, LayerOptions{.faults = FaultPlan()});
}
BENCHMARK(BM_FaultsWithEmptyPlan);
// A trace grows: the number of cycles is fixed, so that runs compare and memory is bounded.
void BM_Tracing(benchmark::State& state) { run(state, LayerOptions{.trace = TraceOptions()}); }
BENCHMARK(BM_Tracing)->Iterations(20'000);

}  // namespace
}  // namespace tessera
