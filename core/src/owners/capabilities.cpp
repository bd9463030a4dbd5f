#include "tessera/owners/capabilities.h"

#include <optional>
#include <string_view>

#include "tessera/owners/physical_allocation.h"

namespace tessera {
namespace {

// Makes a granule of such memory and gives it back. `is_granted` says of what the driver made of it
// whether that is what was asked.
template <class IsGranted>
Capability try_memory(Driver& driver, const MemoryOptions& options, Bytes granularity,
                      const IsGranted& is_granted) {
  auto memory = PhysicalAllocation::create(
      driver, {.size = granularity, .memory = options, .granularity = granularity});
  if (!memory) {
    return Capability(memory.error());
  }
  const auto granted = memory->granted();
  if (!granted) {
    return Capability(granted.error());
  }
  if (!is_granted(*granted)) {
    return Capability(Error{.code = ErrorCode::not_supported,
                            .call = Call::mem_create,
                            .reason = Reason::asked_and_not_granted});
  }
  // A driver that cannot take back what it made is not one to use this with.
  const Status closed = memory->close();
  return closed ? Capability() : Capability(closed.error());
}

// CUdevice_attribute's numbers.
constexpr std::int32_t posix_supported = 103;
constexpr std::int32_t win32_supported = 104;
constexpr std::int32_t compression_supported = 107;
constexpr std::int32_t rdma_supported = 110;
constexpr std::int32_t fabric_supported = 128;

// Nothing where the attribute says that the device has it. A "no" is believed: to try all the same
// would be a call that the documentation forbids. So is a driver that does not know the attribute,
// which is too old. A "yes" is not: what it promises is tried.
std::optional<Capability> denied(Driver& driver, DeviceOrdinal device, std::int32_t attribute) {
  const auto value = driver.device_get_attribute({.attribute = attribute, .device = device});
  if (!value) {
    return Capability(value.error());
  }
  if (*value != 0) {
    return std::nullopt;
  }
  return Capability(Error{.code = ErrorCode::not_supported,
                          .call = Call::device_get_attribute,
                          .reason = Reason::attribute_denies,
                          .values = {static_cast<std::uint64_t>(attribute)}});
}

}  // namespace

std::string Capability::why() const {
  return available_ ? std::string("available") : tessera::to_string(why_not_);
}

const Error& Capability::error() const noexcept {
  TESSERA_CHECK(!available_);
  return why_not_;
}

Result<Capabilities> probe_capabilities(Driver& driver, DeviceOrdinal device) {
  const MemoryOptions plain = {.location = on_device(device)};
  MemoryOptions recommended = plain;
  recommended.granularity = GranularityOption::recommended;
  Capabilities found;
  found.device = device;
  // The name first, because the granularity of a device that does not exist is told, too [h200].
  TESSERA_TRY(driver.device_get_name(device));
  TESSERA_TRY_ASSIGN(found.granularity_minimum, granularity_of(driver, plain));
  TESSERA_TRY_ASSIGN(found.granularity_recommended, granularity_of(driver, recommended));

  const Bytes granule = found.granularity_minimum;
  const auto anything = [](const AllocationProperties& /*got*/) { return true; };
  const auto try_export = [&](HandleTypes type, std::int32_t attribute) {
    if (const auto no = denied(driver, device, attribute)) {
      return *no;
    }
    MemoryOptions options = plain;
    options.exports = type;
    return try_memory(driver, options, granule, [type](const AllocationProperties& got) {
      return has_all(got.requested_handle_types, type);
    });
  };
  const auto try_on = [&](Location location) {
    return try_memory(driver, {.location = location}, granule, anything);
  };
  found.device_memory = try_memory(driver, plain, granule, anything);
  found.export_posix = try_export(HandleTypes::posix_file_descriptor, posix_supported);
  found.export_fabric = try_export(HandleTypes::fabric, fabric_supported);
  found.export_win32 = try_export(HandleTypes::win32, win32_supported);
  MemoryOptions rdma = plain;
  rdma.gpu_direct_rdma = true;
  const auto no_rdma = denied(driver, device, rdma_supported);
  found.gpu_direct_rdma =
      no_rdma ? *no_rdma : try_memory(driver, rdma, granule, [](const AllocationProperties& got) {
        return got.gpu_direct_rdma_capable != 0;
      });
  MemoryOptions compressed = plain;
  compressed.compression = true;
  const auto no_compression = denied(driver, device, compression_supported);
  found.compression =
      no_compression ? *no_compression
                     : try_memory(driver, compressed, granule, [](const AllocationProperties& got) {
                         return got.compression == Compression::generic;
                       });
  found.host_memory = try_on(on_host());
  found.host_numa_memory = try_on(on_host_numa_node(0));

  TESSERA_TRY_ASSIGN(const std::int32_t devices, driver.device_get_count());
  for (std::int32_t other = 0; other < devices; ++other) {
    if (other == device.value()) {
      continue;
    }
    TESSERA_TRY_ASSIGN(const bool reaches, driver.device_can_access_peer(
                                               {.device = device, .peer = DeviceOrdinal(other)}));
    if (reaches) {
      found.peers.emplace_back(other);
    }
  }
  return found;
}

std::string to_string(const Capabilities& capabilities) {
  std::string out = "device " + std::to_string(capabilities.device.value()) + ": granularity " +
                    std::to_string(capabilities.granularity_minimum.value()) + ", recommended " +
                    std::to_string(capabilities.granularity_recommended.value()) + "\n";
  struct Line {
    std::string_view name;
    const Capability& capability;
  };
  for (const Line& line : {Line{"device memory", capabilities.device_memory},
                           Line{"export as POSIX descriptor", capabilities.export_posix},
                           Line{"export as fabric handle", capabilities.export_fabric},
                           Line{"export as Win32 handle", capabilities.export_win32},
                           Line{"GPU-direct RDMA", capabilities.gpu_direct_rdma},
                           Line{"compression", capabilities.compression},
                           Line{"host memory", capabilities.host_memory},
                           Line{"host NUMA memory", capabilities.host_numa_memory}}) {
    out += std::string(line.name) + ": " + line.capability.why() + "\n";
  }
  out += "peers:";
  for (const DeviceOrdinal peer : capabilities.peers) {
    out += " " + std::to_string(peer.value());
  }
  return out + (capabilities.peers.empty() ? " none\n" : "\n");
}

Result<const Capabilities*> CapabilityCache::of(DeviceOrdinal device) {
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(device);
  if (known != known_.end()) {
    return &known->second;
  }
  TESSERA_TRY_ASSIGN(Capabilities found, probe_capabilities(*driver_, device));
  return &known_.emplace(device, std::move(found)).first->second;
}

}  // namespace tessera
