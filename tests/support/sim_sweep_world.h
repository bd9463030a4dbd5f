// A world for sweep_faults: a simulated machine that is up, with device 0's primary context
// current. What is left is what the simulator's own books say.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "support/must.h"
#include "tessera/sim/sim_driver.h"
#include "tessera/testing/fault_sweep.h"

namespace tessera::test {

class SimSweepWorld final : public tessera::testing::SweepWorld {
 public:
  explicit SimSweepWorld(const sim::Profile& profile, const sim::SimOptions& options = {})
      : driver_(profile, options) {
    must(driver_.init(0));
    must(driver_.ctx_set_current(must(driver_.device_primary_ctx_retain(DeviceOrdinal(0)))));
    before_ = driver_.books();
  }

  Driver& driver() override { return driver_; }
  std::string leaks() override {
    const sim::Books now = driver_.books();
    std::string left;
    const auto compare = [&left](const char* what, std::uint64_t was, std::uint64_t is) {
      if (was != is) {
        left += (left.empty() ? "" : ", ") + std::to_string(is - was) + ' ' + what;
      }
    };
    compare("reservations", before_.reservations, now.reservations);
    compare("mappings", before_.mappings, now.mappings);
    compare("allocations", before_.allocations, now.allocations);
    compare("handles", before_.handles, now.handles);
    compare("legacy allocations", before_.legacy_allocations, now.legacy_allocations);
    compare("contexts", before_.contexts, now.contexts);
    return left;
  }
  std::string violations() override { return driver_.check_invariants(); }

 private:
  sim::SimDriver driver_;
  sim::Books before_;
};

[[nodiscard]] inline std::unique_ptr<tessera::testing::SweepWorld> make_sim_sweep_world() {
  return std::make_unique<SimSweepWorld>(*sim::built_in_profile("h200"),
                                         sim::SimOptions{.bytes = false});
}

}  // namespace tessera::test
