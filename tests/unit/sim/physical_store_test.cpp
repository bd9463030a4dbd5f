#include "physical_store.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "exported_memory.h"
#include "support/printers.h"

namespace tessera::sim {
namespace {

// Two devices of 10 MiB.
class PhysicalStoreTest : public testing::Test {
 protected:
  ~PhysicalStoreTest() override { EXPECT_EQ(store.check_invariants(), ""); }

  static Memory described(Bytes size, Location location = {}) {
    Memory memory;
    memory.size = size;
    memory.properties.location = location;
    memory.properties.requested_handle_types = HandleTypes::posix_file_descriptor;
    memory.backing = std::make_unique<Backing>(Backing::Kind::shared, size);
    return memory;
  }
  // New memory and the handle's index.
  SlabIndex create(Bytes size, Location location = {}) {
    const auto memory = store.add_memory(described(size, location));
    EXPECT_TRUE(memory) << "out of memory";
    return store.add_memory_handle(memory.value_or(0), false, false);
  }
  SlabIndex memory_of(SlabIndex handle) { return store.entry(handle).object; }
  // As the driver does: a descriptor, which the caller closes.
  int export_from(SlabIndex handle) {
    Memory& memory = store.memory(memory_of(handle));
    if (memory.id == 0) {
      store.publish(memory_of(handle), next_id++);
    }
    const std::uint32_t number = memory.exports_made++;
    memory.exports_open.push_back(number);
    return export_memory(
        *memory.backing,
        {.size = memory.size, .properties = memory.properties, .memory_id = memory.id}, number);
  }
  SlabIndex create_multicast(const std::vector<SlabIndex>& bound) {
    Multicast multicast;
    multicast.properties = {.device_count = 2, .size = 8_MiB};
    const SlabIndex handle = store.add_multicast_handle(std::move(multicast));
    for (const SlabIndex memory : bound) {
      MulticastBinding binding;
      binding.size = 1_MiB;
      binding.memory = memory;
      store.multicast(store.entry(handle).object).bindings.push_back(binding);
      store.add_holder(memory);
    }
    return handle;
  }
  Bytes used(std::size_t device = 0) { return devices[device].used(); }

