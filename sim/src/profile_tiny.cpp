// tiny: limits so small that each is met within a few calls. No such machine exists.
#include "profiles_built_in.h"

namespace tessera::sim {

Profile tiny_profile() {
  Profile profile = h200_profile();
  profile.name = "tiny";
  profile.device_name = "Tessera Tiny";
  profile.driver_addresses = Bytes();
  profile.driver_free.clear();
  profile.driver_mapped_single_device.clear();
  // 24 granules; what is reserved and a context take one each.
  profile.memory_total = 24 * 64_KiB;
  profile.memory_reserved = 64_KiB;

  profile.granularity_minimum = 64_KiB;
  profile.granularity_recommended = 64_KiB;
  profile.reservation_granularity = 64_KiB;
  // 4 MiB and 2 MiB of addresses: 96 granules.
  profile.address_windows = {
      AddressRange(DeviceAddress(0x1000'0000), 4_MiB),
      AddressRange(DeviceAddress(0x2000'0000), 2_MiB),
  };
  profile.reservation_block = 256_KiB;
  profile.accessible_mappings_max = 16;

  profile.context_static = 64_KiB;
  profile.stack_size = 256_B;
  profile.malloc_heap_size = 16_KiB;
  profile.printf_fifo_size = 4_KiB;
  profile.resident_threads = 64;
  profile.heap_block = 64_KiB;
  profile.heap_alignment = 256_B;
  profile.pitch_alignment = 256_B;
  return profile;
}

}  // namespace tessera::sim
