#include <vector>

#include <fcntl.h>

#include "support/sharing_peer.h"
#include "support/sharing_support.h"
#include "support/sim_machine.h"
#include "tessera/layers/fault_injecting_driver.h"

namespace tessera::sim {
namespace {

using testing::HasSubstr;

constexpr MemoryOptions exportable = {.exports = HandleTypes::posix_file_descriptor};

class ExportedMemoryTest : public testing::Test {
 protected:
  PhysicalAllocation create(std::uint64_t units) {
    return must(PhysicalAllocation::create(driver_, {.size = unit_ * units, .memory = exportable}));
  }
  [[nodiscard]] Bytes used() { return total_ - machine_.free_memory(); }

  test::NoDescriptorIsLeft no_descriptor_is_left_;
  SimMachine machine_{"h200"};
  Driver& driver_ = machine_.driver();
  Bytes unit_ = machine_.unit();
  Bytes total_ = machine_.free_memory();
};

TEST_F(ExportedMemoryTest, HasADescriptorAPiece) {
  const PhysicalAllocation first = create(1);
  const PhysicalAllocation second = create(3);
  const std::array memories = {&first, &second};
  const ExportedMemory exported = must(ExportedMemory::of(memories));
  EXPECT_TRUE(exported.is_open());
  EXPECT_EQ(exported.type(), HandleTypes::posix_file_descriptor);
  EXPECT_EQ(exported.size(), unit_ * 4);
  ASSERT_EQ(exported.descriptors().size(), 2U);
  ASSERT_EQ(exported.description().pieces.size(), 2U);
  EXPECT_EQ(exported.description().pieces[1].size, unit_ * 3);
  EXPECT_EQ(exported.description().pieces[1].properties.location, on_device(device_0));
  EXPECT_EQ(exported.mapped_range(), std::nullopt);
  EXPECT_NE(::fcntl(exported.descriptors()[0].get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(ExportedMemoryTest, TellsTheRoundedSize) {
  const PhysicalAllocation memory =
      must(PhysicalAllocation::create(driver_, {.size = 6912_B, .memory = exportable}));
  EXPECT_EQ(must(ExportedMemory::of(memory)).size(), unit_);
}

TEST_F(ExportedMemoryTest, KeepsTheMemoryWhileOpen) {
  PhysicalAllocation memory = create(2);
  ExportedMemory exported = must(ExportedMemory::of(memory));
  EXPECT_THAT(memory.close(), is_ok());
  EXPECT_EQ(used(), unit_ * 2);
  EXPECT_EQ(machine_->books().handles, 1U);  // not the descriptor alone
  EXPECT_THAT(exported.close(), is_ok());
  EXPECT_FALSE(exported.is_open());
  EXPECT_EQ(used(), 0_B);
  EXPECT_THAT(exported.close(), is_ok());
}

TEST_F(ExportedMemoryTest, LeavesTheMemoryToItsOwner) {
  PhysicalAllocation memory = create(2);
  must(must(ExportedMemory::of(memory)).close());
  EXPECT_EQ(used(), unit_ * 2);
  EXPECT_THAT(memory.close(), is_ok());
  EXPECT_EQ(used(), 0_B);
}

TEST_F(ExportedMemoryTest, OfARangeIsAllThatIsMappedThere) {
  test::SharingSide side(driver_);
  must(side.make(3));
  const ExportedMemory exported = must(ExportedMemory::of_range(driver_, side.range()));
  ASSERT_EQ(exported.description().pieces.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(exported.description().pieces[i].size, unit_ * (i + 1));
  }
  EXPECT_EQ(exported.mapped_range(), side.range());
}

TEST_F(ExportedMemoryTest, TakesMappingsWhole) {
  test::SharingSide side(driver_);
  must(side.make(3));
  // From inside the second mapping to inside the third.
  const AddressRange part(side.pieces()[1].begin() + unit_, unit_ * 2);
  const ExportedMemory exported = must(ExportedMemory::of_range(driver_, part));
  EXPECT_EQ(exported.size(), unit_ * 5);
  EXPECT_EQ(exported.mapped_range(), AddressRange(side.pieces()[1].begin(), unit_ * 5));
}

TEST_F(ExportedMemoryTest, IncludesWhatOthersMapped) {
  const DeviceAddress address = machine_.reserve(3);
  const AllocationHandle handle =
      machine_.create(3, {.requested_handle_types = HandleTypes::posix_file_descriptor});
  machine_.map(address, 3, handle);
  must(machine_->mem_release(handle));
  ExportedMemory exported = must(ExportedMemory::of_range(driver_, {address, unit_ * 3}));
  EXPECT_EQ(exported.size(), unit_ * 3);
  must(machine_.unmap(address, 3));
  EXPECT_EQ(used(), unit_ * 3);
  EXPECT_THAT(exported.close(), is_ok());
  EXPECT_EQ(used(), 0_B);
}

TEST_F(ExportedMemoryTest, NamesTheHoleInARange) {
  const DeviceAddress address = machine_.reserve(6);
  const AllocationProperties properties = {.requested_handle_types =
                                               HandleTypes::posix_file_descriptor};
  machine_.map(address + unit_, 1, machine_.create(1, properties));
  machine_.map(address + unit_ * 3, 1, machine_.create(1, properties));
  const auto hole_in = [&](std::uint64_t first, std::uint64_t units) {
    const auto exported =
        ExportedMemory::of_range(driver_, {address + unit_ * first, unit_ * units});
    EXPECT_THAT(exported, fails_with(ErrorCode::invalid_value));
    EXPECT_EQ(exported.error().reason, Reason::hole_in_range);
    return DeviceAddress(exported.error().values[0]);
  };
  EXPECT_EQ(hole_in(0, 2), address);              // before
  EXPECT_EQ(hole_in(1, 3), address + unit_ * 2);  // between
  EXPECT_EQ(hole_in(3, 2), address + unit_ * 4);  // behind
  EXPECT_EQ(hole_in(4, 2), address + unit_ * 4);  // nothing else
  EXPECT_EQ(machine_->books().allocations, 2U);
}

// What fails behind the first mapping is no hole.
TEST_F(ExportedMemoryTest, SaysWhatStoppedItsWalk) {
  test::SharingSide side(driver_);
  must(side.make(2));
  FaultInjectingDriver faults(
      &driver_,
      {.faults = {Fault::nth_of(Call::mem_retain_allocation_handle, 2, ErrorCode::invalid_value)}});
  const auto exported = ExportedMemory::of_range(faults, side.range());
  ASSERT_THAT(exported, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(exported.error().call, Call::mem_retain_allocation_handle);
}

TEST_F(ExportedMemoryTest, RefusesWhatIsNoMappedMemory) {
  const DeviceAddress plain = must(machine_->mem_alloc(unit_));
  EXPECT_THAT(ExportedMemory::of_range(driver_, {plain, unit_}),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(ExportedMemory::of_range(driver_, {DeviceAddress(0x1000), unit_}),
              fails_with(ErrorCode::invalid_value));
  const auto empty = ExportedMemory::of_range(driver_, {plain, 0_B});
  ASSERT_THAT(empty, fails_with(ErrorCode::invalid_value));
  EXPECT_EQ(empty.error().reason, Reason::nothing_to_share);
  EXPECT_THAT(ExportedMemory::of(std::span<const PhysicalAllocation* const>()),
              fails_with(ErrorCode::invalid_value));
}

TEST_F(ExportedMemoryTest, RefusesHandlesThatNobodyHereCouldClose) {
  const PhysicalAllocation memory = create(1);
  for (const HandleTypes type : {HandleTypes::none, HandleTypes::win32, HandleTypes::win32_kmt,
                                 HandleTypes::posix_file_descriptor | HandleTypes::fabric}) {
    const auto exported = ExportedMemory::of(memory, type);
    ASSERT_THAT(exported, fails_with(ErrorCode::not_supported));
    EXPECT_THAT(explain(exported.error()), HasSubstr("cannot be sent to another process here"));
    EXPECT_THAT(ExportedMemory::of_range(driver_, {DeviceAddress(1), unit_}, type),
                fails_with(ErrorCode::not_supported));
  }
}

TEST_F(ExportedMemoryTest, SaysWhyMemoryCannotBeExported) {
  const PhysicalAllocation first = create(1);
  const PhysicalAllocation private_one = must(PhysicalAllocation::create(driver_, {.size = unit_}));
  const std::array memories = {&first, &private_one};
  const auto exported = ExportedMemory::of(memories);
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().call, Call::mem_export_to_shareable_handle);
  EXPECT_NE(explain(exported.error()), "");
  // Fabric handles are supported by this machine and not permitted.
  EXPECT_FALSE(ExportedMemory::of(first, HandleTypes::fabric));
}

TEST_F(ExportedMemoryTest, LeavesNothingWhenDescriptorsRunOut) {
  std::vector<PhysicalAllocation> memories;
  std::vector<const PhysicalAllocation*> pointers;
  memories.reserve(5);
  for (int i = 0; i < 5; ++i) {
    memories.push_back(create(1));
    pointers.push_back(&memories.back());
  }
  // The first export of a memory makes its file, too.
  must(must(ExportedMemory::of(pointers)).close());
  const std::size_t before = test::open_descriptors();
  for (std::size_t count = 0; count < 5; ++count) {
    // Looked at without the limit: a sanitizer needs descriptors of its own.
    const auto exported = [&] {
      const test::DescriptorLimit limit(count);
      return ExportedMemory::of(pointers);
    }();
    EXPECT_THAT(exported, fails_with(ErrorCode::operating_system)) << count;
  }
  EXPECT_EQ(test::open_descriptors(), before);
  EXPECT_EQ(must(ExportedMemory::of(pointers)).descriptors().size(), 5U);
}

// Each is closed, whatever became of the others; the memory is given up all the same.
TEST_F(ExportedMemoryTest, SaysThatDescriptorsWereClosedBehindItsBack) {
  const PhysicalAllocation first = create(1);
  const PhysicalAllocation second = create(1);
  const std::array memories = {&first, &second};
  ExportedMemory exported = must(ExportedMemory::of(memories));
  for (const FileDescriptor& descriptor : exported.descriptors()) {
    ::close(descriptor.get());
  }
  EXPECT_THAT(exported.close(), fails_with(ErrorCode::operating_system));
  EXPECT_FALSE(exported.is_open());
  EXPECT_THAT(exported.close(), is_ok());
}

}  // namespace
}  // namespace tessera::sim
