// Each method of CudaDriver, with the entry points it calls, what they get, and what comes back.
// The fake library writes 7001, 7002 ... to the outputs of a call.
#include <array>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "fake_library.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera::cuda {
namespace {

// --- Results as text ----------------------------------------------------------------------------

std::string show(std::uint64_t value) { return std::to_string(value); }
std::string show(std::uint32_t value) { return std::to_string(value); }
std::string show(std::int32_t value) { return std::to_string(value); }
std::string show(bool value) { return value ? "true" : "false"; }
std::string show(const std::string& value) { return value; }
std::string show(Bytes value) { return show(value.value()); }
std::string show(DeviceAddress value) { return show(value.value()); }
template <class Tag>
std::string show(Handle<Tag> value) {
  return show(value.value());
}
std::string show(AccessFlags value) { return show(static_cast<std::uint32_t>(value)); }
std::string show(std::byte* value) { return show(reinterpret_cast<std::uintptr_t>(value)); }
std::string show(const PitchedAllocation& value) {
  return show(value.address) + " " + show(value.pitch);
}
std::string show(const MemoryInfo& value) { return show(value.free) + " " + show(value.total); }
std::string show(const AddressRange& value) {
  return show(value.begin()) + " " + show(value.size());
}
std::string show(const AllocationProperties& value) {
  return show(static_cast<std::uint32_t>(value.type)) + " " +
         show(static_cast<std::uint32_t>(value.requested_handle_types)) + " " +
         show(static_cast<std::uint32_t>(value.location.type)) + ":" + show(value.location.id) +
         " " + show(std::uint32_t{static_cast<std::uint8_t>(value.compression)}) + " " +
         show(std::uint32_t{value.gpu_direct_rdma_capable}) + " " +
         show(std::uint32_t{value.usage}) + " " + show(std::uint32_t{value.reserved[3]});
}
std::string show(const ShareableHandle& value) {
  return "fd " + show(value.file_descriptor) + " win32 " + show(value.win32) + " fabric " +
         show(std::to_integer<std::uint32_t>(value.fabric[63]));
}

std::string show(const Status& status) { return status ? "ok" : to_string(status.error()); }
template <class T>
std::string show(const Result<T>& result) {
  return result ? show(*result) : to_string(result.error());
}

// --- The calls ----------------------------------------------------------------------------------

constexpr DeviceOrdinal device{3};
constexpr DeviceAddress address{0x200000};  // 2097152
constexpr AllocationHandle memory{42};
constexpr ContextHandle context{50};
constexpr StreamHandle stream{60};
constexpr EventHandle event{70};

// Values that no driver has: they must get through.
constexpr AllocationProperties odd_properties = {
    .type = static_cast<AllocationType>(0xFFFFFFFF),
    .requested_handle_types = HandleTypes::posix_file_descriptor | HandleTypes::fabric,
    .location = {.type = static_cast<LocationType>(77), .id = -5},
    .compression = static_cast<Compression>(200),
    .gpu_direct_rdma_capable = 3,
    .usage = 65535,
    .reserved = {0, 0, 0, 4}};
constexpr const char* odd_properties_text =
    "{type 4294967295 handles 9 at 77:-5 win32 0 comp 200 rdma 3 usage 65535 reserved 4}";
constexpr NullPointers both_null = NullPointers::output | NullPointers::properties;

std::array<std::byte, 16> host_bytes = {};
std::string host() { return show(host_bytes.data()); }

constexpr std::array access_descriptors = {
    AccessDescriptor{.location = {.type = LocationType::device, .id = 1},
                     .flags = AccessFlags::read_write},
    AccessDescriptor{.location = {.type = static_cast<LocationType>(9), .id = -1},
                     .flags = static_cast<AccessFlags>(0xFFFFFFFF)}};

constexpr MulticastProperties multicast_properties = {
    .device_count = 2, .size = Bytes(4096), .handle_types = HandleTypes::fabric, .flags = 6};
constexpr const char* multicast_text = "{devices 2 size 4096 handles 8 flags 6}";

struct Case {
  Call call;
  std::function<std::string(CudaDriver&)> run;
  std::string log;
  std::string result;
};

// `expression` is made with `driver`.
#define TESSERA_CASE(call, expression, log, result)                                          \
  Case {                                                                                     \
    Call::call, [](CudaDriver& driver) { return show(driver.call expression); }, log, result \
  }

std::vector<Case> system_and_context_cases() {
  const std::string get = "cuDeviceGet(out, 3)\n";
  return {
      TESSERA_CASE(init, (5), "cuInit(5)\n", "ok"),
      TESSERA_CASE(driver_get_version, (), "cuDriverGetVersion(out)\n", "7001"),
      TESSERA_CASE(device_get_count, (), "cuDeviceGetCount(out)\n", "7001"),
      TESSERA_CASE(device_get_name, (device), get + "cuDeviceGetName(out, 256, 7001)\n",
                   "Fake GPU"),
      TESSERA_CASE(device_total_mem, (device), get + "cuDeviceTotalMem(out, 7001)\n", "7001"),
      TESSERA_CASE(device_get_attribute, ({.attribute = 102, .device = device}),
                   get + "cuDeviceGetAttribute(out, 102, 7001)\n", "7001"),
      TESSERA_CASE(device_can_access_peer, ({.device = device, .peer = DeviceOrdinal(4)}),
                   "cuDeviceGet(out, 3)\ncuDeviceGet(out, 4)\n"
                   "cuDeviceCanAccessPeer(out, 7001, 7001)\n",
                   "true"),
      TESSERA_CASE(device_primary_ctx_retain, (device),
                   get + "cuDevicePrimaryCtxRetain(out, 7001)\n", "7001"),
      TESSERA_CASE(device_primary_ctx_release, (device),
                   get + "cuDevicePrimaryCtxRelease(7001)\n"
                         "cuDevicePrimaryCtxGetState(7001, out, out)\n",
                   "ok"),
      TESSERA_CASE(device_primary_ctx_reset, (device), get + "cuDevicePrimaryCtxReset(7001)\n",
                   "ok"),
      TESSERA_CASE(ctx_create, ({.device = device, .flags = 8}),
                   get + "cuCtxCreate(out, 8, 7001)\n", "7001"),
      TESSERA_CASE(ctx_destroy, (context), "cuCtxDestroy(50)\n", "ok"),
      TESSERA_CASE(ctx_set_current, (context), "cuCtxSetCurrent(50)\n", "ok"),
      TESSERA_CASE(ctx_get_current, (), "cuCtxGetCurrent(out)\n", "7001"),
      TESSERA_CASE(ctx_synchronize, (), "cuCtxSynchronize()\n", "ok"),
      TESSERA_CASE(ctx_enable_peer_access, ({.peer = context, .flags = 9}),
                   "cuCtxEnablePeerAccess(50, 9)\n", "ok"),
      TESSERA_CASE(ctx_set_limit, ({.limit = static_cast<ContextLimit>(33), .value = Bytes(7)}),
                   "cuCtxSetLimit(33, 7)\n", "ok"),
      TESSERA_CASE(ctx_get_limit, (ContextLimit::malloc_heap_size), "cuCtxGetLimit(out, 2)\n",
                   "7001"),
  };
}

std::vector<Case> virtual_memory_cases() {
  const std::string properties = odd_properties_text;
  return {
      TESSERA_CASE(mem_get_allocation_granularity,
                   ({.properties = odd_properties, .option = static_cast<GranularityOption>(5)}),
                   "cuMemGetAllocationGranularity(out, " + properties + ", 5)\n", "7001"),
      TESSERA_CASE(mem_get_allocation_granularity, ({.properties = {}, .null_pointers = both_null}),
                   "cuMemGetAllocationGranularity(null, null, 0)\n", "0"),
      TESSERA_CASE(mem_address_reserve,
                   ({.size = Bytes(0), .alignment = Bytes(3), .hint = address, .flags = 8}),
                   "cuMemAddressReserve(out, 0, 3, 2097152, 8)\n", "7001"),
      TESSERA_CASE(mem_address_reserve,
                   ({.size = Bytes(~0ULL), .null_pointers = NullPointers::output}),
                   "cuMemAddressReserve(null, 18446744073709551615, 0, 0, 0)\n", "0"),
      TESSERA_CASE(mem_address_free, ({.address = address, .size = Bytes(5)}),
                   "cuMemAddressFree(2097152, 5)\n", "ok"),
      TESSERA_CASE(mem_create, ({.size = Bytes(9), .properties = odd_properties, .flags = 2}),
                   "cuMemCreate(out, 9, " + properties + ", 2)\n", "7001"),
      TESSERA_CASE(mem_create, ({.size = Bytes(9), .properties = {}, .null_pointers = both_null}),
                   "cuMemCreate(null, 9, null, 0)\n", "0"),
      TESSERA_CASE(mem_release, (memory), "cuMemRelease(42)\n", "ok"),
      TESSERA_CASE(mem_get_allocation_properties_from_handle, ({.handle = memory}),
                   "cuMemGetAllocationPropertiesFromHandle(out, 42)\n", "1 8 3:-7 1 1 2 9"),
      TESSERA_CASE(mem_get_allocation_properties_from_handle,
                   ({.handle = memory, .null_pointers = NullPointers::output}),
                   "cuMemGetAllocationPropertiesFromHandle(null, 42)\n", "0 0 0:0 0 0 0 0"),
      TESSERA_CASE(mem_retain_allocation_handle, (address),
                   "cuMemRetainAllocationHandle(out, 2097152)\n", "7001"),
      TESSERA_CASE(mem_map,
                   ({.address = address,
                     .size = Bytes(1),
                     .offset = Bytes(2),
                     .handle = memory,
                     .flags = 3}),
                   "cuMemMap(2097152, 1, 2, 42, 3)\n", "ok"),
      TESSERA_CASE(mem_unmap, ({.address = address, .size = Bytes(6)}), "cuMemUnmap(2097152, 6)\n",
                   "ok"),
      TESSERA_CASE(mem_set_access,
                   ({.address = address, .size = Bytes(8), .descriptors = access_descriptors}),
                   "cuMemSetAccess(2097152, 8, [1:1:3 9:-1:4294967295 , 2)\n", "ok"),
      TESSERA_CASE(mem_set_access,
                   ({.address = address,
                     .size = Bytes(8),
                     .descriptors = std::span(access_descriptors).first(0)}),
                   "cuMemSetAccess(2097152, 8, [, 0)\n", "ok"),
      TESSERA_CASE(mem_set_access, ({.address = address, .size = Bytes(8), .descriptors = {}}),
                   "cuMemSetAccess(2097152, 8, null, 0)\n", "ok"),
      TESSERA_CASE(mem_get_access,
                   ({.address = address, .location = {.type = LocationType::host_numa, .id = 1}}),
                   "cuMemGetAccess(out, 3:1, 2097152)\n", "7001"),
      TESSERA_CASE(mem_get_access, ({.address = address, .null_pointers = both_null}),
                   "cuMemGetAccess(null, null, 2097152)\n", "0"),
  };
}

std::vector<Case> sharing_cases() {
  constexpr auto unknown_type = static_cast<HandleTypes>(64);
  ShareableHandle fabric = {.type = HandleTypes::fabric};
  fabric.fabric.front() = std::byte{1};
  fabric.fabric.back() = std::byte{2};
  return {
      TESSERA_CASE(mem_export_to_shareable_handle, ({.handle = memory, .flags = 4}),
                   "cuMemExportToShareableHandle(out, 42, 1, 4)\n", "fd 84215045 win32 0 fabric 0"),
      TESSERA_CASE(mem_export_to_shareable_handle, ({.handle = memory, .type = HandleTypes::win32}),
                   "cuMemExportToShareableHandle(out, 42, 2, 0)\n",
                   "fd -1 win32 361700864190383365 fabric 0"),
      TESSERA_CASE(
          mem_export_to_shareable_handle, ({.handle = memory, .type = HandleTypes::win32_kmt}),
          "cuMemExportToShareableHandle(out, 42, 4, 0)\n", "fd -1 win32 84215045 fabric 0"),
      TESSERA_CASE(mem_export_to_shareable_handle,
                   ({.handle = memory, .type = HandleTypes::fabric}),
                   "cuMemExportToShareableHandle(out, 42, 8, 0)\n", "fd -1 win32 0 fabric 5"),
      TESSERA_CASE(
          mem_export_to_shareable_handle,
          ({.handle = memory, .type = HandleTypes::none, .null_pointers = NullPointers::output}),
          "cuMemExportToShareableHandle(null, 42, 0, 0)\n", "fd -1 win32 0 fabric 0"),
      TESSERA_CASE(mem_import_from_shareable_handle, ({.file_descriptor = -3}),
                   "cuMemImportFromShareableHandle(out, -3, 1)\n", "7001"),
      TESSERA_CASE(mem_import_from_shareable_handle,
                   ({.type = unknown_type, .file_descriptor = 12}),
                   "cuMemImportFromShareableHandle(out, 12, 64)\n", "7001"),
      TESSERA_CASE(mem_import_from_shareable_handle, ({.type = HandleTypes::win32, .win32 = 99}),
                   "cuMemImportFromShareableHandle(out, 99, 2)\n", "7001"),
      Case{Call::mem_import_from_shareable_handle,
           [fabric](CudaDriver& driver) {
             return show(driver.mem_import_from_shareable_handle(fabric));
           },
           "cuMemImportFromShareableHandle(out, fabric 1..2, 8)\n", "7001"},
      TESSERA_CASE(mem_get_handle_for_address_range,
                   ({.address = address, .size = Bytes(4096), .handle_type = 2, .flags = 1}),
                   "cuMemGetHandleForAddressRange(out, 2097152, 4096, 2, 1)\n", "7001"),
  };
}

std::vector<Case> allocation_and_query_cases() {
  return {
      TESSERA_CASE(mem_alloc, (Bytes(0)), "cuMemAlloc(out, 0)\n", "7001"),
      TESSERA_CASE(mem_alloc_pitch, ({.width = Bytes(5), .height = 6, .element_size = 7}),
                   "cuMemAllocPitch(out, out, 5, 6, 7)\n", "7001 7002"),
      TESSERA_CASE(mem_alloc_managed, ({.size = Bytes(5), .flags = static_cast<ManagedFlags>(88)}),
                   "cuMemAllocManaged(out, 5, 88)\n", "7001"),
      TESSERA_CASE(mem_free, (address), "cuMemFree(2097152)\n", "ok"),
      TESSERA_CASE(mem_alloc_async, ({.size = Bytes(5), .stream = stream}),
                   "cuMemAllocAsync(out, 5, 60)\n", "7001"),
      TESSERA_CASE(mem_free_async, ({.address = address, .stream = stream}),
                   "cuMemFreeAsync(2097152, 60)\n", "ok"),
      TESSERA_CASE(mem_host_alloc, ({.size = Bytes(5), .flags = 3}), "cuMemHostAlloc(out, 5, 3)\n",
                   "7001"),
      TESSERA_CASE(mem_free_host, (host_bytes.data()), "cuMemFreeHost(" + host() + ")\n", "ok"),
      TESSERA_CASE(mem_get_info, (), "cuMemGetInfo(out, out)\n", "7001 7002"),
      TESSERA_CASE(mem_get_address_range, (address), "cuMemGetAddressRange(out, out, 2097152)\n",
                   "7001 7002"),
      TESSERA_CASE(pointer_get_attribute,
                   ({.attribute = static_cast<PointerAttribute>(500), .address = address}),
                   "cuPointerGetAttribute(out, 500, 2097152)\n", "7001"),
      TESSERA_CASE(pointer_get_attribute,
                   ({.attribute = PointerAttribute::p2p_tokens, .address = address}),
                   "cuPointerGetAttribute(out, 5, 2097152)\n", "7001"),
  };
}

std::vector<Case> data_cases() {
  const std::string to = "(2097152, " + host() + ", 16";
  const std::string from = "(" + host() + ", 2097152, 16";
  return {
      TESSERA_CASE(memcpy_htod, ({.destination = address, .source = host_bytes}),
                   "cuMemcpyHtoD" + to + ")\n", "ok"),
      TESSERA_CASE(memcpy_htod, ({.destination = address, .source = {}}),
                   "cuMemcpyHtoD(2097152, 0, 0)\n", "ok"),
      TESSERA_CASE(memcpy_dtoh, ({.destination = host_bytes, .source = address}),
                   "cuMemcpyDtoH" + from + ")\n", "ok"),
      TESSERA_CASE(memcpy_dtod,
                   ({.destination = address, .source = DeviceAddress(9), .size = Bytes(4)}),
                   "cuMemcpyDtoD(2097152, 9, 4)\n", "ok"),
      TESSERA_CASE(memset_d8, ({.destination = address, .value = 255, .size = Bytes(4)}),
                   "cuMemsetD8(2097152, 255, 4)\n", "ok"),
      TESSERA_CASE(memcpy_htod_async,
                   ({.copy = {.destination = address, .source = host_bytes}, .stream = stream}),
                   "cuMemcpyHtoDAsync" + to + ", 60)\n", "ok"),
      TESSERA_CASE(memcpy_dtoh_async,
                   ({.copy = {.destination = host_bytes, .source = address}, .stream = stream}),
                   "cuMemcpyDtoHAsync" + from + ", 60)\n", "ok"),
      TESSERA_CASE(memcpy_dtod_async,
                   ({.copy = {.destination = address, .source = DeviceAddress(9), .size = Bytes(4)},
                     .stream = stream}),
                   "cuMemcpyDtoDAsync(2097152, 9, 4, 60)\n", "ok"),
      TESSERA_CASE(
          memset_d8_async,
          ({.set = {.destination = address, .value = 1, .size = Bytes(4)}, .stream = stream}),
          "cuMemsetD8Async(2097152, 1, 4, 60)\n", "ok"),
  };
}

std::vector<Case> order_cases() {
  return {
      TESSERA_CASE(stream_create, (static_cast<StreamFlags>(6)), "cuStreamCreate(out, 6)\n",
                   "7001"),
      TESSERA_CASE(stream_destroy, (stream), "cuStreamDestroy(60)\n", "ok"),
      TESSERA_CASE(stream_synchronize, (stream), "cuStreamSynchronize(60)\n", "ok"),
      TESSERA_CASE(stream_wait_event, ({.stream = stream, .event = event, .flags = 2}),
                   "cuStreamWaitEvent(60, 70, 2)\n", "ok"),
      TESSERA_CASE(event_create, (EventFlags::disable_timing), "cuEventCreate(out, 2)\n", "7001"),
      TESSERA_CASE(event_record, ({.event = event, .stream = stream}), "cuEventRecord(70, 60)\n",
                   "ok"),
      TESSERA_CASE(event_query, (event), "cuEventQuery(70)\n", "ok"),
      TESSERA_CASE(event_synchronize, (event), "cuEventSynchronize(70)\n", "ok"),
      TESSERA_CASE(event_destroy, (event), "cuEventDestroy(70)\n", "ok"),
      TESSERA_CASE(launch_touch,
                   ({.address = address,
                     .touch = Touch::write,
                     .value = 200,
                     .result = DeviceAddress(5),
                     .duration_ns = 1000,
                     .stream = stream}),
                   "cuCtxGetCurrent(out)\ncuCtxGetId(7001, out)\ncuCtxGetDevice(out)\n"
                   "cuModuleLoadData(out, the kernel)\n"
                   "cuModuleGetFunction(out, 7001, tessera_touch)\n"
                   "cuLaunchKernel(7001, 1 thread, 0, 60, [2097152 5 1000 1 200], null)\n",
                   "ok"),
  };
}

std::vector<Case> multicast_cases() {
  const std::string properties = multicast_text;
  return {
      TESSERA_CASE(multicast_create, (multicast_properties),
                   "cuMulticastCreate(out, " + properties + ")\n", "7001"),
      TESSERA_CASE(multicast_add_device, ({.multicast = memory, .device = device}),
                   "cuDeviceGet(out, 3)\ncuMulticastAddDevice(42, 7001)\n", "ok"),
      TESSERA_CASE(multicast_bind_mem,
                   ({.multicast = memory,
                     .multicast_offset = Bytes(1),
                     .memory = AllocationHandle(43),
                     .memory_offset = Bytes(2),
                     .size = Bytes(3),
                     .flags = 4}),
                   "cuMulticastBindMem(42, 1, 43, 2, 3, 4)\n", "ok"),
      TESSERA_CASE(multicast_bind_addr,
                   ({.multicast = memory,
                     .multicast_offset = Bytes(1),
                     .address = address,
                     .size = Bytes(3),
                     .flags = 4}),
                   "cuMulticastBindAddr(42, 1, 2097152, 3, 4)\n", "ok"),
      TESSERA_CASE(
          multicast_unbind,
          ({.multicast = memory, .device = device, .multicast_offset = Bytes(1), .size = Bytes(3)}),
          "cuDeviceGet(out, 3)\ncuMulticastUnbind(42, 7001, 1, 3)\n", "ok"),
      TESSERA_CASE(multicast_get_granularity,
                   ({.properties = multicast_properties, .option = GranularityOption::recommended}),
                   "cuMulticastGetGranularity(out, " + properties + ", 1)\n", "7001"),
  };
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& part :
       {system_and_context_cases(), virtual_memory_cases(), sharing_cases(),
        allocation_and_query_cases(), data_cases(), order_cases(), multicast_cases()}) {
    cases.insert(cases.end(), part.begin(), part.end());
  }
  return cases;
}

