// Whether tessera/testing/cuda_calls.h, which core has for tests, is like cuda.h: the numbers, the
// layouts and each function's parameters.
#include <cstddef>

#include <cuda.h>

#include "calls_alike.h"
#include "tessera/testing/cuda_calls.h"

namespace tessera::cuda {

// Opaque: only pointers to them are passed.
template <>
struct LaidOutLike<cuda_calls::CUctx_st> {
  using Type = ::CUctx_st;
};
template <>
struct LaidOutLike<cuda_calls::CUstream_st> {
  using Type = ::CUstream_st;
};
template <>
struct LaidOutLike<cuda_calls::CUevent_st> {
  using Type = ::CUevent_st;
};
// Compared below.
template <>
struct LaidOutLike<cuda_calls::CUmemLocation> {
  using Type = ::CUmemLocation;
};
template <>
struct LaidOutLike<cuda_calls::CUmemAllocationProp> {
  using Type = ::CUmemAllocationProp;
};
template <>
struct LaidOutLike<cuda_calls::CUmemAccessDesc> {
  using Type = ::CUmemAccessDesc;
};

namespace {

template <class Ours, class Theirs>
constexpr bool lies_alike(std::size_t our_offset, std::size_t their_offset) noexcept {
  return our_offset == their_offset && sizeof(Ours) == sizeof(Theirs);
}

#define TESSERA_SAME_SIZE(type) static_assert(sizeof(cuda_calls::type) == sizeof(::type))
#define TESSERA_SAME_FIELD(type, field)                                                 \
  static_assert(lies_alike<decltype(cuda_calls::type::field), decltype(::type::field)>( \
      offsetof(cuda_calls::type, field), offsetof(::type, field)))
TESSERA_SAME_SIZE(CUmemLocation);
TESSERA_SAME_FIELD(CUmemLocation, type);
TESSERA_SAME_FIELD(CUmemLocation, id);
TESSERA_SAME_SIZE(CUmemAccessDesc);
TESSERA_SAME_FIELD(CUmemAccessDesc, location);
TESSERA_SAME_FIELD(CUmemAccessDesc, flags);
TESSERA_SAME_SIZE(CUmemAllocationProp);
TESSERA_SAME_FIELD(CUmemAllocationProp, type);
TESSERA_SAME_FIELD(CUmemAllocationProp, requestedHandleTypes);
TESSERA_SAME_FIELD(CUmemAllocationProp, location);
TESSERA_SAME_FIELD(CUmemAllocationProp, win32HandleMetaData);
TESSERA_SAME_FIELD(CUmemAllocationProp, allocFlags.compressionType);
TESSERA_SAME_FIELD(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable);
TESSERA_SAME_FIELD(CUmemAllocationProp, allocFlags.usage);
TESSERA_SAME_FIELD(CUmemAllocationProp, allocFlags.reserved);

#define TESSERA_SAME_NUMBER(name) \
  static_assert(static_cast<unsigned>(cuda_calls::name) == static_cast<unsigned>(::name))
TESSERA_SAME_NUMBER(CUDA_SUCCESS);
TESSERA_SAME_NUMBER(CUDA_ERROR_INVALID_VALUE);
TESSERA_SAME_NUMBER(CUDA_ERROR_OUT_OF_MEMORY);
TESSERA_SAME_NUMBER(CUDA_ERROR_NOT_INITIALIZED);
TESSERA_SAME_NUMBER(CUDA_ERROR_INVALID_DEVICE);
TESSERA_SAME_NUMBER(CUDA_ERROR_INVALID_CONTEXT);
TESSERA_SAME_NUMBER(CUDA_ERROR_INVALID_HANDLE);
TESSERA_SAME_NUMBER(CUDA_ERROR_NOT_READY);
TESSERA_SAME_NUMBER(CUDA_ERROR_ILLEGAL_ADDRESS);
TESSERA_SAME_NUMBER(CUDA_ERROR_NOT_SUPPORTED);
TESSERA_SAME_NUMBER(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
TESSERA_SAME_NUMBER(CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
TESSERA_SAME_NUMBER(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
TESSERA_SAME_NUMBER(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
TESSERA_SAME_NUMBER(CU_POINTER_ATTRIBUTE_RANGE_SIZE);
TESSERA_SAME_NUMBER(CU_MEM_ALLOCATION_TYPE_PINNED);
TESSERA_SAME_NUMBER(CU_MEM_HANDLE_TYPE_NONE);
TESSERA_SAME_NUMBER(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
#if CUDA_VERSION >= 12030
TESSERA_SAME_NUMBER(CU_MEM_HANDLE_TYPE_FABRIC);
#endif
TESSERA_SAME_NUMBER(CU_MEM_LOCATION_TYPE_DEVICE);
TESSERA_SAME_NUMBER(CU_MEM_ACCESS_FLAGS_PROT_NONE);
TESSERA_SAME_NUMBER(CU_MEM_ACCESS_FLAGS_PROT_READ);
TESSERA_SAME_NUMBER(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
TESSERA_SAME_NUMBER(CU_MEM_ALLOC_GRANULARITY_MINIMUM);
TESSERA_SAME_NUMBER(CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

// As in abi_checks.cpp: a toolkit to come may declare other functions under these names.
#if CUDA_VERSION < 14000
#define TESSERA_CUDA_CALL(member, name, exported_name, parameters)                         \
  static_assert(CallsAlike<std::remove_pointer_t<decltype(cuda_calls::CudaCalls::member)>, \
                           decltype(::exported_name)>::value,                              \
                #exported_name);
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL
#endif

}  // namespace
}  // namespace tessera::cuda
