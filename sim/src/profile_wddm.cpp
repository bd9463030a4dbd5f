// wddm: a GeForce RTX 4090 under Windows' display driver model: a 40-bit address space, Win32
// handles instead of descriptors, and memory that pages out to the host when more is made than
// there is. Not recorded: the device's figures are published ones, the answers follow the
// documentation.
#include "profiles_built_in.h"

namespace tessera::sim {
namespace {

std::map<std::int32_t, std::int32_t> attributes() {
  std::map<std::int32_t, std::int32_t> attributes = h200_profile().device_attributes;
  const std::map<std::int32_t, std::int32_t> differing = {
      {13, 2520000},    // clock, kHz
      {16, 128},        // multiprocessors
      {17, 1},          // kernels have a time limit: the display's watchdog
      {32, 0},          // ECC
      {35, 0},          // TCC driver: no, WDDM
      {36, 10501000},   // memory clock, kHz
      {37, 384},        // memory bus width, bits
      {38, 75497472},   // L2 cache
      {39, 1536},       // threads of a multiprocessor
      {40, 1},          // copy engines
      {75, 8},          // compute capability 8.9
      {76, 9},          //
      {81, 102400},     // shared memory of a multiprocessor
      {87, 64},         // single to double precision
      {89, 0},          // concurrent managed access: not under Windows
      {91, 0},          // host pointers of registered memory: not under Windows
      {97, 101376},     // shared memory of a block, opted in
      {103, 0},         // posix descriptors
      {104, 1},         // win32 handles
      {105, 1},         // win32 KMT handles
      {106, 24},        // blocks of a multiprocessor
      {107, 0},         // compression
      {108, 51904512},  // persisting L2
      {110, 0},         // GPU direct RDMA with virtual memory
      {116, 0},         // GPU direct RDMA
      {117, 0},         // RDMA flush options
      {118, 0},         // RDMA write ordering
      {119, 0},         // handle types of pools
      {120, 0},         // cluster launch
      {124, 0},         // dma-buf
      {125, 0},         // IPC events
      {127, 0},         // tensor maps
      {128, 0},         // fabric handles
      {132, 0},         // multicast
      {134, -1},        // the host's NUMA node next to it: none told
      {141, 0},         // virtual memory on the host's NUMA nodes
      {142, 0},         // pools on the host's NUMA nodes
      {144, 0},         // pools on the host
      {145, 0},         // virtual memory on the host
  };
  for (const auto& [number, value] : differing) {
    attributes[number] = value;
  }
  return attributes;
}

}  // namespace

Profile wddm_profile() {
  // Granularities, defaults of limits, and the costs, for want of others.
  Profile profile = h200_profile();
  profile.name = "wddm";
  profile.device_name = "NVIDIA GeForce RTX 4090";
  profile.driver_addresses = Bytes();
  profile.driver_free.clear();
  profile.driver_mapped_single_device.clear();
  profile.memory_total = Bytes(25'756'696'576);
  // The desktop's share with one large display.
  profile.memory_reserved = 1280_MiB;
  profile.device_attributes = attributes();

  // All of 40 bits but the low addresses.
  profile.address_windows = {AddressRange(DeviceAddress(0x2'0000'0000), 1_TiB - 8_GiB)};
  profile.reservation_block = 64_MiB;

  profile.context_static = 384_MiB;
  profile.resident_threads = 128 * 1536;
  profile.pages_out = true;
  profile.host_memory = 32_GiB;

  profile.export_types = HandleTypes::win32 | HandleTypes::win32_kmt;
  profile.not_permitted_types = HandleTypes::none;
  profile.host_locations = false;
  profile.compression = false;
  profile.multicast = false;
  profile.dma_buf = false;

  profile.quirks.unmap_accepts_holes = false;
  profile.quirks.set_access_stops_at_hole = false;
  profile.quirks.map_may_leave_reservation = false;
  profile.quirks.ignores_unknown_handle_types = false;
  return profile;
}

}  // namespace tessera::sim
