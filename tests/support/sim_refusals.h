// Bad input of every kind: an error that says what was wrong, and nothing changes; nothing crashes,
// also where a real driver does. Tables say what is tried. sim_driver_refusals_test.cpp tries it on
// every profile; tests/rules_off sees that a rule which is missing is noticed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string_view>
#include <vector>

#include "support/sim_machine.h"

namespace tessera::sim {

inline constexpr std::uint64_t huge = ~std::uint64_t{0};
inline constexpr AllocationHandle made_up{0xdead'beef};
inline constexpr ContextHandle made_up_context{0xdead'beef};
inline constexpr StreamHandle made_up_stream{0xdead'beef};
inline constexpr EventHandle made_up_event{0xdead'beef};
inline constexpr DeviceOrdinal no_device{99};
inline constexpr DeviceAddress nowhere{0x7000'0000'0000};
inline constexpr DeviceAddress last_address{huge};

// Makes a layer over a simulator; null: none.
using DriverLayer = std::function<std::unique_ptr<Driver>(Driver* simulator)>;

// What a World has where its profile can.
[[nodiscard]] bool has_peers(const Profile& profile);
[[nodiscard]] bool has_descriptors(const Profile& profile);

// A machine with something of each kind. It is built on the simulator itself; what is tried goes
// through `driver`.
struct World {
  explicit World(const Profile& profile, const DriverLayer& make_layer = nullptr);

  Status map(const MapRequest& request) { return driver.mem_map(request); }
  Status access(DeviceAddress address, Bytes size, AccessDescriptor descriptor);
  Status put(DeviceAddress address);
  Status get(DeviceAddress address);
  Result<AllocationHandle> create(const AllocationProperties& properties) {
    return driver.mem_create({.size = unit, .properties = properties});
  }

  SimMachine machine;
  std::unique_ptr<Driver> layer;  // may be null
  Driver& driver;
  Bytes unit;
  DeviceAddress range;
  DeviceAddress mapping;
  DeviceAddress allocated;
  DeviceAddress managed;  // null where the profile has none
  AllocationHandle handle;
  AllocationHandle unmapped;
  AllocationHandle released;
  AllocationHandle tile_pool;
  AllocationHandle imported;  // has_descriptors
  // Memory for GPU-direct RDMA whose first mapping is gone: two more are there, of which the first
  // has access.
  AllocationHandle rdma;
  DeviceAddress rdma_mappings;
  ContextHandle destroyed;
  ContextHandle peer;  // enabled; has_peers
  StreamHandle stream;
  EventHandle event;
  // Where there is multicast: an object of device 0 alone, two units mapped of which the first has
  // memory bound; one of two devices, of which none was added; and memory on the other device.
  AllocationHandle multicast;
  DeviceAddress multicast_mapping;
  AllocationHandle multicast_empty;
  AllocationHandle on_other_device;

 private:
  void add_rdma();
  void add_multicast();
};

struct Refusal {
  Call call;
  const char* what;
  std::optional<Error> (*make)(World& world);
};

// What is tried on profiles where it applies.
struct RefusalTable {
  const char* name;
  std::vector<Refusal> (*refusals)();
  bool (*applies)(const Profile& profile) = [](const Profile&) { return true; };
};
[[nodiscard]] const std::vector<RefusalTable>& refusal_tables();
// How GoogleTest shows a table.
inline void PrintTo(const RefusalTable& table, std::ostream* out) {  // NOLINT: its name
  *out << table.name;
}

// What needs another process, or a host that has run out: each on a machine of its own.
struct RefusalCase {
  Call call;
  Reason reason;
  std::optional<Error> (*make)(const DriverLayer& layer);
};
[[nodiscard]] const std::vector<RefusalCase>& refusal_cases();

template <class T>
[[nodiscard]] std::optional<Error> error_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

#define TESSERA_REFUSAL(method, what, expression)                                      \
  Refusal {                                                                            \
    Call::method, what, []([[maybe_unused]] World& w) { return error_of(expression); } \
  }

// The rows of refusal_tables().
[[nodiscard]] std::vector<Refusal> address_refusals();
[[nodiscard]] std::vector<Refusal> create_refusals();
[[nodiscard]] std::vector<Refusal> host_memory_refusals();
[[nodiscard]] std::vector<Refusal> compression_refusals();
[[nodiscard]] std::vector<Refusal> managed_memory_refusals();
[[nodiscard]] std::vector<Refusal> without_windows_handles_refusals();
[[nodiscard]] std::vector<Refusal> windows_handles_refusals();
[[nodiscard]] std::vector<Refusal> handle_refusals();
[[nodiscard]] std::vector<Refusal> import_refusals();
[[nodiscard]] std::vector<Refusal> mapping_refusals();
[[nodiscard]] std::vector<Refusal> rdma_refusals();
[[nodiscard]] std::vector<Refusal> null_pointer_refusals();
[[nodiscard]] std::vector<Refusal> system_refusals();
[[nodiscard]] std::vector<Refusal> peer_refusals();
[[nodiscard]] std::vector<Refusal> other_refusals();
[[nodiscard]] std::vector<Refusal> copy_refusals();
[[nodiscard]] std::vector<Refusal> dma_buf_refusals();
[[nodiscard]] std::vector<Refusal> multicast_refusals();
[[nodiscard]] std::vector<Refusal> multicast_copy_refusals();

}  // namespace tessera::sim
