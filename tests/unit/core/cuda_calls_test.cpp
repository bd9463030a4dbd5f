// The table's functions make the call they are named for, with what they were given.
#include "tessera/testing/cuda_calls.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <gmock/gmock.h>
#include <unistd.h>

#include "support/mock_driver.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::cuda_calls {
namespace {

constexpr std::size_t unit = 2UL << 20U;

CUmemAllocationProp exportable_memory() {
  CUmemAllocationProp properties = {};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  return properties;
}

class CudaCallsTest : public ::testing::Test {
 protected:
  CudaCallsTest() {
    EXPECT_EQ(cuda.init(0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.device_primary_ctx_retain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.ctx_set_current(context), CUDA_SUCCESS);
  }

  // Maps one granule with access.
  CUdeviceptr map(CUmemGenericAllocationHandle handle) {
    CUdeviceptr address = 0;
    EXPECT_EQ(cuda.mem_address_reserve(&address, unit, 0, 0, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuda.mem_map(address, unit, 0, handle, 0), CUDA_SUCCESS);
    const CUmemAccessDesc access = {.location = exportable_memory().location,
                                    .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    EXPECT_EQ(cuda.mem_set_access(address, unit, &access, 1), CUDA_SUCCESS);
    return address;
  }
  CUmemGenericAllocationHandle create() {
    const CUmemAllocationProp properties = exportable_memory();
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(cuda.mem_create(&handle, unit, &properties, 0), CUDA_SUCCESS);
    return handle;
  }

  sim::SimDriver driver{*sim::built_in_profile("h200")};
  CudaCallsScope scope{driver};
  const CudaCalls& cuda = cuda_calls();
  CUcontext context = nullptr;
};

TEST_F(CudaCallsTest, MapsWritesAndReadsMemory) {
  const CUmemGenericAllocationHandle handle = create();
  const CUdeviceptr address = map(handle);
  EXPECT_EQ(cuda.mem_release(handle), CUDA_SUCCESS);
  const CUmemLocation device = exportable_memory().location;
  unsigned long long access = 0;
  EXPECT_EQ(cuda.mem_get_access(&access, &device, address), CUDA_SUCCESS);
  EXPECT_EQ(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);

  const std::array<unsigned char, 3> written = {1, 2, 3};
  std::array<unsigned char, 8> read = {};
  EXPECT_EQ(cuda.memset_d8(address, 9, 8), CUDA_SUCCESS);
  EXPECT_EQ(cuda.memcpy_htod(address + 1, written.data(), written.size()), CUDA_SUCCESS);
  EXPECT_EQ(cuda.memcpy_dtod(address + 4, address, 4), CUDA_SUCCESS);
  EXPECT_EQ(cuda.memcpy_dtoh(read.data(), address, read.size()), CUDA_SUCCESS);
  EXPECT_THAT(read, ::testing::ElementsAre(9, 1, 2, 3, 9, 1, 2, 3));

  EXPECT_EQ(cuda.ctx_synchronize(), CUDA_SUCCESS);
  EXPECT_EQ(cuda.mem_unmap(address, unit), CUDA_SUCCESS);
  EXPECT_EQ(cuda.mem_address_free(address, unit), CUDA_SUCCESS);
  const sim::Books books = driver.books();
  EXPECT_EQ(books.reservations + books.mappings + books.allocations, 0U);
}

TEST_F(CudaCallsTest, AsksForWhatDevicesAndMemoryAre) {
  int count = 0;
  EXPECT_EQ(cuda.device_get_count(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 1);
  CUdevice device = -1;
  EXPECT_EQ(cuda.device_get(&device, 0), CUDA_SUCCESS);
  EXPECT_EQ(device, 0);
  EXPECT_EQ(cuda.device_get(&device, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuda.device_get(&device, -1), CUDA_ERROR_INVALID_DEVICE);
  int has_vmm = 0;
  EXPECT_EQ(cuda.device_get_attribute(
                &has_vmm, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device),
            CUDA_SUCCESS);
  EXPECT_EQ(has_vmm, 1);
  std::size_t granule = 0;
  const CUmemAllocationProp properties = exportable_memory();
  EXPECT_EQ(
      cuda.mem_get_allocation_granularity(&granule, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
      CUDA_SUCCESS);
  EXPECT_EQ(granule, unit);

  std::size_t free_before = 0;
  std::size_t free_after = 0;
  std::size_t total = 0;
  EXPECT_EQ(cuda.mem_get_info(&free_before, &total), CUDA_SUCCESS);
  const CUmemGenericAllocationHandle handle = create();
  EXPECT_EQ(cuda.mem_get_info(&free_after, &total), CUDA_SUCCESS);
  EXPECT_EQ(free_before - free_after, unit);
  EXPECT_LT(free_before, total);
  CUmemAllocationProp granted = {};
  EXPECT_EQ(cuda.mem_get_allocation_properties_from_handle(&granted, handle), CUDA_SUCCESS);
  EXPECT_EQ(std::memcmp(&granted, &properties, sizeof(granted)), 0);
}

TEST_F(CudaCallsTest, ExportsAndImportsADescriptor) {
  const CUmemGenericAllocationHandle handle = create();
  int descriptor = -1;
  EXPECT_EQ(cuda.mem_export_to_shareable_handle(&descriptor, handle,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_SUCCESS);
  ASSERT_GE(descriptor, 0);
  CUmemGenericAllocationHandle imported = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): as cuda.h wants it.
  auto* shareable = reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor));
  EXPECT_EQ(cuda.mem_import_from_shareable_handle(&imported, shareable,
                                                  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
            CUDA_SUCCESS);
  EXPECT_EQ(close(descriptor), 0);
  const CUdeviceptr address = map(imported);
  CUmemGenericAllocationHandle retained = 0;
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  EXPECT_EQ(cuda.mem_retain_allocation_handle(&retained, reinterpret_cast<void*>(address)),
            CUDA_SUCCESS);
  EXPECT_EQ(retained, imported);
}

TEST_F(CudaCallsTest, WaitsForEventsAndStreams) {
  CUevent event = nullptr;
  EXPECT_EQ(cuda.event_create(&event, 0), CUDA_SUCCESS);
  ASSERT_TRUE(driver.launch_touch(
      {.address = DeviceAddress(map(create())), .touch = Touch::write, .duration_ns = 1'000'000}));
  EXPECT_EQ(cuda.event_record(event, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuda.event_query(event), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(cuda.event_synchronize(event), CUDA_SUCCESS);
  EXPECT_EQ(cuda.event_query(event), CUDA_SUCCESS);
  EXPECT_EQ(cuda.stream_synchronize(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuda.event_destroy(event), CUDA_SUCCESS);
}

TEST_F(CudaCallsTest, AllocatesTheOldWay) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuda.mem_alloc(&address, 100), CUDA_SUCCESS);
  EXPECT_EQ(driver.books().legacy_allocations, 1U);
  EXPECT_EQ(cuda.mem_free(address), CUDA_SUCCESS);
  EXPECT_EQ(driver.books().legacy_allocations, 0U);
  CUcontext current = nullptr;
  EXPECT_EQ(cuda.ctx_get_current(&current), CUDA_SUCCESS);
  EXPECT_EQ(current, context);
  EXPECT_EQ(cuda.ctx_set_current(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuda.device_primary_ctx_release(0), CUDA_SUCCESS);
  EXPECT_EQ(cuda.mem_alloc(&address, 100), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(CudaCallsTest, QueuesWorkInStreams) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr address = 0;
  EXPECT_EQ(cuda.stream_create(&stream, 1), CUDA_SUCCESS);
  EXPECT_EQ(cuda.event_create(&event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuda.mem_alloc_async(&address, unit, stream), CUDA_SUCCESS);
  const std::array<unsigned char, 3> written = {1, 2, 3};
  std::array<unsigned char, 8> read = {};
  EXPECT_EQ(cuda.memset_d8_async(address, 9, 8, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuda.memcpy_htod_async(address + 1, written.data(), written.size(), stream),
            CUDA_SUCCESS);
  EXPECT_EQ(cuda.memcpy_dtod_async(address + 4, address, 4, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuda.event_record(event, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuda.stream_wait_event(nullptr, event, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuda.memcpy_dtoh_async(read.data(), address, read.size(), nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuda.stream_synchronize(nullptr), CUDA_SUCCESS);
  EXPECT_THAT(read, ::testing::ElementsAre(9, 1, 2, 3, 9, 1, 2, 3));
  EXPECT_EQ(cuda.mem_free_async(address, stream), CUDA_SUCCESS);
  EXPECT_EQ(cuda.ctx_synchronize(), CUDA_SUCCESS);
  EXPECT_EQ(driver.books().legacy_allocations, 0U);
  EXPECT_EQ(cuda.stream_destroy(stream), CUDA_SUCCESS);
  EXPECT_EQ(cuda.stream_destroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(CudaCallsTest, AllocatesHostMemory) {
  void* memory = nullptr;
  EXPECT_EQ(cuda.mem_host_alloc(&memory, 100, 0), CUDA_SUCCESS);
  std::memset(memory, 1, 100);
  EXPECT_EQ(cuda.mem_free_host(memory), CUDA_SUCCESS);
  EXPECT_EQ(driver.books().legacy_allocations, 0U);
}

TEST_F(CudaCallsTest, SaysWhatLiesAtAnAddress) {
  const CUdeviceptr address = map(create());
  CUdeviceptr begin = 0;
  std::size_t size = 0;
  EXPECT_EQ(cuda.mem_get_address_range(&begin, &size, address + 5), CUDA_SUCCESS);
  EXPECT_EQ(begin, address);
  EXPECT_EQ(size, unit);
  // Either may be left out.
  EXPECT_EQ(cuda.mem_get_address_range(nullptr, nullptr, address), CUDA_SUCCESS);

  // No byte more than the attribute has is written.
  std::array<std::uint32_t, 4> device = {7, 7, 7, 7};
  EXPECT_EQ(cuda.pointer_get_attribute(device.data(), CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address),
            CUDA_SUCCESS);
  EXPECT_THAT(device, ::testing::ElementsAre(0, 7, 7, 7));
  std::array<CUdeviceptr, 2> start = {7, 7};
  EXPECT_EQ(
      cuda.pointer_get_attribute(start.data(), CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 5),
      CUDA_SUCCESS);
  EXPECT_THAT(start, ::testing::ElementsAre(address, 7));
  std::array<std::uint32_t, 4> tokens = {7, 7, 7, 7};
  EXPECT_EQ(cuda.pointer_get_attribute(tokens.data(), static_cast<CUpointer_attribute>(5), address),
            CUDA_SUCCESS);
  EXPECT_EQ(tokens[3], 7U);
  EXPECT_NE(tokens[2], 7U);
  EXPECT_EQ(cuda.pointer_get_attribute(nullptr, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address),
            CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaCallsTest, KnowsItsVersionAndPeers) {
  int version = 0;
  EXPECT_EQ(cuda.driver_get_version(&version), CUDA_SUCCESS);
  EXPECT_GE(version, 12000);
  int can_access = 7;
  EXPECT_EQ(cuda.device_can_access_peer(&can_access, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(can_access, 0);
  EXPECT_EQ(cuda.device_can_access_peer(&can_access, 0, 1), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_NE(cuda.ctx_enable_peer_access(context, 0), CUDA_SUCCESS);
}

TEST(CudaCalls, NameErrors) {
  const char* text = nullptr;
  EXPECT_EQ(cuda_calls().get_error_name(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_ERROR_OUT_OF_MEMORY");
  EXPECT_EQ(cuda_calls().get_error_string(CUDA_ERROR_OUT_OF_MEMORY, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "out of memory");
  EXPECT_EQ(cuda_calls().get_error_name(CUDA_SUCCESS, &text), CUDA_SUCCESS);
  EXPECT_STREQ(text, "CUDA_SUCCESS");
  EXPECT_EQ(cuda_calls().get_error_name(static_cast<CUresult>(12345), &text),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(cuda_calls().get_error_string(CUDA_SUCCESS, nullptr), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(CudaCallsTest, AnswersNullPointersAsDriversDo) {
  const CUmemAllocationProp properties = exportable_memory();
  CUmemGenericAllocationHandle handle = 0;
  std::size_t size = 0;
  unsigned long long access = 0;
  EXPECT_EQ(cuda.mem_create(nullptr, unit, &properties, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(driver.books().allocations, 0U);
  EXPECT_EQ(cuda.mem_create(&handle, unit, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.mem_get_allocation_granularity(&size, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.mem_get_info(&size, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.mem_get_info(nullptr, &size), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.mem_export_to_shareable_handle(nullptr, create(),
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.mem_import_from_shareable_handle(&handle, nullptr, CU_MEM_HANDLE_TYPE_FABRIC),
            CUDA_ERROR_INVALID_VALUE);
  const CUdeviceptr address = map(create());
  EXPECT_EQ(cuda.mem_get_access(&access, nullptr, address), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuda.mem_set_access(address, unit, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
}

// Keeps what it was asked for, and answers what it is told to.
class Recorder final : public DriverWrapper {
 public:
  explicit Recorder(std::int32_t devices = 1) : DriverWrapper(&simulator_), devices_(devices) {}

  Result<std::int32_t> device_get_count() override { return devices_; }
  Status mem_map(const MapRequest& request) override {
    map = request;
    return Error{.code = static_cast<ErrorCode>(12345)};
  }
  Result<DeviceAddress> mem_address_reserve(const ReserveRequest& request) override {
    reserve = request;
    return DeviceAddress(7);
  }
  Result<AllocationHandle> mem_create(const CreateRequest& request) override {
    create = request;
    return AllocationHandle(27);
  }
  Result<AllocationProperties> mem_get_allocation_properties_from_handle(
      const PropertiesRequest& /*request*/) override {
    return properties;
  }
  Result<ShareableHandle> mem_export_to_shareable_handle(const ExportRequest& request) override {
    exported.type = request.type;
    return exported;
  }
  Result<AllocationHandle> mem_import_from_shareable_handle(
      const ShareableHandle& handle) override {
    imported = handle;
    return AllocationHandle(28);
  }

  MapRequest map = {};
  ReserveRequest reserve = {};
  CreateRequest create = {};
  AllocationProperties properties = {};
  ShareableHandle exported = {};
  ShareableHandle imported = {};

 private:
  sim::SimDriver simulator_{*sim::built_in_profile("h200")};
  std::int32_t devices_;
};

TEST(CudaCalls, PassesOnEveryFieldAndNumber) {
  Recorder driver;
  const CudaCallsScope scope(driver);
  EXPECT_EQ(cuda_calls().mem_map(1, 2, 3, 4, 5), static_cast<CUresult>(12345));
  EXPECT_EQ(driver.map.address, DeviceAddress(1));
  EXPECT_EQ(driver.map.size, 2_B);
  EXPECT_EQ(driver.map.offset, 3_B);
  EXPECT_EQ(driver.map.handle, AllocationHandle(4));
  EXPECT_EQ(driver.map.flags, 5U);

  CUdeviceptr address = 0;
  EXPECT_EQ(cuda_calls().mem_address_reserve(&address, 1, 2, 3, 4), CUDA_SUCCESS);
  EXPECT_EQ(address, 7U);
  EXPECT_EQ(driver.reserve.size, 1_B);
  EXPECT_EQ(driver.reserve.alignment, 2_B);
  EXPECT_EQ(driver.reserve.hint, DeviceAddress(3));
  EXPECT_EQ(driver.reserve.flags, 4U);
}

TEST(CudaCalls, PassesOnPropertiesBothWays) {
  Recorder driver;
  const CudaCallsScope scope(driver);
  driver.properties = {.type = static_cast<AllocationType>(21),
                       .requested_handle_types = HandleTypes::fabric,
                       .location = {.type = static_cast<LocationType>(22), .id = 23},
                       .win32_handle_metadata = &driver,
                       .compression = Compression::generic,
                       .gpu_direct_rdma_capable = 24,
                       .usage = 25,
                       .reserved = {1, 2, 3, 4}};
  CUmemAllocationProp given = {};
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(cuda_calls().mem_get_allocation_properties_from_handle(&given, 1), CUDA_SUCCESS);
  EXPECT_EQ(given.location.id, 23);
  EXPECT_EQ(given.allocFlags.usage, 25);
  EXPECT_EQ(cuda_calls().mem_create(&handle, 1, &given, 26), CUDA_SUCCESS);
  EXPECT_EQ(handle, 27U);
  EXPECT_EQ(driver.create.properties, driver.properties);
  EXPECT_EQ(driver.create.flags, 26U);
}

TEST(CudaCalls, PassesOnFabricAndWindowsHandles) {
  Recorder driver;
  const CudaCallsScope scope(driver);
  const CudaCalls& cuda = cuda_calls();
  driver.exported.fabric.fill(std::byte{5});
  driver.exported.win32 = 0x1234'5678'9abc;
  std::array<std::byte, 64> fabric = {};
  EXPECT_EQ(cuda.mem_export_to_shareable_handle(fabric.data(), 1, CU_MEM_HANDLE_TYPE_FABRIC, 0),
            CUDA_SUCCESS);
  EXPECT_EQ(fabric, driver.exported.fabric);
  void* win32 = nullptr;
  constexpr auto win32_type = static_cast<CUmemAllocationHandleType>(2);
  EXPECT_EQ(cuda.mem_export_to_shareable_handle(&win32, 1, win32_type, 0), CUDA_SUCCESS);

  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(
      cuda.mem_import_from_shareable_handle(&handle, fabric.data(), CU_MEM_HANDLE_TYPE_FABRIC),
      CUDA_SUCCESS);
  EXPECT_EQ(handle, 28U);
  EXPECT_EQ(driver.imported.type, HandleTypes::fabric);
  EXPECT_EQ(driver.imported.fabric, driver.exported.fabric);
  EXPECT_EQ(cuda.mem_import_from_shareable_handle(&handle, win32, win32_type), CUDA_SUCCESS);
  EXPECT_EQ(driver.imported.type, HandleTypes::win32);
  EXPECT_EQ(driver.imported.win32, 0x1234'5678'9abcU);
}

// Of the driver's own, before it is told where anything goes.
TEST(CudaCalls, PassOnErrors) {
  ::testing::NiceMock<test::MockDriver> driver;
  const CudaCallsScope scope(driver);
  const CudaCalls& cuda = cuda_calls();
  CUdevice device = 7;
  EXPECT_EQ(cuda.device_get(&device, 0), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(device, 7);
  int descriptor = -1;
  EXPECT_EQ(cuda.mem_export_to_shareable_handle(&descriptor, 1,
                                                CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
            CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(descriptor, -1);
  std::size_t free = 1;
  std::size_t total = 2;
  EXPECT_EQ(cuda.mem_get_info(&free, &total), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(free + total, 3U);
}

// The other kind of Windows handle, and no descriptors at no address.
TEST(CudaCalls, PassOnWhatDriversJudge) {
  ::testing::NiceMock<test::MockDriver> driver;
  const CudaCallsScope scope(driver);
  const CudaCalls& cuda = cuda_calls();
  ON_CALL(driver, mem_export_to_shareable_handle)
      .WillByDefault(::testing::Return(
          ShareableHandle{.type = HandleTypes::win32_kmt, .win32 = 0x1234'5678'9abc}));
  constexpr auto kmt_type = static_cast<CUmemAllocationHandleType>(4);
  std::uint64_t handle = 0;
  EXPECT_EQ(cuda.mem_export_to_shareable_handle(&handle, 1, kmt_type, 0), CUDA_SUCCESS);
  EXPECT_EQ(handle, 0x1234'5678'9abcU);
  EXPECT_CALL(driver, mem_set_access).WillOnce([](const SetAccessRequest& request) -> Status {
    EXPECT_TRUE(request.descriptors.empty());
    return Error{.code = ErrorCode::invalid_value};
  });
  EXPECT_EQ(cuda.mem_set_access(0x10000, unit, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
}

TEST(CudaCalls, GoToTheInnermostScope) {
  int count = 0;
  EXPECT_EQ(cuda_calls().device_get_count(&count), CUDA_ERROR_NOT_INITIALIZED);
  Recorder outer(3);
  Recorder inner(5);
  const CudaCallsScope outer_scope(outer);
  {
    const CudaCallsScope inner_scope(inner);
    EXPECT_EQ(cuda_calls().device_get_count(&count), CUDA_SUCCESS);
    EXPECT_EQ(count, 5);
  }
  EXPECT_EQ(cuda_calls().device_get_count(&count), CUDA_SUCCESS);
  EXPECT_EQ(count, 3);
}

TEST(CudaCalls, AreFoundByName) {
#define TESSERA_CUDA_CALL(member, name, exported_name, parameters)                  \
  EXPECT_EQ(cuda_entry_point(#name), reinterpret_cast<void*>(cuda_calls().member)); \
  EXPECT_EQ(cuda_entry_point(#exported_name), reinterpret_cast<void*>(cuda_calls().member));
#include "tessera/testing/cuda_calls.def"
#undef TESSERA_CUDA_CALL
  EXPECT_EQ(cuda_entry_point("cuMemAllocManaged"), nullptr);
  EXPECT_EQ(cuda_entry_point(""), nullptr);
}

TEST(CudaCalls, AnswersBecomeStatuses) {
  EXPECT_TRUE(to_status(CUDA_SUCCESS));
  EXPECT_EQ(to_status(CUDA_ERROR_OUT_OF_MEMORY).error().code, ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace tessera::cuda_calls
