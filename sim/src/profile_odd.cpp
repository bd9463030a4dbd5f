// odd: every figure another than on real machines, and none equal to another by chance, so that
// code which takes one for the other, or a number it has seen for a rule, fails. The documentation
// allows all of it, or leaves it open. No such machine exists.
#include "profiles_built_in.h"

namespace tessera::sim {

Profile odd_profile() {
  Profile profile = h200_profile();
  profile.name = "odd";
  profile.device_name = "Tessera Odd";
  profile.driver_addresses = Bytes();
  profile.driver_free.clear();
  profile.driver_mapped_single_device.clear();
  profile.driver_version = 12345;
  // No multiple of any granularity.
  profile.memory_total = 192_MiB + 12'345_B;
  profile.memory_reserved = 5_MiB + 77_B;

  // Minimum below recommended, and that no power of two: alignments must be made from the minimum.
  profile.granularity_minimum = 64_KiB;
  profile.granularity_recommended = 192_KiB;
  profile.reservation_granularity = 128_KiB;
  profile.host_page = 16_KiB;
  // High in 57 bits, where sums with an int or a float go wrong; not aligned to a block.
  profile.address_windows = {
      AddressRange(DeviceAddress(0x007e'dcba'9876'0000), 1_GiB),
      AddressRange(DeviceAddress(0x00fe'dcba'9876'0000), 3_GiB + 128_KiB),
  };
  profile.reservation_block = 1_MiB;
  profile.accessible_mappings_max = 1'000;

  profile.context_static = 3_MiB + 512_KiB;
  profile.stack_size = 768_B;
  profile.malloc_heap_size = 1_MiB;
  profile.printf_fifo_size = 96_KiB;
  profile.resident_threads = 96;
  profile.heap_block = 384_KiB;
  profile.heap_alignment = 1_KiB;
  profile.pitch_alignment = 256_B;
  profile.contiguous_memory = true;
  profile.host_numa_nodes = 3;

  // Up to four devices. 0 and 1 reach each other; 2 reaches 0, but not the other way; 3 is alone.
  profile.peers = {
      {true, true, false, false},
      {true, true, false, false},
      {true, false, true, false},
      {false, false, false, true},
  };

  profile.quirks = {
      .unmap_accepts_holes = false,
      .set_access_stops_at_hole = false,
      .map_may_leave_reservation = false,
      .partial_mapping = true,
      .address_free_refuses_mapped = false,
      .reexport_imported = true,
      .ignores_unknown_handle_types = false,
      .copies_check_access = false,
      .cpu_copies_host_memory = false,
      .rdma_needs_first_mapping = false,
  };
  return profile;
}

}  // namespace tessera::sim
