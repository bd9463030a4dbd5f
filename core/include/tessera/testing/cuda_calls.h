// CudaCalls: a table of functions with the signatures of cuda.h that make their calls on a Driver;
// for tests of code that is written against the CUDA driver API itself.
//
// What is tested reaches the driver through function pointers, as programs that open libcuda at run
// time do. Either it is given this table, or it looks each function up by name, with
// `cuda_entry_point` in the place of dlsym or cuGetProcAddress:
//
//   const CudaCallsScope scope(driver);  // for as long as this lives, calls go to `driver`
//   auto create = reinterpret_cast<decltype(&cuMemCreate)>(cuda_entry_point("cuMemCreate"));
//
// The types have cuda.h's names and layouts, which is checked wherever cuda.h is found
// (backends/cuda), but stand in a namespace of their own: cuda.h is not needed, and does no harm.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/driver.h"

namespace tessera::cuda_calls {

// NOLINTBEGIN(readability-identifier-naming): cuda.h's names.
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmemGenericAllocationHandle = unsigned long long;
// Declared by themselves: `using CUcontext = struct CUctx_st*` would find cuda.h's.
struct CUctx_st;
struct CUstream_st;
struct CUevent_st;
using CUcontext = CUctx_st*;
using CUstream = CUstream_st*;
using CUevent = CUevent_st*;

// Other numbers come as they are.
enum CUresult : std::uint32_t {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_NOT_SUPPORTED = 801,
};
enum CUdevice_attribute : std::uint32_t {
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
};
enum CUpointer_attribute : std::uint32_t {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_RANGE_START_ADDR = 11,
  CU_POINTER_ATTRIBUTE_RANGE_SIZE = 12,
};
enum CUmemAllocationType : std::uint32_t { CU_MEM_ALLOCATION_TYPE_PINNED = 1 };
enum CUmemAllocationHandleType : std::uint32_t {
  CU_MEM_HANDLE_TYPE_NONE = 0,
  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1,
  CU_MEM_HANDLE_TYPE_FABRIC = 8,
};
enum CUmemLocationType : std::uint32_t { CU_MEM_LOCATION_TYPE_DEVICE = 1 };
enum CUmemAccess_flags : std::uint32_t {
  CU_MEM_ACCESS_FLAGS_PROT_NONE = 0,
  CU_MEM_ACCESS_FLAGS_PROT_READ = 1,
  CU_MEM_ACCESS_FLAGS_PROT_READWRITE = 3,
};
enum CUmemAllocationGranularity_flags : std::uint32_t {
  CU_MEM_ALLOC_GRANULARITY_MINIMUM = 0,
  CU_MEM_ALLOC_GRANULARITY_RECOMMENDED = 1,
};

struct CUmemLocation {
  CUmemLocationType type;
  int id;
};
struct CUmemAllocationProp {
  CUmemAllocationType type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation location;
  void* win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
struct CUmemAccessDesc {
  CUmemLocation location;
  CUmemAccess_flags flags;
};
// NOLINTEND(readability-identifier-naming)

struct CudaCalls {
#define TESSERA_CUDA_CALL(member, name, exported_name, parameters) CUresult(*member) parameters;
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL
};

// While it lives, the functions make their calls on its driver, on every thread of the process:
// they have no argument that could say which. Scopes may nest; without one each call answers
// CUDA_ERROR_NOT_INITIALIZED.
class CudaCallsScope {
 public:
  // `driver` outlives the scope.
  explicit CudaCallsScope(Driver& driver) noexcept;
  CudaCallsScope(const CudaCallsScope&) = delete;
  CudaCallsScope& operator=(const CudaCallsScope&) = delete;
  ~CudaCallsScope();

 private:
  Driver* outer_;
};

[[nodiscard]] const CudaCalls& cuda_calls() noexcept;

// The function of that name ("cuMemAlloc") or exported name ("cuMemAlloc_v2"); null if it is not in
// the table.
[[nodiscard]] void* cuda_entry_point(const char* name) noexcept;

// What a function answered, as a Driver would say it.
[[nodiscard]] inline Status to_status(CUresult result) noexcept {
  return result == CUDA_SUCCESS ? Status()
                                : Error{.code = static_cast<ErrorCode>(result), .call = Call::none};
}

}  // namespace tessera::cuda_calls
