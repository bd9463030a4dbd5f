// World: what a scenario runs in: a driver, and what the operations need that is not the driver's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tessera/driver.h"
#include "tessera/scenario/operations.h"

namespace tessera::scenario {

// What another process does with a descriptor, for `ipc.child`.
struct ChildTask {
  int file_descriptor;
  Bytes size;
  std::uint8_t value;
};

class World {
 public:
  World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  virtual ~World();

  virtual Driver& driver() = 0;
  // What `u` stands for.
  virtual Bytes granule() = 0;

  // A descriptor of no CUDA memory; negative if there is none left.
  virtual int open_descriptor(DescriptorKind kind) = 0;
  virtual bool close_descriptor(int descriptor) = 0;

  // The byte at an address, as the CPU reads and writes it. Where a real program would crash, a
  // world may answer with an error, or crash.
  virtual Result<std::byte> host_read(DeviceAddress address) = 0;
  virtual Status host_write(DeviceAddress address, std::byte value) = 0;

  // Runs run_child_task in another process; its text.
  virtual std::string run_child(const ChildTask& task) = 0;
};

// What `ipc.child` does: imports the descriptor, maps it with access for device 0, reads the first
// byte, fills with the value, asks for the properties, tries to export again, cleans up. The text
// is `call:RESULT` for each call made, and `byte:N`.
[[nodiscard]] std::string run_child_task(Driver& driver, const ChildTask& task);

}  // namespace tessera::scenario
