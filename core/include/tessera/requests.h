// What the calls of Driver take and give. Requests are written with designated initializers.
//
// Fields hold whatever a C program could pass, also what no driver accepts (an unknown location
// type, an access flag of 7): a Driver answers, the types do not guard. Values outside an
// enumeration are made with static_cast; each has a fixed underlying type for that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "tessera/address.h"
#include "tessera/bytes.h"
#include "tessera/ids.h"

namespace tessera {

// CUmemAllocationType.
enum class AllocationType : std::uint32_t { invalid = 0, pinned = 1, managed = 2 };

// CUmemLocationType.
enum class LocationType : std::uint32_t {
  none = 0,
  device = 1,
  host = 2,
  host_numa = 3,
  host_numa_current = 4,
};

// A device, the host or a NUMA node of it (CUmemLocation).
struct Location {
  LocationType type = LocationType::device;
  std::int32_t id = 0;  // the device's ordinal, or the NUMA node

  friend bool operator==(const Location&, const Location&) = default;
};

[[nodiscard]] constexpr Location on_device(DeviceOrdinal device) noexcept {
  return {.type = LocationType::device, .id = device.value()};
}

// CUmemAllocationHandleType, a set of bits.
enum class HandleTypes : std::uint32_t {
  none = 0,
  posix_file_descriptor = 1,
  win32 = 2,
  win32_kmt = 4,
  fabric = 8,
};
[[nodiscard]] constexpr HandleTypes operator|(HandleTypes left, HandleTypes right) noexcept {
  return static_cast<HandleTypes>(static_cast<std::uint32_t>(left) |
                                  static_cast<std::uint32_t>(right));
}
[[nodiscard]] constexpr bool has_all(HandleTypes set, HandleTypes wanted) noexcept {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(wanted)) ==
         static_cast<std::uint32_t>(wanted);
}

[[nodiscard]] constexpr bool is_host(LocationType type) noexcept {
  return type == LocationType::host || type == LocationType::host_numa;
}

// CUmemAllocationCompType.
enum class Compression : std::uint8_t { none = 0, generic = 1 };

// CU_MEM_CREATE_USAGE_*: bits of AllocationProperties::usage.
inline constexpr std::uint16_t usage_tile_pool = 1;
inline constexpr std::uint16_t usage_hw_decompress = 2;

// CUmemAllocationProp.
struct AllocationProperties {
  AllocationType type = AllocationType::pinned;
  HandleTypes requested_handle_types = HandleTypes::none;
  Location location = {};
  // The Windows security attributes; only whether they were given matters to a simulator.
  const void* win32_handle_metadata = nullptr;
  Compression compression = Compression::none;
  std::uint8_t gpu_direct_rdma_capable = 0;
  std::uint16_t usage = 0;                    // usage_* bits
  std::array<std::uint8_t, 4> reserved = {};  // to be zero

  friend bool operator==(const AllocationProperties&, const AllocationProperties&) = default;
};

// CUmemAllocationGranularity_flags.
enum class GranularityOption : std::uint32_t { minimum = 0, recommended = 1 };

// Which pointer arguments of the C call are null. A C program can pass null where this interface
// returns a value, and drivers answer that: front-ends and recordings need a way to say it.
enum class NullPointers : std::uint8_t {
  none = 0,
  output = 1,      // where the result goes
  properties = 2,  // the properties, or the location, that the call reads
};
[[nodiscard]] constexpr NullPointers operator|(NullPointers left, NullPointers right) noexcept {
  return static_cast<NullPointers>(static_cast<unsigned>(left) | static_cast<unsigned>(right));
}
[[nodiscard]] constexpr bool has_any(NullPointers set, NullPointers wanted) noexcept {
  return (static_cast<unsigned>(set) & static_cast<unsigned>(wanted)) != 0;
}

struct GranularityRequest {
  AllocationProperties properties;
  GranularityOption option = GranularityOption::minimum;
  NullPointers null_pointers = NullPointers::none;
};

struct ReserveRequest {
  Bytes size;
  Bytes alignment = {};     // zero: the driver's choice
  DeviceAddress hint = {};  // null: anywhere; else a wish that need not be granted
  std::uint64_t flags = 0;  // to be zero
  NullPointers null_pointers = NullPointers::none;
};

