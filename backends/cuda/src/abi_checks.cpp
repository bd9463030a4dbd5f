// What this backend takes for granted of cuda.h, checked when it is compiled: the seam's numbers
// are the driver's, and the entry points have the parameters that entry_points.def says. Each part
// names the first CUDA whose header has what it compares with.
#include <cstddef>
#include <cstdint>

#include <cuda.h>

#include "calls_alike.h"
#include "entry_points.h"
#include "tessera/error.h"
#include "tessera/requests.h"

namespace tessera::cuda {
namespace {

template <class Enum>
constexpr std::int64_t number(Enum value) noexcept {
  return static_cast<std::int64_t>(value);
}

#define TESSERA_SAME(ours, theirs) static_assert(number(ours) == number(theirs))

// --- Error codes --------------------------------------------------------------------------------

#define TESSERA_SAME_CODE(ours, theirs) TESSERA_SAME(ErrorCode::ours, CUDA_ERROR_##theirs)
TESSERA_SAME_CODE(invalid_value, INVALID_VALUE);
TESSERA_SAME_CODE(out_of_memory, OUT_OF_MEMORY);
TESSERA_SAME_CODE(not_initialized, NOT_INITIALIZED);
TESSERA_SAME_CODE(deinitialized, DEINITIALIZED);
TESSERA_SAME_CODE(profiler_disabled, PROFILER_DISABLED);
TESSERA_SAME_CODE(profiler_not_initialized, PROFILER_NOT_INITIALIZED);
TESSERA_SAME_CODE(profiler_already_started, PROFILER_ALREADY_STARTED);
TESSERA_SAME_CODE(profiler_already_stopped, PROFILER_ALREADY_STOPPED);
TESSERA_SAME_CODE(stub_library, STUB_LIBRARY);
TESSERA_SAME_CODE(device_unavailable, DEVICE_UNAVAILABLE);
TESSERA_SAME_CODE(no_device, NO_DEVICE);
TESSERA_SAME_CODE(invalid_device, INVALID_DEVICE);
TESSERA_SAME_CODE(device_not_licensed, DEVICE_NOT_LICENSED);
TESSERA_SAME_CODE(invalid_image, INVALID_IMAGE);
TESSERA_SAME_CODE(invalid_context, INVALID_CONTEXT);
TESSERA_SAME_CODE(context_already_current, CONTEXT_ALREADY_CURRENT);
TESSERA_SAME_CODE(map_failed, MAP_FAILED);
TESSERA_SAME_CODE(unmap_failed, UNMAP_FAILED);
TESSERA_SAME_CODE(array_is_mapped, ARRAY_IS_MAPPED);
TESSERA_SAME_CODE(already_mapped, ALREADY_MAPPED);
TESSERA_SAME_CODE(no_binary_for_gpu, NO_BINARY_FOR_GPU);
TESSERA_SAME_CODE(already_acquired, ALREADY_ACQUIRED);
TESSERA_SAME_CODE(not_mapped, NOT_MAPPED);
TESSERA_SAME_CODE(not_mapped_as_array, NOT_MAPPED_AS_ARRAY);
TESSERA_SAME_CODE(not_mapped_as_pointer, NOT_MAPPED_AS_POINTER);
TESSERA_SAME_CODE(ecc_uncorrectable, ECC_UNCORRECTABLE);
TESSERA_SAME_CODE(unsupported_limit, UNSUPPORTED_LIMIT);
TESSERA_SAME_CODE(context_already_in_use, CONTEXT_ALREADY_IN_USE);
TESSERA_SAME_CODE(peer_access_unsupported, PEER_ACCESS_UNSUPPORTED);
TESSERA_SAME_CODE(invalid_ptx, INVALID_PTX);
TESSERA_SAME_CODE(invalid_graphics_context, INVALID_GRAPHICS_CONTEXT);
TESSERA_SAME_CODE(nvlink_uncorrectable, NVLINK_UNCORRECTABLE);
TESSERA_SAME_CODE(jit_compiler_not_found, JIT_COMPILER_NOT_FOUND);
TESSERA_SAME_CODE(unsupported_ptx_version, UNSUPPORTED_PTX_VERSION);
TESSERA_SAME_CODE(jit_compilation_disabled, JIT_COMPILATION_DISABLED);
TESSERA_SAME_CODE(unsupported_exec_affinity, UNSUPPORTED_EXEC_AFFINITY);
TESSERA_SAME_CODE(invalid_source, INVALID_SOURCE);
TESSERA_SAME_CODE(file_not_found, FILE_NOT_FOUND);
TESSERA_SAME_CODE(shared_object_symbol_not_found, SHARED_OBJECT_SYMBOL_NOT_FOUND);
TESSERA_SAME_CODE(shared_object_init_failed, SHARED_OBJECT_INIT_FAILED);
TESSERA_SAME_CODE(operating_system, OPERATING_SYSTEM);
TESSERA_SAME_CODE(invalid_handle, INVALID_HANDLE);
TESSERA_SAME_CODE(illegal_state, ILLEGAL_STATE);
TESSERA_SAME_CODE(not_found, NOT_FOUND);
TESSERA_SAME_CODE(not_ready, NOT_READY);
TESSERA_SAME_CODE(illegal_address, ILLEGAL_ADDRESS);
TESSERA_SAME_CODE(launch_out_of_resources, LAUNCH_OUT_OF_RESOURCES);
TESSERA_SAME_CODE(launch_timeout, LAUNCH_TIMEOUT);
TESSERA_SAME_CODE(launch_incompatible_texturing, LAUNCH_INCOMPATIBLE_TEXTURING);
TESSERA_SAME_CODE(peer_access_already_enabled, PEER_ACCESS_ALREADY_ENABLED);
TESSERA_SAME_CODE(peer_access_not_enabled, PEER_ACCESS_NOT_ENABLED);
TESSERA_SAME_CODE(primary_context_active, PRIMARY_CONTEXT_ACTIVE);
TESSERA_SAME_CODE(context_is_destroyed, CONTEXT_IS_DESTROYED);
TESSERA_SAME_CODE(assert, ASSERT);
TESSERA_SAME_CODE(too_many_peers, TOO_MANY_PEERS);
TESSERA_SAME_CODE(host_memory_already_registered, HOST_MEMORY_ALREADY_REGISTERED);
TESSERA_SAME_CODE(host_memory_not_registered, HOST_MEMORY_NOT_REGISTERED);
TESSERA_SAME_CODE(hardware_stack_error, HARDWARE_STACK_ERROR);
TESSERA_SAME_CODE(illegal_instruction, ILLEGAL_INSTRUCTION);
TESSERA_SAME_CODE(misaligned_address, MISALIGNED_ADDRESS);
TESSERA_SAME_CODE(invalid_address_space, INVALID_ADDRESS_SPACE);
TESSERA_SAME_CODE(invalid_pc, INVALID_PC);
TESSERA_SAME_CODE(launch_failed, LAUNCH_FAILED);
TESSERA_SAME_CODE(cooperative_launch_too_large, COOPERATIVE_LAUNCH_TOO_LARGE);
TESSERA_SAME_CODE(not_permitted, NOT_PERMITTED);
TESSERA_SAME_CODE(not_supported, NOT_SUPPORTED);
TESSERA_SAME_CODE(system_not_ready, SYSTEM_NOT_READY);
TESSERA_SAME_CODE(system_driver_mismatch, SYSTEM_DRIVER_MISMATCH);
TESSERA_SAME_CODE(compat_not_supported_on_device, COMPAT_NOT_SUPPORTED_ON_DEVICE);
TESSERA_SAME_CODE(mps_connection_failed, MPS_CONNECTION_FAILED);
TESSERA_SAME_CODE(mps_rpc_failure, MPS_RPC_FAILURE);
TESSERA_SAME_CODE(mps_server_not_ready, MPS_SERVER_NOT_READY);
TESSERA_SAME_CODE(mps_max_clients_reached, MPS_MAX_CLIENTS_REACHED);
TESSERA_SAME_CODE(mps_max_connections_reached, MPS_MAX_CONNECTIONS_REACHED);
TESSERA_SAME_CODE(mps_client_terminated, MPS_CLIENT_TERMINATED);
TESSERA_SAME_CODE(cdp_not_supported, CDP_NOT_SUPPORTED);
TESSERA_SAME_CODE(cdp_version_mismatch, CDP_VERSION_MISMATCH);
TESSERA_SAME_CODE(stream_capture_unsupported, STREAM_CAPTURE_UNSUPPORTED);
TESSERA_SAME_CODE(stream_capture_invalidated, STREAM_CAPTURE_INVALIDATED);
TESSERA_SAME_CODE(stream_capture_merge, STREAM_CAPTURE_MERGE);
TESSERA_SAME_CODE(stream_capture_unmatched, STREAM_CAPTURE_UNMATCHED);
TESSERA_SAME_CODE(stream_capture_unjoined, STREAM_CAPTURE_UNJOINED);
TESSERA_SAME_CODE(stream_capture_isolation, STREAM_CAPTURE_ISOLATION);
TESSERA_SAME_CODE(stream_capture_implicit, STREAM_CAPTURE_IMPLICIT);
TESSERA_SAME_CODE(captured_event, CAPTURED_EVENT);
TESSERA_SAME_CODE(stream_capture_wrong_thread, STREAM_CAPTURE_WRONG_THREAD);
TESSERA_SAME_CODE(timeout, TIMEOUT);
TESSERA_SAME_CODE(graph_exec_update_failure, GRAPH_EXEC_UPDATE_FAILURE);
TESSERA_SAME_CODE(external_device, EXTERNAL_DEVICE);
TESSERA_SAME_CODE(invalid_cluster_size, INVALID_CLUSTER_SIZE);
TESSERA_SAME_CODE(unknown, UNKNOWN);
#if CUDA_VERSION >= 13000
TESSERA_SAME_CODE(call_requires_newer_driver, CALL_REQUIRES_NEWER_DRIVER);
TESSERA_SAME_CODE(unsupported_devside_sync, UNSUPPORTED_DEVSIDE_SYNC);
TESSERA_SAME_CODE(contained, CONTAINED);
TESSERA_SAME_CODE(lossy_query, LOSSY_QUERY);
TESSERA_SAME_CODE(tensor_memory_leak, TENSOR_MEMORY_LEAK);
TESSERA_SAME_CODE(function_not_loaded, FUNCTION_NOT_LOADED);
TESSERA_SAME_CODE(invalid_resource_type, INVALID_RESOURCE_TYPE);
TESSERA_SAME_CODE(invalid_resource_configuration, INVALID_RESOURCE_CONFIGURATION);
TESSERA_SAME_CODE(key_rotation, KEY_ROTATION);
#endif

// --- Enumerations -------------------------------------------------------------------------------

TESSERA_SAME(AllocationType::invalid, CU_MEM_ALLOCATION_TYPE_INVALID);
TESSERA_SAME(AllocationType::pinned, CU_MEM_ALLOCATION_TYPE_PINNED);

TESSERA_SAME(LocationType::none, CU_MEM_LOCATION_TYPE_INVALID);
TESSERA_SAME(LocationType::device, CU_MEM_LOCATION_TYPE_DEVICE);

TESSERA_SAME(HandleTypes::none, CU_MEM_HANDLE_TYPE_NONE);
TESSERA_SAME(HandleTypes::posix_file_descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
TESSERA_SAME(HandleTypes::win32, CU_MEM_HANDLE_TYPE_WIN32);
TESSERA_SAME(HandleTypes::win32_kmt, CU_MEM_HANDLE_TYPE_WIN32_KMT);

TESSERA_SAME(Compression::none, CU_MEM_ALLOCATION_COMP_NONE);
TESSERA_SAME(Compression::generic, CU_MEM_ALLOCATION_COMP_GENERIC);

TESSERA_SAME(GranularityOption::minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
TESSERA_SAME(GranularityOption::recommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);

TESSERA_SAME(AccessFlags::none, CU_MEM_ACCESS_FLAGS_PROT_NONE);
TESSERA_SAME(AccessFlags::read, CU_MEM_ACCESS_FLAGS_PROT_READ);
TESSERA_SAME(AccessFlags::read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

TESSERA_SAME(ManagedFlags::attach_global, CU_MEM_ATTACH_GLOBAL);
TESSERA_SAME(ManagedFlags::attach_host, CU_MEM_ATTACH_HOST);
TESSERA_SAME(ManagedFlags::attach_single, CU_MEM_ATTACH_SINGLE);

TESSERA_SAME(PointerAttribute::context, CU_POINTER_ATTRIBUTE_CONTEXT);
TESSERA_SAME(PointerAttribute::memory_type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
TESSERA_SAME(PointerAttribute::device_pointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
TESSERA_SAME(PointerAttribute::host_pointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
TESSERA_SAME(PointerAttribute::p2p_tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS);
TESSERA_SAME(PointerAttribute::sync_memops, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS);
TESSERA_SAME(PointerAttribute::buffer_id, CU_POINTER_ATTRIBUTE_BUFFER_ID);
TESSERA_SAME(PointerAttribute::is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED);
TESSERA_SAME(PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
TESSERA_SAME(PointerAttribute::is_legacy_cuda_ipc_capable,
             CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE);
TESSERA_SAME(PointerAttribute::range_start_addr, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
TESSERA_SAME(PointerAttribute::range_size, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
TESSERA_SAME(PointerAttribute::mapped, CU_POINTER_ATTRIBUTE_MAPPED);
TESSERA_SAME(PointerAttribute::allowed_handle_types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES);
TESSERA_SAME(PointerAttribute::is_gpu_direct_rdma_capable,
             CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE);
TESSERA_SAME(PointerAttribute::access_flags, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS);
TESSERA_SAME(PointerAttribute::mempool_handle, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE);
TESSERA_SAME(PointerAttribute::mapping_size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE);
TESSERA_SAME(PointerAttribute::mapping_base_addr, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR);
TESSERA_SAME(PointerAttribute::memory_block_id, CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID);
#if CUDA_VERSION >= 12080
TESSERA_SAME(PointerAttribute::is_hw_decompress_capable,
             CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE);
#endif

TESSERA_SAME(StreamFlags::blocking, CU_STREAM_DEFAULT);
TESSERA_SAME(StreamFlags::non_blocking, CU_STREAM_NON_BLOCKING);

TESSERA_SAME(EventFlags::none, CU_EVENT_DEFAULT);
TESSERA_SAME(EventFlags::blocking_sync, CU_EVENT_BLOCKING_SYNC);
TESSERA_SAME(EventFlags::disable_timing, CU_EVENT_DISABLE_TIMING);

TESSERA_SAME(ContextLimit::stack_size, CU_LIMIT_STACK_SIZE);
TESSERA_SAME(ContextLimit::printf_fifo_size, CU_LIMIT_PRINTF_FIFO_SIZE);
TESSERA_SAME(ContextLimit::malloc_heap_size, CU_LIMIT_MALLOC_HEAP_SIZE);
TESSERA_SAME(ContextLimit::dev_runtime_sync_depth, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH);
TESSERA_SAME(ContextLimit::dev_runtime_pending_launch_count,
             CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT);
TESSERA_SAME(ContextLimit::max_l2_fetch_granularity, CU_LIMIT_MAX_L2_FETCH_GRANULARITY);
TESSERA_SAME(ContextLimit::persisting_l2_cache_size, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
#if CUDA_VERSION >= 12050
TESSERA_SAME(ContextLimit::shmem_size, CU_LIMIT_SHMEM_SIZE);
TESSERA_SAME(ContextLimit::cig_enabled, CU_LIMIT_CIG_ENABLED);
TESSERA_SAME(ContextLimit::cig_shmem_fallback_enabled, CU_LIMIT_CIG_SHMEM_FALLBACK_ENABLED);
#endif

static_assert(RangeHandleRequest{}.handle_type == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);

#if CUDA_VERSION >= 12020
TESSERA_SAME(LocationType::host, CU_MEM_LOCATION_TYPE_HOST);
TESSERA_SAME(LocationType::host_numa, CU_MEM_LOCATION_TYPE_HOST_NUMA);
TESSERA_SAME(LocationType::host_numa_current, CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
#endif
#if CUDA_VERSION >= 12030
TESSERA_SAME(HandleTypes::fabric, CU_MEM_HANDLE_TYPE_FABRIC);
static_assert(sizeof(CUmemFabricHandle) == sizeof(ShareableHandle::fabric));
#endif
#if CUDA_VERSION >= 13000
TESSERA_SAME(AllocationType::managed, CU_MEM_ALLOCATION_TYPE_MANAGED);
TESSERA_SAME(LocationType::none, CU_MEM_LOCATION_TYPE_NONE);
#endif

// --- Structures ---------------------------------------------------------------------------------

#if CUDA_VERSION >= 12010
static_assert(sizeof(MulticastObjectProp) == sizeof(CUmulticastObjectProp));
static_assert(offsetof(MulticastObjectProp, device_count) ==
              offsetof(CUmulticastObjectProp, numDevices));
static_assert(offsetof(MulticastObjectProp, size) == offsetof(CUmulticastObjectProp, size));
static_assert(offsetof(MulticastObjectProp, handle_types) ==
              offsetof(CUmulticastObjectProp, handleTypes));
static_assert(offsetof(MulticastObjectProp, flags) == offsetof(CUmulticastObjectProp, flags));
TESSERA_SAME(GranularityOption::minimum, CU_MULTICAST_GRANULARITY_MINIMUM);
TESSERA_SAME(GranularityOption::recommended, CU_MULTICAST_GRANULARITY_RECOMMENDED);
#endif

// --- Entry points -------------------------------------------------------------------------------

// A toolkit to come may declare other functions under these names; the versions that
// cuGetProcAddress is asked for stay right then, and there is nothing to compare with.
#if CUDA_VERSION < 14000
#define TESSERA_ENTRY_POINT(member, call, name, exported_name, version, parameters) \
  static_assert(CallsAlike<int parameters, decltype(::exported_name)>::value, name);
#define TESSERA_ENTRY_POINT_UNDECLARED(member, call, name, exported_name, version, parameters)
#include "entry_points.def"
#endif

}  // namespace
}  // namespace tessera::cuda
