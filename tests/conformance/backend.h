// Backend: a kind of machine that the suite runs on. The program that links the suite says which
// there are (`backends`); the suite knows nothing of simulators and GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "tessera/driver.h"

namespace tessera::conformance {

// What the machine has. Where it lacks something, the documented refusal is tested instead.
struct Features {
  // Memory holds what was written; else reads give anything, and only the books matter.
  bool bytes = true;
  // Sizes and hints of reservations are multiples of it.
  Bytes reservation_granularity;
  HandleTypes export_types = HandleTypes::none;
  bool host_locations = false;
  bool compression = false;
  bool managed_memory = false;
  bool memory_pools = false;
  bool dma_buf = false;
  // A copy or fill without access is refused at the call; else it loses the context.
  bool copies_check_access = true;
  bool reexports_imported = false;
  bool maps_parts = false;  // of a handle
};

// A machine in its first state: nothing initialized, no other user.
struct Machine {
  // Null where there is no such machine: `missing` says why.
  std::unique_ptr<Driver> driver;
  std::string missing = {};
  // Asked after init.
  std::function<Features()> features = {};
  // The CPU's own loads and stores.
  std::function<std::uint8_t(DeviceAddress)> host_read = {};
  std::function<void(DeviceAddress, std::uint8_t)> host_write = {};
  // What an owner of an exported handle does in the end: close(2), CloseHandle.
  std::function<void(const ShareableHandle&)> close = {};
  // What a case left behind that it should have given back, in words. Empty: nothing.
  std::function<std::string()> left_over = {};
  // Whether a fault, or a driver that was never initialized, takes a process of its own.
  bool isolates = false;
};

struct Backend {
  std::string name;
  std::int32_t devices_max = 1;
  std::function<Machine(std::int32_t devices)> make;
};

inline void PrintTo(const Backend& backend, std::ostream* out) { *out << backend.name; }

// Those that cases about contents run on too, and all: some keep only the books.
[[nodiscard]] const std::vector<Backend>& backends();
[[nodiscard]] const std::vector<Backend>& backends_of_books();

}  // namespace tessera::conformance
