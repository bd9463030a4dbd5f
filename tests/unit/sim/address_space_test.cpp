#include "address_space.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "naive_regions.h"
#include "support/printers.h"

namespace tessera::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr DeviceAddress no_hint;
constexpr DeviceOrdinal first_device(0);
constexpr DeviceOrdinal last_device(AddressSpace::devices_max - 1);

// Addresses up to 3200; reservations share blocks of 8 granules, 4 bytes each.
class AddressSpaceTest : public testing::Test {
 protected:
  std::vector<SlabIndex> unmap(AddressRange inside) {
    std::vector<SlabIndex> handles;
    const std::size_t count = space.unmap_inside(
        inside, [&](SlabIndex handle, DeviceAddress) { handles.push_back(handle); });
    EXPECT_EQ(count, handles.size());
    EXPECT_EQ(space.check_invariants(), "");
    return handles;
  }
  SlabIndex mapping_index(std::uint64_t address) {
    return space.block_at(DeviceAddress(address))->index;
  }

  AddressSpace space = AddressSpace({range(0, 3'200)}, 32_B, 4_B);
};

using Reservations = AddressSpaceTest;
using Blocks = AddressSpaceTest;
using Mappings = AddressSpaceTest;

TEST_F(Reservations, AreFoundAtEachOfTheirAddresses) {
  const auto base = space.reserve(8_B, 0_B, DeviceAddress(320));
  ASSERT_EQ(base, DeviceAddress(320));
  EXPECT_EQ(space.reservation_at(DeviceAddress(319)), std::nullopt);
  EXPECT_EQ(space.reservation_at(DeviceAddress(320)), range(320, 328));
  EXPECT_EQ(space.reservation_at(DeviceAddress(327)), range(320, 328));
  EXPECT_EQ(space.reservation_at(DeviceAddress(328)), std::nullopt);
  EXPECT_EQ(space.check_invariants(), "");
}

TEST_F(Reservations, AreCounted) {
  const auto first = space.reserve(8_B, 0_B, no_hint);
  const auto second = space.reserve(100_B, 0_B, no_hint);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(space.reservation_count(), 2U);
  EXPECT_EQ(space.reserved(), 108_B);
  space.free_reservation({*first, 8_B});
  EXPECT_EQ(space.reservation_count(), 1U);
  EXPECT_EQ(space.reserved(), 100_B);
  space.free_reservation({*second, 100_B});
  EXPECT_EQ(space.reserved(), 0_B);
  EXPECT_EQ(space.check_invariants(), "");
}

TEST_F(Reservations, StandSideBySide) {
  const auto lower = space.reserve(4_B, 0_B, no_hint);
  const auto upper = space.reserve(4_B, 0_B, *lower + 4_B);
  ASSERT_EQ(*upper, *lower + 4_B);
  EXPECT_EQ(space.reservation_at(*upper - 1_B), AddressRange(*lower, 4_B));
  EXPECT_EQ(space.reservation_at(*upper), AddressRange(*upper, 4_B));
}

TEST_F(Reservations, EndWithTheAddresses) {
  ASSERT_TRUE(space.reserve(3'200_B, 0_B, no_hint));
  EXPECT_EQ(space.reserve(4_B, 0_B, no_hint), std::nullopt);
  EXPECT_EQ(space.reserved(), 3'200_B) << "what failed is not counted";
  EXPECT_EQ(space.reservation_count(), 1U);
  space.free_reservation(range(0, 3'200));
  EXPECT_TRUE(space.reserve(4_B, 0_B, no_hint));
}

TEST_F(Reservations, LeaveBlocksWhenTheyAreFreed) {
  const auto base = space.reserve(32_B, 0_B, no_hint);
  ASSERT_TRUE(base);
  space.map({*base, 32_B}, 7);
  space.free_reservation({*base, 32_B});
  EXPECT_NE(space.mapping_at(*base), nullptr);
  EXPECT_EQ(space.check_invariants(), "");
}

TEST_F(Reservations, KnowWhereAddressesEnd) {
  EXPECT_EQ(space.address_limit(), 4'096U);
  EXPECT_EQ(AddressSpace({range(0, 16), range(1'024, 4'096)}, 32_B, 4_B).address_limit(), 4'096U);
}

TEST_F(Reservations, LieApartFromOtherAddresses) {
  const auto others = space.take_addresses(8_B, 4_B);
  const auto base = space.reserve(8_B, 0_B, no_hint);
  ASSERT_TRUE(others && base);
  EXPECT_FALSE(others->intersects({*base, 8_B}));
  EXPECT_EQ(space.reservation_at(others->begin()), std::nullopt);
  EXPECT_EQ(space.reserved(), 8_B);
  space.give_back_addresses(*others);
  EXPECT_EQ(space.take_addresses(8_B, 4_B), others);
}

TEST_F(Blocks, AreFoundAtEachOfTheirAddresses) {
  space.add_block(range(100, 200), BlockKind::legacy, 41);
  EXPECT_FALSE(space.block_at(DeviceAddress(99)));
  EXPECT_FALSE(space.block_at(DeviceAddress(200)));
  for (const std::uint64_t address : {100U, 150U, 199U}) {
    const auto found = space.block_at(DeviceAddress(address));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->range, range(100, 200));
    EXPECT_EQ(found->kind, BlockKind::legacy);
    EXPECT_EQ(found->index, 41U);
  }
  EXPECT_EQ(space.mapping_at(DeviceAddress(100)), nullptr) << "no mapping";
  EXPECT_EQ(space.block_count(), 1U);
  EXPECT_EQ(space.mapping_count(), 0U);
  space.remove_block(DeviceAddress(100));
  EXPECT_FALSE(space.block_at(DeviceAddress(150)));
  EXPECT_EQ(space.check_invariants(), "");
}

TEST_F(Blocks, AreFoundFromAnAddressOn) {
  space.add_block(range(100, 200), BlockKind::legacy, 1);
  space.add_block(range(200, 300), BlockKind::legacy, 2);
  EXPECT_EQ(space.block_from(DeviceAddress())->index, 1U);
  EXPECT_EQ(space.block_from(DeviceAddress(100))->index, 1U);
  EXPECT_EQ(space.block_from(DeviceAddress(101))->index, 2U);
  EXPECT_FALSE(space.block_from(DeviceAddress(201)));
}

TEST_F(Blocks, AreInARangeThatTheyMeet) {
  space.add_block(range(100, 200), BlockKind::legacy, 0);
  EXPECT_FALSE(space.has_block_in(range(0, 100)));
  EXPECT_FALSE(space.has_block_in(range(200, 300)));
  EXPECT_TRUE(space.has_block_in(range(0, 101)));
  EXPECT_TRUE(space.has_block_in(range(199, 300)));
  EXPECT_TRUE(space.has_block_in(range(150, 151)));
  EXPECT_TRUE(space.has_block_in(range(0, 3'200)));
  EXPECT_FALSE(space.has_block_in(range(150, 150))) << "nothing is in an empty range";
  EXPECT_FALSE(space.has_block_in(AddressRange()));
}

TEST_F(Blocks, AreCutByARangeThatHasAPartOfThem) {
  space.add_block(range(100, 200), BlockKind::legacy, 0);
  space.add_block(range(300, 400), BlockKind::driver, 0);
  EXPECT_FALSE(space.cuts_block(range(0, 50)));
  EXPECT_FALSE(space.cuts_block(range(0, 100)));
  EXPECT_FALSE(space.cuts_block(range(100, 200)));
  EXPECT_FALSE(space.cuts_block(range(200, 300)));
  EXPECT_FALSE(space.cuts_block(range(100, 400)));
  EXPECT_FALSE(space.cuts_block(range(50, 450)));
  EXPECT_TRUE(space.cuts_block(range(0, 101)));
  EXPECT_TRUE(space.cuts_block(range(100, 199)));
  EXPECT_TRUE(space.cuts_block(range(101, 200)));
  EXPECT_TRUE(space.cuts_block(range(150, 160)));
  EXPECT_TRUE(space.cuts_block(range(199, 300)));
  EXPECT_TRUE(space.cuts_block(range(100, 301)));
  EXPECT_TRUE(space.cuts_block(range(100, 399)));
  EXPECT_TRUE(space.cuts_block(range(0, 350)));
}

TEST_F(Blocks, OfTheDriverLieAtTheTop) {
  space.add_driver_addresses(32_B, {range(4, 8), range(12, 16)}, {range(0, 4), range(8, 9)});
  EXPECT_EQ(space.block_count(), 2U);
  EXPECT_EQ(space.block_at(DeviceAddress(3'168))->kind, BlockKind::driver);
  EXPECT_EQ(space.block_at(DeviceAddress(3'176))->range, range(3'176, 3'177));
  EXPECT_EQ(space.reserve(4_B, 0_B, no_hint), DeviceAddress(3'172)) << "the first free range";
  EXPECT_EQ(space.reserve(4_B, 0_B, no_hint), DeviceAddress(3'180));
  EXPECT_EQ(space.reserve(4_B, 0_B, no_hint), DeviceAddress(0)) << "no more of the driver's";
  EXPECT_EQ(space.reservation_count(), 3U);
  EXPECT_EQ(space.check_invariants(), "");
}

TEST_F(Blocks, OfTheDriverAreLeftOutWithoutRoom) {
  ASSERT_TRUE(space.reserve(3'200_B, 0_B, no_hint));
  space.add_driver_addresses(32_B, {}, {range(0, 4)});
  EXPECT_EQ(space.block_count(), 0U);
  EXPECT_EQ(space.check_invariants(), "");
}

TEST_F(Mappings, AreFoundAtEachOfTheirAddresses) {
  space.map(range(100, 200), 41, 16_B);
  EXPECT_EQ(space.mapping_at(DeviceAddress(99)), nullptr);
  EXPECT_EQ(space.mapping_at(DeviceAddress(200)), nullptr);
  const Mapping* found = space.mapping_at(DeviceAddress(199));
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->range, range(100, 200));
  EXPECT_EQ(found->handle, 41U);
  EXPECT_EQ(found->offset, 16_B);
  EXPECT_EQ(found, &space.mapping(mapping_index(100)));
  EXPECT_EQ(space.mapping_count(), 1U);
  EXPECT_EQ(space.check_invariants(), "");
}

TEST_F(Mappings, AreUnmappedWhereTheyLieWhollyInside) {
  for (SlabIndex i = 0; i < 5; ++i) {
    space.map(range(100 + 100 * i, 200 + 100 * i), i);
  }
  EXPECT_THAT(unmap(range(0, 100)), IsEmpty());
  EXPECT_THAT(unmap(range(101, 200)), IsEmpty());
  EXPECT_THAT(unmap(range(100, 199)), IsEmpty());
  EXPECT_THAT(unmap(range(200, 200)), IsEmpty());
  EXPECT_THAT(unmap(range(150, 450)), ElementsAre(1U, 2U)) << "neither of those it cuts";
  EXPECT_THAT(unmap(range(500, 600)), ElementsAre(4U));
  EXPECT_EQ(space.mapping_count(), 2U);
  EXPECT_NE(space.mapping_at(DeviceAddress(150)), nullptr);
  EXPECT_THAT(unmap(range(0, 3'200)), ElementsAre(0U, 3U));
  EXPECT_EQ(space.block_count(), 0U);
}

TEST_F(Mappings, AreUnmappedAroundOtherBlocks) {
  space.map(range(100, 200), 1);
  space.add_block(range(200, 250), BlockKind::driver, 0);
  space.map(range(250, 300), 2);
  space.add_block(range(300, 400), BlockKind::legacy, 9);
  space.add_block(range(400, 450), BlockKind::driver, 0);
  space.map(range(500, 600), 3);
  EXPECT_THAT(unmap(range(200, 250)), IsEmpty());
  EXPECT_THAT(unmap(range(100, 600)), ElementsAre(1U, 2U, 3U));
  EXPECT_EQ(space.block_count(), 3U);
  EXPECT_EQ(space.block_at(DeviceAddress(399))->index, 9U);
  EXPECT_EQ(space.block_at(DeviceAddress(225))->kind, BlockKind::driver);
}

TEST_F(Mappings, AreUnmappedUpToABlockThatReachesOut) {
  space.map(range(100, 200), 1);
  space.add_block(range(200, 400), BlockKind::driver, 0);
  EXPECT_THAT(unmap(range(100, 300)), ElementsAre(1U));
  EXPECT_EQ(space.block_count(), 1U);
}

TEST_F(Mappings, GiveAccessToDevicesOneByOne) {
  space.map(range(100, 200), 1);
  const SlabIndex index = mapping_index(100);
  const Mapping& mapping = space.mapping(index);
  EXPECT_EQ(mapping.access_of(first_device), AccessFlags::none);
  EXPECT_FALSE(mapping.is_accessible());
  space.set_access(index, last_device, AccessFlags::read_write);
  EXPECT_EQ(mapping.access_of(first_device), AccessFlags::none);
  EXPECT_EQ(mapping.access_of(last_device), AccessFlags::read_write);
  space.set_access(index, first_device, AccessFlags::read);
  EXPECT_EQ(mapping.access_of(first_device), AccessFlags::read);
  space.set_access(index, last_device, AccessFlags::read);
  EXPECT_EQ(mapping.access_of(last_device), AccessFlags::read) << "less than before";
  space.set_access(index, last_device, AccessFlags::none);
  EXPECT_EQ(mapping.access_of(last_device), AccessFlags::none);
  EXPECT_EQ(mapping.access_of(first_device), AccessFlags::read);
  EXPECT_EQ(mapping.host, AccessFlags::none);
}

TEST_F(Mappings, AreCountedOnceWhoeverHasAccess) {
  space.map(range(100, 200), 1);
  space.map(range(200, 300), 2);
  const SlabIndex first = mapping_index(100);
  const SlabIndex second = mapping_index(200);
  const auto expect_count = [this](std::size_t count) {
    EXPECT_EQ(space.accessible_mapping_count(), count);
    EXPECT_EQ(space.check_invariants(), "");
  };
  expect_count(0);
  space.set_access(first, first_device, AccessFlags::none);
  expect_count(0);
  space.set_access(first, first_device, AccessFlags::read);
  space.set_access(first, first_device, AccessFlags::read_write);
  space.set_access(first, last_device, AccessFlags::read);
  space.set_host_access(first, AccessFlags::read_write);
  expect_count(1);
  space.set_host_access(second, AccessFlags::read);
  expect_count(2);
  space.set_access(first, first_device, AccessFlags::none);
  space.set_access(first, last_device, AccessFlags::none);
  expect_count(2);
  space.set_host_access(first, AccessFlags::none);
  expect_count(1);
  EXPECT_THAT(unmap(range(100, 200)), ElementsAre(1U));
  expect_count(1);
  EXPECT_THAT(unmap(range(200, 300)), ElementsAre(2U));
  expect_count(0);
}

TEST_F(Mappings, DoNotInheritAccess) {
  space.map(range(100, 200), 1);
  const SlabIndex index = mapping_index(100);
  space.set_access(index, first_device, AccessFlags::read_write);
  space.set_host_access(index, AccessFlags::read);
  EXPECT_THAT(unmap(range(100, 200)), ElementsAre(1U));
  space.map(range(100, 200), 2);
  EXPECT_EQ(mapping_index(100), index) << "or the test tests nothing";
  EXPECT_FALSE(space.mapping(index).is_accessible());
  EXPECT_EQ(space.accessible_mapping_count(), 0U);
}

TEST_F(Mappings, AgreeWithAMapOfSingleBytes) {
  std::mt19937_64 random(20240607);
  constexpr std::size_t nobody = ~std::size_t{0};
  std::vector<std::size_t> owner(600, nobody);  // which mapping an address belongs to
  std::vector<AddressRange> mapped;             // by its number, which is its handle
  for (int step = 0; step < 3'000; ++step) {
    const std::uint64_t begin = random() % 560;
    const AddressRange some = range(begin, begin + 1 + random() % 40);
    bool has_any = false;
    bool cuts_any = false;
    std::vector<SlabIndex> inside;
    for (std::uint64_t at = some.begin().value(); at < some.end().value(); ++at) {
      if (owner[at] != nobody) {
        const AddressRange whole = mapped[owner[at]];
        has_any = true;
        cuts_any = cuts_any || !some.contains(whole);
        if (some.contains(whole) && at == whole.begin().value()) {
          inside.push_back(static_cast<SlabIndex>(owner[at]));
        }
      }
    }
    ASSERT_EQ(space.has_block_in(some), has_any) << "step " << step;
    ASSERT_EQ(space.cuts_block(some), cuts_any) << "step " << step;
    if (!has_any) {
      space.map(some, static_cast<SlabIndex>(mapped.size()));
      std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(begin), some.size().value(),
                  mapped.size());
      mapped.push_back(some);
    } else {
      ASSERT_EQ(unmap(some), inside) << "step " << step;
      for (const SlabIndex handle : inside) {
        std::fill_n(owner.begin() + static_cast<std::ptrdiff_t>(mapped[handle].begin().value()),
                    mapped[handle].size().value(), nobody);
      }
    }
    const Mapping* found = space.mapping_at(DeviceAddress(begin));
    ASSERT_EQ(found != nullptr, owner[begin] != nobody) << "step " << step;
    ASSERT_TRUE(found == nullptr || found->handle == owner[begin]) << "step " << step;
    ASSERT_EQ(space.check_invariants(), "") << "step " << step;
  }
}

using AddressSpaceDeathTest = AddressSpaceTest;

TEST_F(AddressSpaceDeathTest, RefusesWhatWouldBreakItsBooks) {
  ASSERT_EQ(space.reserve(8_B, 0_B, no_hint), DeviceAddress(0));
  EXPECT_DEATH(space.free_reservation(range(0, 4)), "check failed");
  EXPECT_DEATH(space.free_reservation(range(4, 8)), "check failed");
  space.add_block(range(100, 200), BlockKind::legacy, 0);
  EXPECT_DEATH(space.add_block(range(199, 300), BlockKind::legacy, 0), "check failed");
  EXPECT_DEATH(space.remove_block(DeviceAddress(150)), "check failed");
}

}  // namespace
}  // namespace tessera::sim