struct AddressFreeRequest {
  DeviceAddress address;
  Bytes size;
};

struct CreateRequest {
  Bytes size;
  AllocationProperties properties = {};
  std::uint64_t flags = 0;  // to be zero
  NullPointers null_pointers = NullPointers::none;
};

struct PropertiesRequest {
  AllocationHandle handle;
  NullPointers null_pointers = NullPointers::none;
};

struct ExportRequest {
  AllocationHandle handle;
  HandleTypes type = HandleTypes::posix_file_descriptor;
  std::uint64_t flags = 0;  // to be zero
  NullPointers null_pointers = NullPointers::none;
};

// What an export gives and an import takes; the field that `type` names counts.
struct ShareableHandle {
  HandleTypes type = HandleTypes::posix_file_descriptor;
  int file_descriptor = -1;               // posix: the exporter's caller owns it and closes it
  std::uint64_t win32 = 0;                // win32, win32_kmt: a HANDLE's or D3DKMT_HANDLE's value
  std::array<std::byte, 64> fabric = {};  // fabric: CUmemFabricHandle
};

struct MapRequest {
  DeviceAddress address;
  Bytes size;
  Bytes offset = {};  // into the handle's memory; drivers so far take only zero
  AllocationHandle handle;
  std::uint64_t flags = 0;  // to be zero
};

struct UnmapRequest {
  DeviceAddress address;
  Bytes size;
};

// CUmemAccess_flags.
enum class AccessFlags : std::uint32_t { none = 0, read = 1, read_write = 3 };

// CUmemAccessDesc.
struct AccessDescriptor {
  Location location;
  AccessFlags flags;

  friend bool operator==(const AccessDescriptor&, const AccessDescriptor&) = default;
};

struct SetAccessRequest {
  DeviceAddress address;
  Bytes size;
  std::span<const AccessDescriptor> descriptors;
};

struct GetAccessRequest {
  DeviceAddress address;
  Location location = {};
  NullPointers null_pointers = NullPointers::none;
};

struct AllocPitchRequest {
  Bytes width;  // of a row
  std::uint64_t height;
  std::uint32_t element_size;  // 4, 8 or 16
};
struct PitchedAllocation {
  DeviceAddress address;
  Bytes pitch;
};

// CUmemAttach_flags.
enum class ManagedFlags : std::uint32_t { attach_global = 1, attach_host = 2, attach_single = 4 };

struct AllocManagedRequest {
  Bytes size;
  ManagedFlags flags = ManagedFlags::attach_global;
};

struct AllocAsyncRequest {
  Bytes size;
  StreamHandle stream = {};
};
struct FreeAsyncRequest {
  DeviceAddress address;
  StreamHandle stream = {};
};

struct HostAllocRequest {
  Bytes size;
  std::uint32_t flags = 0;  // CU_MEMHOSTALLOC_*: portable 1, device map 2, write combined 4
};

struct MemoryInfo {
  Bytes free;
  Bytes total;

  friend bool operator==(const MemoryInfo&, const MemoryInfo&) = default;
};

// CUpointer_attribute.
enum class PointerAttribute : std::uint32_t {
  context = 1,
  memory_type = 2,
  device_pointer = 3,
  host_pointer = 4,
  p2p_tokens = 5,
  sync_memops = 6,
  buffer_id = 7,
  is_managed = 8,
  device_ordinal = 9,
  is_legacy_cuda_ipc_capable = 10,
  range_start_addr = 11,
  range_size = 12,
  mapped = 13,
  allowed_handle_types = 14,
  is_gpu_direct_rdma_capable = 15,
  access_flags = 16,
  mempool_handle = 17,
  mapping_size = 18,
  mapping_base_addr = 19,
  memory_block_id = 20,
  is_hw_decompress_capable = 21,
};

struct PointerAttributeRequest {
  PointerAttribute attribute;
  DeviceAddress address;
};

// CUmemRangeHandleType: 1 is a dma-buf descriptor. Flags: 1 asks for a mapping over PCIe.
struct RangeHandleRequest {
  DeviceAddress address;
  Bytes size;
  std::uint32_t handle_type = 1;
  std::uint64_t flags = 0;
};

