// Fabric handles need a machine with an IMEX channel. Here a layer over the simulator makes handles
// of that kind: 64 bytes that travel, and that hold no reference to the memory.
#include <cstring>

#include "support/sharing_support.h"
#include "support/sim_machine.h"
#include "tessera/sharing/shared_memory.h"

namespace tessera::sim {
namespace {

class FabricDriver final : public DriverWrapper {
 public:
  using DriverWrapper::DriverWrapper;

  Result<ShareableHandle> mem_export_to_shareable_handle(const ExportRequest& request) override {
    if (request.type != HandleTypes::fabric) {
      return target().mem_export_to_shareable_handle(request);
    }
    ShareableHandle handle = {.type = HandleTypes::fabric};
    const std::uint64_t value = request.handle.value();
    std::memcpy(handle.fabric.data() + 11, &value, sizeof(value));
    return handle;
  }
  // Finds the memory only while the exporter has its handle.
  Result<AllocationHandle> mem_import_from_shareable_handle(
      const ShareableHandle& handle) override {
    if (handle.type != HandleTypes::fabric) {
      return target().mem_import_from_shareable_handle(handle);
    }
    std::uint64_t value = 0;
    std::memcpy(&value, handle.fabric.data() + 11, sizeof(value));
    TESSERA_TRY_ASSIGN(const ShareableHandle exported, target().mem_export_to_shareable_handle(
                                                           {.handle = AllocationHandle(value)}));
    const FileDescriptor descriptor(exported.file_descriptor);
    return target().mem_import_from_shareable_handle(exported);
  }
};

class FabricHandles : public testing::Test {
 protected:
  PhysicalAllocation create() {
    return must(PhysicalAllocation::create(
        driver_,
        {.size = machine_.unit(), .memory = {.exports = HandleTypes::posix_file_descriptor}}));
  }
  Result<SharedMemory> receive() {
    return SharedMemory::receive(driver_, pair_.there.get(), AccessSet::of_device(device_0));
  }

  test::NoDescriptorIsLeft no_descriptor_is_left_;
  SimMachine machine_{"h200"};
  FabricDriver driver_{&machine_.driver()};
  test::SocketPair pair_ = test::socket_pair();
};

TEST_F(FabricHandles, TravelWithoutDescriptors) {
  const PhysicalAllocation first = create();
  const PhysicalAllocation second = create();
  const std::array memories = {&first, &second};
  const ExportedMemory exported = must(ExportedMemory::of(memories, HandleTypes::fabric));
  EXPECT_TRUE(exported.descriptors().empty());
  must(send_memory(pair_.here.get(), exported));
  SharedMemory shared = must(receive());
  EXPECT_THAT(receive_receipt(pair_.here.get()), is_ok());
  EXPECT_EQ(shared.range().size(), machine_.unit() * 2);
  must(shared.close(Quiescence::promised()));
}

TEST_F(FabricHandles, AreGoodAsLongAsTheExportIsOpen) {
  PhysicalAllocation memory = create();
  ExportedMemory exported = must(ExportedMemory::of(memory, HandleTypes::fabric));
  must(memory.close());
  must(send_memory(pair_.here.get(), exported));
  SharedMemory shared = must(receive());
  must(receive_receipt(pair_.here.get()));
  must(exported.close());
  must(machine_.put(shared.range().begin(), 5));
  EXPECT_THAT(machine_.get(shared.range().begin()), is_ok_and_holds(5));
  must(shared.close(Quiescence::promised()));
  EXPECT_EQ(machine_->books().allocations, 0U);
}

TEST_F(FabricHandles, FindNothingAfterwards) {
  PhysicalAllocation memory = create();
  ExportedMemory exported = must(ExportedMemory::of(memory, HandleTypes::fabric));
  must(memory.close());
  must(send_memory(pair_.here.get(), exported));
  must(exported.close());
  EXPECT_FALSE(receive());
  const Status receipt = receive_receipt(pair_.here.get());
  ASSERT_FALSE(receipt);
  EXPECT_EQ(receipt.error().reason, Reason::peer_did_not_import);
}

TEST_F(FabricHandles, AreRefusedWhereTheyAreNotPermitted) {
  const auto made = PhysicalAllocation::create(
      machine_.driver(), {.size = machine_.unit(), .memory = {.exports = HandleTypes::fabric}});
  ASSERT_THAT(made, fails_with(ErrorCode::not_permitted));
  EXPECT_NE(explain(made.error()), "");
  const PhysicalAllocation memory = create();
  const auto exported = ExportedMemory::of(memory, HandleTypes::fabric);
  EXPECT_TRUE(exported);  // this layer permits it; the machine below does not
  const PhysicalAllocation plain = must(PhysicalAllocation::create(
      machine_.driver(),
      {.size = machine_.unit(), .memory = {.exports = HandleTypes::posix_file_descriptor}}));
  const auto refused = ExportedMemory::of(plain, HandleTypes::fabric);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().call, Call::mem_export_to_shareable_handle);
  EXPECT_NE(explain(refused.error()), "");
}

}  // namespace
}  // namespace tessera::sim
