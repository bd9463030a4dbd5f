// A world of any driver, with descriptors of this process.
#pragma once

#include "tessera/scenario/world.h"

namespace tessera::tools {

// The host reads and writes nothing, and there is no other process, unless a derived world does it.
class DriverWorld : public scenario::World {
 public:
  // The driver outlives the world.
  DriverWorld(Driver& driver, Bytes granule) noexcept : driver_(driver), granule_(granule) {}

  Driver& driver() override { return driver_; }
  Bytes granule() override { return granule_; }
  int open_descriptor(scenario::DescriptorKind kind) override;
  bool close_descriptor(int descriptor) override;
  Result<std::byte> host_read(DeviceAddress address) override;
  Status host_write(DeviceAddress address, std::byte value) override;
  std::string run_child(const scenario::ChildTask& task) override;

 private:
  Driver& driver_;
  Bytes granule_;
};

}  // namespace tessera::tools
