// h200: an NVIDIA H200 with driver 580.159.04 (CUDA 13.0), as it was recorded.
#include "profiles_built_in.h"

namespace tessera::sim {
namespace {

// The numbers are CUdevice_attribute's; the last part is what the recordings asked for. PCI places
// and identifiers differ from machine to machine: zero here.
std::map<std::int32_t, std::int32_t> attributes() {
  return {
      {1, 1024},         // threads of a block
      {2, 1024},         // block dimensions x, y, z
      {3, 1024},         //
      {4, 64},           //
      {5, 2147483647},   // grid dimensions x, y, z
      {6, 65535},        //
      {7, 65535},        //
      {8, 49152},        // shared memory of a block
      {9, 65536},        // constant memory
      {10, 32},          // warp size
      {11, 2147483647},  // largest pitch
      {12, 65536},       // registers of a block
      {13, 1980000},     // clock, kHz
      {14, 512},         // texture alignment
      {15, 1},           // copies overlap kernels
      {16, 132},         // multiprocessors
      {17, 0},           // kernels have a time limit
      {18, 0},           // integrated
      {19, 1},           // can map host memory
      {20, 0},           // compute mode: default
      {30, 512},         // surface alignment
      {31, 1},           // concurrent kernels
      {32, 1},           // ECC
      {33, 0},           // PCI bus
      {34, 0},           // PCI device
      {35, 0},           // TCC driver
      {36, 3201000},     // memory clock, kHz
      {37, 6016},        // memory bus width, bits
      {38, 62914560},    // L2 cache
      {39, 2048},        // threads of a multiprocessor
      {40, 3},           // copy engines
      {41, 1},           // unified addressing
      {50, 0},           // PCI domain
      {51, 32},          // texture pitch alignment
      {75, 9},           // compute capability 9.0
      {76, 0},           //
      {78, 1},           // stream priorities
      {79, 1},           // global L1 cache
      {80, 1},           // local L1 cache
      {81, 233472},      // shared memory of a multiprocessor
      {82, 65536},       // registers of a multiprocessor
      {83, 1},           // managed memory
      {84, 0},           // multi-GPU board
      {85, 0},           // its group
      {86, 0},           // native atomics with the host
      {87, 2},           // single to double precision
      {89, 1},           // concurrent managed access
      {90, 1},           // compute preemption
      {91, 1},           // host pointers of registered memory
      {95, 1},           // cooperative launch
      {96, 1},           // cooperative launch over devices
      {97, 232448},      // shared memory of a block, opted in
      {98, 0},           // flushing remote writes
      {99, 1},           // host registration
      {101, 0},          // direct managed access from the host
      {106, 32},         // blocks of a multiprocessor
      {108, 39321600},   // persisting L2
      {109, 134217728},  // access policy window
      {111, 1024},       // shared memory reserved of each block
      {113, 1},          // read-only host registration
      {114, 1},          // timeline semaphores
      {117, 1},          // RDMA flush options
      {118, 100},        // RDMA write ordering
      {120, 1},          // cluster launch
      {121, 1},          // deferred mapping of arrays
      {122, 1},          // 64-bit stream memory operations
      {123, 1},          // wait for NOR
      {124, 1},          // dma-buf
      {125, 1},          // IPC events
      {126, 4},          // memory synchronisation domains
      {127, 1},          // tensor maps
      {129, 1},          // unified function pointers
      {133, 0},          // MPS

      // Textures, surfaces and later additions, as an H200 answered.
      // clang-format off
      {21, 131072}, {22, 131072}, {23, 65536}, {24, 16384}, {25, 16384},
      {26, 16384}, {27, 32768}, {28, 32768}, {29, 2048}, {42, 32768},
      {43, 2048}, {44, 1}, {45, 32768}, {46, 32768}, {47, 8192},
      {48, 8192}, {49, 32768}, {52, 32768}, {53, 32768}, {54, 2046},
      {55, 32768}, {56, 131072}, {57, 65536}, {58, 16384}, {59, 16384},
      {60, 16384}, {61, 32768}, {62, 2048}, {63, 32768}, {64, 32768},
      {65, 2048}, {66, 32768}, {67, 32768}, {68, 2046}, {69, 268435456},
      {70, 131072}, {71, 65000}, {72, 2097120}, {73, 32768}, {74, 32768},
      {77, 32768}, {92, 0}, {93, 0}, {94, 0}, {135, 0},
      {136, 0}, {137, 0}, {138, 0}, {147, 0},
      // clang-format on

      {88, 0},    // pageable memory access
      {100, 0},   // ... through the host's page tables
      {102, 1},   // virtual memory management
      {103, 1},   // posix descriptors
      {104, 0},   // win32 handles
      {105, 0},   // win32 KMT handles
      {107, 1},   // compression
      {110, 1},   // GPU direct RDMA with virtual memory
      {112, 1},   // sparse arrays
      {115, 1},   // memory pools
      {116, 1},   // GPU direct RDMA
      {119, 9},   // handle types of pools: posix, fabric
      {128, 1},   // fabric handles
      {130, 0},   // NUMA configuration: none
      {131, -1},  // its own NUMA node: none
      {132, 1},   // multicast
      {134, 0},   // the host's NUMA node next to it
      {141, 1},   // virtual memory on the host's NUMA nodes
      {142, 1},   // pools on the host's NUMA nodes
      {143, 0},   // IPC of them between machines
      {144, 1},   // pools on the host
      {145, 1},   // virtual memory on the host
      {146, 0},   // dma-buf of host memory
  };
}

// Medians of recorded runs, in nanoseconds. A second figure is the slope up to 16 GiB by MiB, or,
// for set access and unmap, what each further mapping costs: as much as the first.
std::map<Call, CallCost> costs() {
  return {
      // Measured, one process at a time; with sixteen, 400 ms and more.
      {Call::ctx_create, {200'000'000, 0}},
      {Call::mem_address_reserve, {1'070, 0}},
      {Call::mem_create, {14'160, 22}},
      {Call::mem_map, {1'220, 0}},
      {Call::mem_set_access, {30'020, 30'020}},
      {Call::mem_unmap, {20'320, 20'320}},
      {Call::mem_release, {14'420, 560}},
      {Call::mem_address_free, {830, 0}},
      {Call::mem_alloc, {51'710, 200}},
      {Call::mem_alloc_pitch, {51'710, 200}},
      {Call::mem_free, {41'160, 610}},
      {Call::mem_alloc_async, {1'360, 0}},
      {Call::mem_free_async, {710, 0}},
      // Per MiB at the recorded 2060, 50 and 54 GB/s (one large handle, pinned host memory).
      {Call::memcpy_dtod, {5'000, 509}},
      {Call::memcpy_dtod_async, {5'000, 509}},
      {Call::memcpy_htod, {5'000, 21'000}},
      {Call::memcpy_htod_async, {5'000, 21'000}},
      {Call::memcpy_dtoh, {5'000, 19'400}},
      {Call::memcpy_dtoh_async, {5'000, 19'400}},
      // Not recorded: a fill only writes, so half of a copy on the device.
      {Call::memset_d8, {5'000, 255}},
      {Call::memset_d8_async, {5'000, 255}},
  };
}

AddressRange between(std::uint64_t begin, std::uint64_t end) {
  return {DeviceAddress(begin), Bytes(end - begin)};
}

// Ranges in MiB.
AddressRange mebibytes(std::uint64_t begin, std::uint64_t end) {
  return {DeviceAddress(begin << 20U), Bytes((end - begin) << 20U)};
}

}  // namespace

Profile h200_profile() {
  Profile profile;
  profile.name = "h200";
  profile.device_name = "NVIDIA H200";
  profile.driver_version = 13000;
  profile.memory_total = Bytes(150'109'880'320);
  // Of the total, which leaves out what the display and the firmware have. With the first context
  // 149,557,477,376 bytes were free.
  profile.memory_reserved = Bytes(3'407'872);
  profile.device_attributes = attributes();

  profile.granularity_minimum = 2_MiB;
  profile.granularity_recommended = 2_MiB;
  profile.reservation_granularity = 2_MiB;
  profile.host_page = 4_KiB;

  // The 47-bit space as a Linux process leaves it: below its executable, and above that up to its
  // libraries and stack. As measured, 64 TiB at once fit and 100 TiB do not, and 125 of 1 TiB (84
  // and 41) or 15 of 8 TiB (10 and 5) fit and no more, also beside a few small reservations.
  profile.address_windows = {
      between(0x0003'0200'0000, 0x0100'0000'0000),
      between(0x0100'0400'0000, 0x5555'5400'0000),
      between(0x55ff'8000'0000, 0x7f00'0000'0000),
  };
  profile.reservation_block = 32_MiB;
  // Found by where small reservations come to lie, and by which ends of unmap and set access meet
  // something although the program mapped nothing there. In granules of 2 MiB: two holes that
  // reservations can take, and mappings around them.
  profile.driver_addresses = 160_MiB;
  profile.driver_free = {mebibytes(30, 32), mebibytes(104, 128)};
  profile.driver_mapped_single_device = {
      mebibytes(32, 101),
      AddressRange(DeviceAddress(0x800'0000), 32_KiB),
      mebibytes(130, 132),
      mebibytes(132, 134),
      mebibytes(134, 135),
      mebibytes(135, 136),
      mebibytes(136, 137),
      mebibytes(140, 141),
      mebibytes(144, 146),
      mebibytes(146, 147),
      AddressRange(DeviceAddress(0x940'0000), 32_KiB),
      mebibytes(150, 152),
      mebibytes(154, 160),
  };
  profile.accessible_mappings_max = 524'090;

  profile.context_static = Bytes(548'995'072);
  profile.stack_size = 1_KiB;
  profile.malloc_heap_size = 8_MiB;
  profile.printf_fifo_size = Bytes(8'650'752);
  profile.resident_threads = 132 * 2048;
  profile.heap_block = 2_MiB;
  profile.heap_alignment = 512_B;
  profile.pitch_alignment = 512_B;
  profile.host_memory = 128_GiB;
  profile.host_numa_nodes = 1;

  profile.export_types = HandleTypes::posix_file_descriptor;
  profile.not_permitted_types = HandleTypes::fabric;
  profile.host_locations = true;
  profile.compression = true;
  profile.managed_memory = true;
  profile.memory_pools = true;
  profile.multicast = true;
  profile.dma_buf = true;

  profile.costs = costs();
  profile.default_cost = {.base_ns = 500, .per_unit_ns = 0};
  return profile;
}

}  // namespace tessera::sim