// --- The tests ----------------------------------------------------------------------------------

TEST(CudaDriverCalls, CoverTheSeam) {
  std::set<Call> covered;
  for (const Case& one : all_cases()) {
    covered.insert(one.call);
  }
#define TESSERA_CALL(method, cuda_name) \
  EXPECT_EQ(covered.count(Call::method), 1U) << "no case for " #method;
#include "tessera/calls.def"
#undef TESSERA_CALL
}

TEST(CudaDriverCalls, CallTheEntryPointWithTheRequestsValues) {
  const FakeLibrary fake;
  for (const Case& one : all_cases()) {
    fake.reset();
    const auto driver = fake.open();
    const std::string result = one.run(*driver);
    EXPECT_EQ(fake.take_log(), one.log);
    EXPECT_EQ(result, one.result) << one.log;
  }
}

TEST(CudaDriverCalls, KeepErrorNumbersThatNobodyKnows) {
  const FakeLibrary fake;
  for (const Case& one : all_cases()) {
    fake.reset();
    const auto driver = fake.open();
    fake.fail(std::string(cuda_name(one.call)), 54321);
    EXPECT_EQ(one.run(*driver),
              std::string(method_name(one.call)) + ": 54321 (54321) from the driver");
  }
}

TEST(CudaDriverCalls, SayThatAMissingEntryPointIsNotSupported) {
  // The library also exports these, and what is exported is found.
  const std::set<Call> exported = {Call::init, Call::driver_get_version, Call::mem_alloc};
  const FakeLibrary fake;
  for (const Case& one : all_cases()) {
    if (exported.count(one.call) != 0) {
      continue;
    }
    fake.reset();
    fake.hide(std::string(cuda_name(one.call)));
    const auto driver = fake.open();
    const Error expected = {.code = ErrorCode::not_supported,
                            .call = one.call,
                            .origin = Origin::library,
                            .reason = Reason::entry_point_missing};
    EXPECT_EQ(one.run(*driver), to_string(expected));
  }
}

TEST(CudaDriverCalls, SignExtendADeviceOrdinal) {
  const FakeLibrary fake;
  const auto driver = fake.open();
  fake.answer("cuPointerGetAttribute", 0xFFFFFFFE);
  const auto ordinal = driver->pointer_get_attribute(
      {.attribute = PointerAttribute::device_ordinal, .address = address});
  EXPECT_EQ(show(ordinal), show(std::uint64_t{0} - 2));
}

TEST(CudaDriverCalls, PassTheOrdinalOfADeviceThatDoesNotExist) {
  const FakeLibrary fake;
  const auto driver = fake.open();
  fake.fail("cuDeviceGet", 101);
  EXPECT_EQ(show(driver->device_total_mem(DeviceOrdinal(-7))), "7001");
  EXPECT_EQ(fake.take_log(), "cuDeviceGet(out, -7)\ncuDeviceTotalMem(out, -7)\n");
}

}  // namespace
}  // namespace tessera::cuda
