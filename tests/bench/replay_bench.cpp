// How fast recordings are read, and replayed on the simulator, each case in a fresh machine.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>

#include <benchmark/benchmark.h>

#include "run_cases.h"
#include "tessera/scenario/reader.h"
#include "text_file.h"

namespace tessera::tools {
namespace {

std::string recording() {
  auto text = read_text_file(TESSERA_RECORDINGS_DIR "/h200-580.159.04/hard-303.vmm.gz");
  TESSERA_CHECK(std::holds_alternative<std::string>(text));
  return std::get<std::string>(std::move(text));
}

scenario::Scenario read(const std::string& text) {
  auto read = scenario::read_scenario(text, "hard-303.vmm");
  TESSERA_CHECK(std::holds_alternative<scenario::Scenario>(read));
  return std::get<scenario::Scenario>(std::move(read));
}

std::int64_t calls_in(const scenario::Scenario& scenario) {
  std::size_t calls = 0;
  for (const scenario::Case& one : scenario.cases) {
    calls += one.calls.size();
  }
  return static_cast<std::int64_t>(calls);
}

void BM_ReadRecording(benchmark::State& state) {
  const std::string text = recording();
  std::int64_t calls = 0;
  for (auto _ : state) {
    calls += calls_in(read(text));
  }
  state.SetItemsProcessed(calls);
}
BENCHMARK(BM_ReadRecording)->Unit(benchmark::kMillisecond);

void BM_ReplayRecording(benchmark::State& state) {
  const scenario::Scenario scenario = read(recording());
  std::int64_t calls = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(run_cases(scenario.cases, {}));
    calls += calls_in(scenario);
  }
  state.SetItemsProcessed(calls);
}
BENCHMARK(BM_ReplayRecording)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera::tools