struct MemcpyHtodRequest {
  DeviceAddress destination;
  std::span<const std::byte> source;
};
struct MemcpyDtohRequest {
  std::span<std::byte> destination;
  DeviceAddress source;
};
struct MemcpyDtodRequest {
  DeviceAddress destination;
  DeviceAddress source;
  Bytes size;
};
struct MemsetD8Request {
  DeviceAddress destination;
  std::uint8_t value;
  Bytes size;
};

// The asynchronous forms: host memory stays valid until the stream has done the work.
struct MemcpyHtodAsyncRequest {
  MemcpyHtodRequest copy;
  StreamHandle stream = {};
};
struct MemcpyDtohAsyncRequest {
  MemcpyDtohRequest copy;
  StreamHandle stream = {};
};
struct MemcpyDtodAsyncRequest {
  MemcpyDtodRequest copy;
  StreamHandle stream = {};
};
struct MemsetD8AsyncRequest {
  MemsetD8Request set;
  StreamHandle stream = {};
};

// CUctx_flags, CUstream_flags, CUevent_flags: zero is the default of each.
struct ContextCreateRequest {
  DeviceOrdinal device;
  std::uint32_t flags = 0;
};
enum class StreamFlags : std::uint32_t { blocking = 0, non_blocking = 1 };
enum class EventFlags : std::uint32_t { none = 0, blocking_sync = 1, disable_timing = 2 };

struct StreamWaitEventRequest {
  StreamHandle stream = {};
  EventHandle event;
  std::uint32_t flags = 0;
};
struct EventRecordRequest {
  EventHandle event;
  StreamHandle stream = {};
};

struct PeerAccessRequest {
  ContextHandle peer;       // gets to be accessed by the current context
  std::uint32_t flags = 0;  // to be zero
};
struct PeerQuery {
  DeviceOrdinal device;  // would access
  DeviceOrdinal peer;    // would be accessed
};

// CUlimit.
enum class ContextLimit : std::uint32_t {
  stack_size = 0,
  printf_fifo_size = 1,
  malloc_heap_size = 2,
  dev_runtime_sync_depth = 3,  // not on devices of today: unsupported_limit [h200]
  dev_runtime_pending_launch_count = 4,
  max_l2_fetch_granularity = 5,
  persisting_l2_cache_size = 6,
  shmem_size = 7,                  // can only be read [h200]
  cig_enabled = 8,                 // can only be read [h200]
  cig_shmem_fallback_enabled = 9,  // unsupported_limit [h200]
};
struct SetLimitRequest {
  ContextLimit limit;
  Bytes value;
};

struct DeviceAttributeRequest {
  std::int32_t attribute;  // CUdevice_attribute's number
  DeviceOrdinal device = {};
};

// A kernel of one thread that waits for `duration`, then reads or writes the byte at `address`.
enum class Touch : std::uint8_t { read, write };
struct LaunchTouchRequest {
  DeviceAddress address;
  Touch touch;
  std::uint8_t value = 0;     // what a write puts there
  DeviceAddress result = {};  // where the byte read goes, unless null: any byte it may write
  std::uint64_t duration_ns = 0;
  StreamHandle stream = {};
};

// CUmulticastObjectProp.
struct MulticastProperties {
  std::uint32_t device_count;
  Bytes size;
  HandleTypes handle_types = HandleTypes::none;
  std::uint64_t flags = 0;  // to be zero
};
struct MulticastGranularityRequest {
  MulticastProperties properties;
  GranularityOption option = GranularityOption::minimum;
};
struct MulticastAddDeviceRequest {
  AllocationHandle multicast;
  DeviceOrdinal device;
};
struct MulticastBindMemRequest {
  AllocationHandle multicast;
  Bytes multicast_offset = {};
  AllocationHandle memory;
  Bytes memory_offset = {};
  Bytes size;
  std::uint64_t flags = 0;  // to be zero
};
struct MulticastBindAddrRequest {
  AllocationHandle multicast;
  Bytes multicast_offset = {};
  DeviceAddress address;  // mapped memory of a device that was added
  Bytes size;
  std::uint64_t flags = 0;  // to be zero
};
struct MulticastUnbindRequest {
  AllocationHandle multicast;
  DeviceOrdinal device;
  Bytes multicast_offset = {};
  Bytes size;
};

}  // namespace tessera