  std::vector<DeviceMemory> devices = {DeviceMemory({.total = 10_MiB}),
                                       DeviceMemory({.total = 10_MiB})};
  PhysicalStore store = PhysicalStore(devices);
  std::uint64_t next_id = 1'000;
};

using Handles = PhysicalStoreTest;
using Memories = PhysicalStoreTest;
using Exports = PhysicalStoreTest;
using Multicasts = PhysicalStoreTest;

TEST_F(Handles, AreFoundByTheirValue) {
  const SlabIndex first = create(1_MiB);
  const SlabIndex second = create(2_MiB);
  EXPECT_EQ(store.find(store.value_of(first)), first);
  EXPECT_EQ(store.find(store.value_of(second)), second);
  EXPECT_NE(store.value_of(first), store.value_of(second));
  EXPECT_EQ(store.size_of(second), 2_MiB);
  EXPECT_EQ(store.handle_count(), 2U);
  EXPECT_EQ(store.entry(first).references, 1U);
  EXPECT_FALSE(store.entry(first).is_imported);
}

TEST_F(Handles, AreNotFoundWhenMadeUp) {
  const AllocationHandle handle = store.value_of(create(1_MiB));
  EXPECT_EQ(store.find(AllocationHandle()), std::nullopt);
  EXPECT_EQ(store.find(AllocationHandle(1)), std::nullopt);
  EXPECT_EQ(store.find(AllocationHandle(~std::uint64_t{0})), std::nullopt);
  for (unsigned bit = 0; bit < 64; ++bit) {
    const AllocationHandle other(handle.value() ^ std::uint64_t{1} << bit);
    EXPECT_EQ(store.find(other), std::nullopt) << "bit " << bit;
  }
}

TEST_F(Handles, AreNotFoundOnceTheyAreStale) {
  std::set<AllocationHandle> stale;
  for (int i = 0; i < 100; ++i) {
    const SlabIndex index = create(1_MiB);
    EXPECT_EQ(index, 0U) << "the place is used again, or the test tests nothing";
    for (const AllocationHandle old : stale) {
      ASSERT_EQ(store.find(old), std::nullopt);
    }
    EXPECT_TRUE(stale.insert(store.value_of(index)).second) << "a value was given twice";
    store.remove_reference(index);
    EXPECT_EQ(store.find(*stale.rbegin()), std::nullopt);
  }
}

TEST_F(Handles, LiveWhileTheyHaveReferences) {
  const SlabIndex index = create(1_MiB);
  const AllocationHandle handle = store.value_of(index);
  store.add_reference(index);
  store.remove_reference(index);
  EXPECT_EQ(store.find(handle), index);
  EXPECT_EQ(used(), 1_MiB);
  store.remove_reference(index);
  EXPECT_EQ(store.find(handle), std::nullopt);
  EXPECT_EQ(used(), 0_B);
  EXPECT_EQ(store.memory_count(), 0U);
  EXPECT_EQ(store.handle_count(), 0U);
}

TEST_F(Handles, LiveWhileTheyHaveMappings) {
  const SlabIndex index = create(1_MiB);
  const AllocationHandle handle = store.value_of(index);
  store.add_mapping(index);
  store.add_mapping(index);
  store.remove_reference(index);
  EXPECT_EQ(store.find(handle), index) << "it can be retained again";
  EXPECT_EQ(store.entry(index).references, 0U);
  EXPECT_EQ(store.check_invariants(), "");
  store.remove_mapping(index);
  EXPECT_EQ(used(), 1_MiB);
  store.add_reference(index);
  store.remove_mapping(index);
  EXPECT_EQ(used(), 1_MiB);
  store.remove_reference(index);
  EXPECT_EQ(store.find(handle), std::nullopt);
  EXPECT_EQ(used(), 0_B);
}

TEST_F(Handles, KeepWhatTheyWereMadeFor) {
  const SlabIndex memory = memory_of(create(1_MiB));
  EXPECT_TRUE(store.entry(store.add_memory_handle(memory, true, false)).is_imported);
  EXPECT_TRUE(store.entry(store.add_memory_handle(memory, false, true)).is_tile_pool);
}

TEST_F(Memories, AreTakenFromTheirDevice) {
  create(3_MiB, on_device(DeviceOrdinal(1)));
  create(2_MiB, on_device(DeviceOrdinal(0)));
  EXPECT_EQ(used(0), 2_MiB);
  EXPECT_EQ(used(1), 3_MiB);
}

TEST_F(Memories, OfTheHostAreTakenFromNoDevice) {
  const SlabIndex host = create(100_MiB, {.type = LocationType::host});
  const SlabIndex node = create(100_MiB, {.type = LocationType::host_numa, .id = 99});
  EXPECT_EQ(used(0) + used(1), 0_B);
  store.remove_reference(host);
  store.remove_reference(node);
  EXPECT_EQ(store.memory_count(), 0U);
}

TEST_F(Memories, EndWithTheDevice) {
  const SlabIndex index = create(10_MiB);
  EXPECT_FALSE(store.add_memory(described(1_B)));
  EXPECT_EQ(store.memory_count(), 1U);
  EXPECT_TRUE(store.add_memory(described(0_B)));
  store.remove_reference(index);
  create(10_MiB);
}

TEST_F(Memories, LiveWhileAnImportedHandleDoes) {
  const SlabIndex maker = create(1_MiB);
  const SlabIndex memory = memory_of(maker);
  const SlabIndex importer = store.add_memory_handle(memory, true, false);
  EXPECT_NE(store.value_of(maker), store.value_of(importer));
  EXPECT_EQ(store.memory(memory).holders, 2U);
  EXPECT_EQ(used(), 1_MiB) << "it is there once";
  store.remove_reference(maker);
  EXPECT_EQ(used(), 1_MiB);
  EXPECT_EQ(store.size_of(importer), 1_MiB);
  store.add_mapping(importer);
  store.remove_reference(importer);
  EXPECT_EQ(used(), 1_MiB);
  store.remove_mapping(importer);
  EXPECT_EQ(used(), 0_B);
}

TEST_F(Memories, AreFoundByIdWhileTheyLive) {
  const SlabIndex handle = create(1_MiB);
  EXPECT_EQ(store.find_memory(41), std::nullopt);
  store.publish(memory_of(handle), 41);
  EXPECT_EQ(store.find_memory(41), memory_of(handle));
  EXPECT_EQ(store.find_memory(0), std::nullopt);
  store.remove_reference(handle);
  EXPECT_EQ(store.find_memory(41), std::nullopt);
}

TEST_F(Exports, KeepMemoryWhileADescriptorIsOpen) {
  const SlabIndex handle = create(10_MiB);
  const int exported = export_from(handle);
  ASSERT_GE(exported, 0);
  const SlabIndex memory = memory_of(handle);
  store.remove_reference(handle);
  EXPECT_EQ(store.handle_count(), 0U);
  store.collect();
  EXPECT_EQ(used(), 10_MiB);
  EXPECT_EQ(store.find_memory(1'000), memory) << "it can be imported";
  EXPECT_FALSE(store.add_memory(described(1_MiB)));
  ::close(exported);
  EXPECT_EQ(used(), 10_MiB) << "nobody has looked yet";
  store.collect();
  EXPECT_EQ(used(), 0_B);
  EXPECT_EQ(store.find_memory(1'000), std::nullopt);
}

TEST_F(Exports, AreLookedAfterWhenMemoryRunsOut) {
  const SlabIndex handle = create(10_MiB);
  const int exported = export_from(handle);
  store.remove_reference(handle);
  ::close(exported);
  EXPECT_TRUE(store.add_memory(described(10_MiB)));
  EXPECT_EQ(store.memory_count(), 1U);
}

TEST_F(Exports, KeepMemoryUntilTheLastDescriptorIsClosed) {
  const SlabIndex handle = create(1_MiB);
  const int first = export_from(handle);
  const int second = export_from(handle);
  const int duplicate = ::dup(second);
  store.remove_reference(handle);
  ::close(second);
  ::close(first);
  store.collect();
  EXPECT_EQ(used(), 1_MiB);
  ::close(duplicate);
  store.collect();
  EXPECT_EQ(used(), 0_B);
}

TEST_F(Exports, ClosedBeforeTheHandleKeepNothing) {
  const SlabIndex handle = create(1_MiB);
  ::close(export_from(handle));
  store.collect();
  EXPECT_EQ(used(), 1_MiB) << "the handle holds it";
  store.remove_reference(handle);
  EXPECT_EQ(used(), 0_B);
}

TEST_F(Exports, AreImportedAfterTheMakerReleasedThem) {
  const SlabIndex handle = create(1_MiB);
  const int exported = export_from(handle);
  store.remove_reference(handle);
  const auto memory = store.find_memory(1'000);
  ASSERT_TRUE(memory);
  const SlabIndex importer = store.add_memory_handle(*memory, true, false);
  ::close(exported);
  store.collect();
  EXPECT_EQ(used(), 1_MiB);
  store.remove_reference(importer);
  EXPECT_EQ(used(), 0_B);
}

TEST_F(Exports, KeepMemoryWhileAWindowsHandleIsOpen) {
  const SlabIndex handle = create(1_MiB);
  const SlabIndex memory = memory_of(handle);
  store.add_windows_handle(memory);
  store.add_windows_handle(memory);
  store.remove_reference(handle);
  EXPECT_EQ(used(), 1_MiB);
  EXPECT_EQ(store.check_invariants(), "");
  store.remove_windows_handle(memory);
  EXPECT_EQ(used(), 1_MiB);
  store.remove_windows_handle(memory);
  EXPECT_EQ(used(), 0_B);
}

TEST_F(Multicasts, HaveHandlesLikeMemory) {
  const SlabIndex handle = create_multicast({});
  EXPECT_TRUE(store.entry(handle).is_multicast);
  EXPECT_EQ(store.size_of(handle), 8_MiB);
  EXPECT_EQ(used(), 0_B) << "they are no memory";
  EXPECT_EQ(store.memory_count(), 0U);
  store.add_mapping(handle);
  store.remove_reference(handle);
  EXPECT_EQ(store.handle_count(), 1U);
  store.remove_mapping(handle);
  EXPECT_EQ(store.handle_count(), 0U);
}

TEST_F(Multicasts, KeepTheMemoryBoundToThem) {
  const SlabIndex handle = create(1_MiB);
  const SlabIndex other = create(2_MiB, on_device(DeviceOrdinal(1)));
  const SlabIndex multicast = create_multicast({memory_of(handle), memory_of(other)});
  store.remove_reference(handle);
  store.remove_reference(other);
  EXPECT_EQ(store.handle_count(), 1U);
  EXPECT_EQ(used(0), 1_MiB);
  EXPECT_EQ(used(1), 2_MiB);
  EXPECT_EQ(store.check_invariants(), "");
  store.add_mapping(multicast);
  store.remove_reference(multicast);
  EXPECT_EQ(used(0), 1_MiB) << "the mapping keeps the object, which keeps the memory";
  store.remove_mapping(multicast);
  EXPECT_EQ(used(0), 0_B);
  EXPECT_EQ(used(1), 0_B);
  EXPECT_EQ(store.memory_count(), 0U);
}

TEST_F(Multicasts, KeepMemoryOnceABinding) {
  const SlabIndex handle = create(2_MiB);
  const SlabIndex memory = memory_of(handle);
  const SlabIndex multicast = create_multicast({memory, memory});
  EXPECT_EQ(store.memory(memory).holders, 3U);
  store.remove_reference(handle);
  auto& bindings = store.multicast(store.entry(multicast).object).bindings;
  bindings.pop_back();
  store.remove_holder(memory);
  EXPECT_EQ(used(), 2_MiB);
  EXPECT_EQ(store.check_invariants(), "");
  bindings.pop_back();
  store.remove_holder(memory);
  EXPECT_EQ(used(), 0_B) << "unbound, and released before";
  store.remove_reference(multicast);
  EXPECT_EQ(store.handle_count(), 0U);
}

TEST_F(Multicasts, LeaveNothingToTheNextInTheirPlace) {
  const SlabIndex handle = create(1_MiB);
  store.remove_reference(create_multicast({memory_of(handle)}));
  const SlabIndex next = create_multicast({});
  EXPECT_TRUE(store.multicast(store.entry(next).object).bindings.empty());
  EXPECT_EQ(store.memory(memory_of(handle)).holders, 1U);
}

using PhysicalStoreDeathTest = PhysicalStoreTest;

TEST_F(PhysicalStoreDeathTest, RefusesToDropWhatIsNotThere) {
  const SlabIndex handle = create(1_MiB);
  EXPECT_DEATH(store.remove_mapping(handle), "check failed");
  store.add_mapping(handle);
  store.remove_reference(handle);
  EXPECT_DEATH(store.remove_reference(handle), "check failed");
  const SlabIndex unheld = store.add_memory(described(1_MiB)).value_or(0);
  EXPECT_DEATH(store.remove_holder(unheld), "check failed");
  EXPECT_DEATH(store.remove_windows_handle(unheld), "check failed");
}

}  // namespace
}  // namespace tessera::sim
