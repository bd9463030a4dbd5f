// documented: what the driver API's documentation promises, and no more: a program that runs here
// leans on nothing that a driver happens to do. Where the documentation is open, the stricter way.
#include "profiles_built_in.h"

namespace tessera::sim {

Profile documented_profile() {
  // The machine is the H200 with an arm64 host, whose pages are larger than those that programs
  // tend to assume: sizes and hints of reservations are multiples of the host page, as documented.
  Profile profile = h200_profile();
  profile.name = "documented";
  profile.device_name = "NVIDIA Documented GPU";
  profile.driver_addresses = Bytes();
  profile.driver_free.clear();
  profile.driver_mapped_single_device.clear();
  profile.host_page = 64_KiB;
  profile.reservation_granularity = 64_KiB;
  // Reservations of 2 MiB and more begin at multiples of it, so that the programming guide's
  // examples, which ask for no alignment, can map at the start of theirs.
  profile.reservation_block = 2_MiB;

  profile.quirks = {
      // "The range must be the entire contiguous address range that was mapped to."
      .unmap_accepts_holes = false,
      // "The range must be a fully mapped address range."
      .set_access_stops_at_hole = false,
      // "This range must be an address reservation previously reserved."
      .map_may_leave_reservation = false,
      // "Note: currently must be zero", of the offset. That a size may be less than the handle's
      // is documented; no driver known takes it, so no program should lean on it.
      .partial_mapping = false,
      .address_free_refuses_mapped = true,
      .reexport_imported = false,
      .ignores_unknown_handle_types = false,
      .copies_check_access = true,
      .cpu_copies_host_memory = false,
      .rdma_needs_first_mapping = false,
  };
  return profile;
}

}  // namespace tessera::sim
