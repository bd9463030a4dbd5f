// Profile: what a machine is and how its driver answers. The simulator's code has no `if h200`:
// where drivers differ, a profile says which way.
//
// Built in: h200 (what recordings of an H200 with driver 580.159.04 say), documented (the driver
// API's documentation read strictly), v100_cuda102 (the first driver with these calls), wddm
// (Windows), tiny and odd (small limits, so that they are met). docs/profiles.md is the file form.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/error.h"
#include "tessera/requests.h"
#include "tessera/result.h"

namespace tessera::sim {

// A fault of a profile or of its file, in words, with the place where there is one.
struct ProfileError {
  std::string message;
};

// How the driver treats what the documentation forbids or leaves open.
struct Quirks {
  // Unmap takes any range that starts in a reservation and cuts no mapping: holes, nothing at all,
  // unaligned ends. Else: exactly whole mappings without holes.
  bool unmap_accepts_holes = true;
  // Set access over [mapped][hole][mapped] says OK and sets only what lies before the hole.
  // Else: invalid_value.
  bool set_access_stops_at_hole = true;
  // Only the start of a mapping is checked against its reservation. Else: all of it.
  bool map_may_leave_reservation = true;
  // A handle's memory can be mapped in part, with an offset. Else: not_supported.
  bool partial_mapping = false;
  // Freeing addresses that are still mapped is refused. Else: it unmaps them.
  bool address_free_refuses_mapped = true;
  // An imported handle can be exported again.
  bool reexport_imported = false;
  // Handle-type bits that the driver does not know are ignored. Else: invalid_value.
  bool ignores_unknown_handle_types = true;
  // A copy or fill without access is refused at the call. Else it faults like a kernel.
  bool copies_check_access = true;
  // A side of a copy that begins in host memory, to which the device has no access, is the CPU's,
  // with the host's access. Else the device needs access there, too.
  bool cpu_copies_host_memory = true;
  // Memory for GPU-direct RDMA is refused further mappings and access after its first mapping went
  // (tessera/rdma_registration.h). Else its mappings do not depend on each other.
  bool rdma_needs_first_mapping = true;

  friend bool operator==(const Quirks&, const Quirks&) = default;
};

// What a call costs in virtual nanoseconds: base, and `per_unit_ns` for each further thing it
// handles (mappings for set access and unmap, MiB for create and release and copies). A retain that
// makes a primary context costs what ctx_create does, too.
struct CallCost {
  std::uint64_t base_ns = 0;
  std::uint64_t per_unit_ns = 0;

  friend bool operator==(const CallCost&, const CallCost&) = default;
};

struct Profile {
  std::string name;

  // --- The device (all devices of a machine are alike) ---
  std::string device_name;
  std::int32_t driver_version = 13000;
  Bytes memory_total;
  // Taken before any program runs: display, driver.
  Bytes memory_reserved;
  // CUdevice_attribute number -> value. Numbers not listed are invalid_value.
  std::map<std::int32_t, std::int32_t> device_attributes;

  // --- Sizes ---
  Bytes granularity_minimum;
  Bytes granularity_recommended;
  // What sizes and hints of reservations must be multiples of, and the least alignment given.
  Bytes reservation_granularity;
  Bytes host_page;

  // --- Address space ---
  // Where reservations can lie, lowest first, not overlapping.
  std::vector<AddressRange> address_windows;
  // Addresses come in blocks that are multiples of this; small reservations share one.
  Bytes reservation_block;
  // What the driver keeps for itself with a process's first context: so many bytes, at the top. Of
  // these, reservations can take what is free (the first listed first); what is mapped there, unmap
  // and set access find, on machines of one device [h200]. Ranges are relative to the begin.
  Bytes driver_addresses;
  std::vector<AddressRange> driver_free;
  std::vector<AddressRange> driver_mapped_single_device;
  // Mappings that can have access at once (page tables); set access is the call that runs out.
  std::uint64_t accessible_mappings_max = 0;

  // --- Memory of contexts and of mem_alloc ---
  Bytes context_static;  // a further context's share of the device's memory
  Bytes stack_size;      // ctx_get_limit's defaults
  Bytes malloc_heap_size;
  Bytes printf_fifo_size;
  std::uint32_t resident_threads = 0;  // the stack is taken for so many
  // mem_alloc takes memory in blocks of this size and hands out parts of them.
  Bytes heap_block;
  Bytes heap_alignment;
  Bytes pitch_alignment;
  // Memory must be found in one piece, so that it can be too fragmented for a request.
  bool contiguous_memory = false;
  // More memory than there is can be made: the rest pages out to the host (Windows).
  bool pages_out = false;
  // The host's memory: the most that host locations can have, and, where memory pages out, how much
  // may. Zero: no limit.
  Bytes host_memory;
  std::int32_t host_numa_nodes = 1;

  // --- Capabilities ---
  HandleTypes export_types = HandleTypes::none;         // can be made and exported
  HandleTypes not_permitted_types = HandleTypes::none;  // known, but mem_create: not_permitted
  bool host_locations = false;                          // mem_create on the host and its NUMA nodes
  bool compression = false;
  bool managed_memory = true;
  bool memory_pools = true;
  bool multicast = false;
  bool dma_buf = false;
  // peers[a][b]: device a can map device b's memory. Empty: every pair can.
  std::vector<std::vector<bool>> peers;

  Quirks quirks;
  // By call; calls not listed cost `default_cost`.
  std::map<Call, CallCost> costs;
  CallCost default_cost;

  friend bool operator==(const Profile&, const Profile&) = default;
};

[[nodiscard]] std::vector<std::string_view> built_in_profile_names();
// Nothing where the name is unknown: the message lists the known ones.
[[nodiscard]] Profile const* built_in_profile(std::string_view name);

// Contradictions inside the profile in words; empty when it is usable.
[[nodiscard]] std::string check_profile(const Profile& profile);

}  // namespace tessera::sim
