#include "sim_backend.h"

#include <utility>

#include "driver_world.h"
#include "ipc_child.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::tools {
namespace {

class SimWorld final : public DriverWorld {
 public:
  SimWorld(std::unique_ptr<sim::SimDriver> driver, const sim::Profile& profile,
           const BackendOptions& options)
      : DriverWorld(*driver, profile.granularity_minimum),
        simulator_(std::move(driver)),
        options_(options) {}

  Result<std::byte> host_read(DeviceAddress address) override {
    return simulator_->host_read(address);
  }
  Status host_write(DeviceAddress address, std::byte value) override {
    return simulator_->host_write(address, value);
  }
  std::string run_child(const scenario::ChildTask& task) override {
    return run_child_process(options_, task);
  }

 private:
  std::unique_ptr<sim::SimDriver> simulator_;
  const BackendOptions& options_;
};

class SimBackend final : public Backend {
 public:
  SimBackend(sim::Profile profile, BackendOptions options)
      : profile_(std::move(profile)), options_(std::move(options)) {}

  std::unique_ptr<scenario::World> make_world() override {
    auto driver = std::make_unique<sim::SimDriver>(
        profile_, sim::SimOptions{.devices = options_.devices, .bytes = options_.bytes});
    return std::make_unique<SimWorld>(std::move(driver), profile_, options_);
  }

 private:
  sim::Profile profile_;
  BackendOptions options_;
};

}  // namespace

std::unique_ptr<Backend> make_sim_backend(sim::Profile profile, const BackendOptions& options) {
  return std::make_unique<SimBackend>(std::move(profile), options);
}

}  // namespace tessera::tools
