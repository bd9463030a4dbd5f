// A world whose driver is a layer over another world's.
#pragma once

#include <string>

#include "tessera/scenario/world.h"

namespace tessera::tools {

class LayeredWorld final : public scenario::World {
 public:
  // Both outlive this; `layer` forwards to `world`'s driver.
  LayeredWorld(scenario::World& world, Driver& layer) noexcept : world_(world), layer_(layer) {}

  Driver& driver() override { return layer_; }
  Bytes granule() override { return world_.granule(); }
  int open_descriptor(scenario::DescriptorKind kind) override {
    return world_.open_descriptor(kind);
  }
  bool close_descriptor(int descriptor) override { return world_.close_descriptor(descriptor); }
  Result<std::byte> host_read(DeviceAddress address) override { return world_.host_read(address); }
  Status host_write(DeviceAddress address, std::byte value) override {
    return world_.host_write(address, value);
  }
  std::string run_child(const scenario::ChildTask& task) override { return world_.run_child(task); }

 private:
  scenario::World& world_;
  Driver& layer_;
};

}  // namespace tessera::tools
