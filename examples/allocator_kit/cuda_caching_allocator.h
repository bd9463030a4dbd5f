// The allocator of caching_allocator.h as a program writes it that calls the CUDA driver API
// through a table of function pointers.
#pragma once

#include <cstddef>
#include <map>

#include "tessera/testing/cuda_calls.h"

// The names of cuda.h; a program that includes it has them, and a table of its own.
using namespace tessera::cuda_calls;

class CudaCachingAllocator {
 public:
  explicit CudaCachingAllocator(const CudaCalls& cuda) : cuda_(cuda) {}
  CudaCachingAllocator(const CudaCachingAllocator&) = delete;
  CudaCachingAllocator& operator=(const CudaCachingAllocator&) = delete;
  ~CudaCachingAllocator() {
    cached_.merge(used_);
    trim();
  }

  CUresult allocate(CUdeviceptr* address, std::size_t size) {
    std::size_t granule = 0;
    CUmemAllocationProp memory = on_device();
    if (const CUresult failed = cuda_.mem_get_allocation_granularity(
            &granule, &memory, CU_MEM_ALLOC_GRANULARITY_MINIMUM)) {
      return failed;
    }
    size = (size + granule - 1) / granule * granule;
    for (auto block = cached_.begin(); block != cached_.end(); ++block) {
      if (block->second == size) {
        *address = block->first;
        used_.insert(cached_.extract(block));
        return CUDA_SUCCESS;
      }
    }
    CUresult result = map_memory(address, size);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
      trim();
      result = map_memory(address, size);
    }
    if (result == CUDA_SUCCESS) {
      used_.emplace(*address, size);
    }
    return result;
  }

  CUresult free(CUdeviceptr address) {
    cached_.insert(used_.extract(address));
    return CUDA_SUCCESS;
  }

 private:
  static CUmemAllocationProp on_device() {
    CUmemAllocationProp memory = {};
    memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    memory.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    return memory;
  }

  // Each step is undone when a later one fails.
  CUresult map_memory(CUdeviceptr* address, std::size_t size) {
    CUresult result = cuda_.mem_address_reserve(address, size, 0, 0, 0);
    if (result == CUDA_SUCCESS) {
      result = fill(*address, size);
      if (result != CUDA_SUCCESS) {
        cuda_.mem_address_free(*address, size);
      }
    }
    return result;
  }

  CUresult fill(CUdeviceptr address, std::size_t size) {
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp memory = on_device();
    if (const CUresult failed = cuda_.mem_create(&handle, size, &memory, 0)) {
      return failed;
    }
    CUresult result = cuda_.mem_map(address, size, 0, handle, 0);
    // The mapping alone keeps the memory from here on.
    cuda_.mem_release(handle);
    if (result == CUDA_SUCCESS) {
      const CUmemAccessDesc access = {memory.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
      result = cuda_.mem_set_access(address, size, &access, 1);
      if (result != CUDA_SUCCESS) {
        cuda_.mem_unmap(address, size);
      }
    }
    return result;
  }

  void trim() {
    for (const auto& [address, size] : cached_) {
      cuda_.mem_unmap(address, size);
      cuda_.mem_address_free(address, size);
    }
    cached_.clear();
  }

  const CudaCalls& cuda_;
  std::map<CUdeviceptr, std::size_t> used_;
  std::map<CUdeviceptr, std::size_t> cached_;
};
