// v100_cuda102: a Tesla V100 (SXM2, 16 GiB) with CUDA 10.2, the first driver with these calls: no
// fabric handles, memory on the host, pools, compression, dma-buf or multicast. Not recorded: the
// device's figures are published ones, and where CUDA 10.2's behaviour is unknown it is strict.
#include "profiles_built_in.h"

namespace tessera::sim {
namespace {

// CUDA 10.2's enumeration ends at 105: what was added later is an invalid number.
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
      {13, 1530000},     // clock, kHz
      {14, 512},         // texture alignment
      {15, 1},           // copies overlap kernels
      {16, 80},          // multiprocessors
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
      {36, 877000},      // memory clock, kHz
      {37, 4096},        // memory bus width, bits
      {38, 6291456},     // L2 cache
      {39, 2048},        // threads of a multiprocessor
      {40, 5},           // copy engines
      {41, 1},           // unified addressing
      {50, 0},           // PCI domain
      {51, 32},          // texture pitch alignment
      {75, 7},           // compute capability 7.0
      {76, 0},           //
      {78, 1},           // stream priorities
      {79, 1},           // global L1 cache
      {80, 1},           // local L1 cache
      {81, 98304},       // shared memory of a multiprocessor
      {82, 65536},       // registers of a multiprocessor
      {83, 1},           // managed memory
      {84, 0},           // multi-GPU board
      {85, 0},           // its group
      {86, 0},           // native atomics with the host
      {87, 2},           // single to double precision
      {88, 0},           // pageable memory access
      {89, 1},           // concurrent managed access
      {90, 1},           // compute preemption
      {91, 1},           // host pointers of registered memory
      {95, 1},           // cooperative launch
      {96, 1},           // cooperative launch over devices
      {97, 98304},       // shared memory of a block, opted in
      {98, 0},           // flushing remote writes
      {99, 1},           // host registration
      {100, 0},          // pageable memory through the host's page tables
      {101, 0},          // direct managed access from the host
      {102, 1},          // virtual memory management
      {103, 1},          // posix descriptors
      {104, 0},          // win32 handles
      {105, 0},          // win32 KMT handles
  };
}

}  // namespace

Profile v100_cuda102_profile() {
  // Granularities, address space, defaults of limits, and the costs, for want of others.
  Profile profile = h200_profile();
  profile.name = "v100_cuda102";
  profile.device_name = "Tesla V100-SXM2-16GB";
  profile.driver_addresses = Bytes();
  profile.driver_free.clear();
  profile.driver_mapped_single_device.clear();
  profile.driver_version = 10020;
  profile.memory_total = Bytes(16'945'512'448);
  profile.memory_reserved = 256_MiB;
  profile.device_attributes = attributes();
  profile.context_static = 304_MiB;
  profile.resident_threads = 80 * 2048;

  profile.export_types = HandleTypes::posix_file_descriptor;
  profile.not_permitted_types = HandleTypes::none;
  profile.host_locations = false;
  profile.compression = false;
  profile.memory_pools = false;
  profile.multicast = false;
  profile.dma_buf = false;

  profile.quirks = {
      .unmap_accepts_holes = false,
      .set_access_stops_at_hole = false,
      .map_may_leave_reservation = false,
      .partial_mapping = false,
      .address_free_refuses_mapped = true,
      .reexport_imported = false,
      .ignores_unknown_handle_types = false,
      .copies_check_access = true,
      .cpu_copies_host_memory = false,
      .rdma_needs_first_mapping = false,
  };
  profile.costs.erase(Call::mem_alloc_async);
  profile.costs.erase(Call::mem_free_async);
  return profile;
}

}  // namespace tessera::sim
