// Sizes rounded in one place and not in the other; addresses that are somebody else's.
#include "report_machine.h"
#include "tessera/buffers/growable_buffer.h"
#include "tessera/owners/mapping_walk.h"
#include "tessera/owners/vmm_alloc.h"

namespace tessera::reports {
namespace {

// torch_memory_saver 82: 6912 bytes are asked for, and the answer is INVALID_VALUE and no more.
TEST(TorchMemorySaver82, BareCallsAskForASizeThatNoMemoryHas) {
  ReportMachine m;
  EXPECT_FALSE(m->mem_create({.size = Bytes(6912)}));
  ASSERT_EQ(m.broken(), std::vector{RuleId::create_size});
  EXPECT_THAT(m.text(), HasSubstr("6912"));
  EXPECT_THAT(m.text(), HasSubstr("create 2 MiB"));
}

TEST(TorchMemorySaver82, MemoryIsMadeInSizesThatThereAre) {
  ReportMachine m;
  EXPECT_EQ(must(PhysicalAllocation::create(m.use(), {.size = Bytes(6912)})).size(), unit);
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// llama.cpp 4680 and others: a fixed reservation of 32 GiB fails on small machines.
sim::Profile machine_with_few_addresses() {
  sim::Profile profile = *sim::built_in_profile("h200");
  const DeviceAddress begin = profile.address_windows.front().begin();
  profile.address_windows = {AddressRange(begin, 8_GiB)};
  return profile;
}

TEST(LlamaCpp4680, BareCallsAreToldThatAddressesLack) {
  ReportMachine m({}, machine_with_few_addresses());
  const auto refused = m->mem_address_reserve({.size = 32_GiB});
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(to_string(refused.error()), HasSubstr("address space"));
  EXPECT_THAT(m.broken(), IsEmpty()) << "running out is no fault of the program";
}

TEST(LlamaCpp4680, ReservationsFallBackToSmallerSizes) {
  ReportMachine m({}, machine_with_few_addresses());
  GrowableBuffer buffer = must(GrowableBuffer::make(m.use(), {.reserve = 32_GiB}));
  EXPECT_LT(buffer.reserved_range().size(), 32_GiB);
  EXPECT_THAT(buffer.grow_to(100_MiB), is_ok());
  const auto refused = Reservation::make(m.use(), {.size = 32_GiB});
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(to_string(refused.error()), HasSubstr("address space"));
  must(buffer.close(Quiescence::promised()));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// cuda-python 2345: a reservation with a hint gives another address; the hint is freed.
TEST(CudaPython2345, BareCallsFreeWhatTheyDoNotOwn) {
  ReportMachine m;
  // Addresses that this driver does not give: somebody else in the process may have them.
  const DeviceAddress wished = m.reserve(1) - 1_GiB;
  const DeviceAddress got = must(m->mem_address_reserve({.size = unit, .hint = wished}));
  ASSERT_NE(got, wished);
  EXPECT_FALSE(m->mem_address_free({.address = wished, .size = unit}));
  EXPECT_THAT(m.broken(), Contains(RuleId::uses_refused_hint)) << m.text();
}

TEST(CudaPython2345, OnlyTheOwnerFreesWithWhatItGot) {
  ReportMachine m;
  const Reservation taken = must(Reservation::make(m.use(), {.size = unit}));
  {
    const Reservation other =
        must(Reservation::make(m.use(), {.size = unit, .hint = taken.base()}));
    EXPECT_NE(other.base(), taken.base());
  }
  EXPECT_EQ(m.simulator().books().reservations, 1U);
  EXPECT_THAT(m.broken(), IsEmpty()) << m.text();
}

// cuda-python 2907: the size asked for is kept instead of the rounded one.
TEST(CudaPython2907, BareCallsUnmapLessThanWasMapped) {
  ReportMachine m;
  const DeviceAddress address = m.mapped(2);
  EXPECT_FALSE(m->mem_unmap({.address = address, .size = 3_MiB}));
  EXPECT_EQ(m.broken(), std::vector{RuleId::unmap_cuts_mapping});
  EXPECT_THAT(m.text(), HasSubstr("4 MiB"));
}

TEST(CudaPython2907, SizesAreRoundedOnceAndKept) {
  ReportMachine m;
  const DeviceAddress address = must(vmm_alloc(m.use(), 3_MiB));
  EXPECT_EQ(must(vmm_range(m.driver(), address)).size(), 4_MiB);
  EXPECT_THAT(vmm_free(m.driver(), address), is_ok());
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// kvcached 437: one page is unmapped twice.
TEST(Kvcached437, BareCallsUnmapAPageTwice) {
  ReportMachine m;
  const DeviceAddress page = m.mapped(1);
  must(m.unmap(page, 1));
  // OK says the driver: it unmaps nothing.
  EXPECT_THAT(m.unmap(page, 1), is_ok());
  ASSERT_EQ(m.broken(), std::vector{RuleId::unmap_twice});
  EXPECT_THAT(m.text(), HasSubstr("were unmapped already"));
}

TEST(Kvcached437, AMappingIsUnmappedOnce) {
  ReportMachine m;
  Mapping page = must(Mapping::map(must(Reservation::make(m.use(), {.size = unit})), Bytes(0),
                                   must(PhysicalAllocation::create(m.use(), {.size = unit}))));
  EXPECT_THAT(page.close(Quiescence::promised()), is_ok());
  EXPECT_THAT(page.close(Quiescence::promised()), is_ok());
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// rocr 285 and hip 2516: works with this driver, not with others.
TEST(Rocr285, BareCallsThatOtherDriversRefuseAreNamed) {
  ReportMachine m;
  const DeviceAddress address = m.reserve(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const AllocationHandle handle = m.create(1);
    must(m.map(address + unit * i, 1, handle));
    must(m->mem_release(handle));
  }
  EXPECT_THAT(m.allow(address + unit, 2), is_ok());
  EXPECT_THAT(m.unmap(address, 3), is_ok());
  EXPECT_EQ(m.broken(),
            (std::vector{RuleId::set_access_part_of_run, RuleId::unmap_several_mappings}));
}

TEST(Rocr285, BuffersUnmapMappingByMapping) {
  ReportMachine m;
  GrowableBuffer buffer = must(GrowableBuffer::make(m.use(), {.growth = GrowthPolicy::exact()}));
  must(buffer.grow_to(unit));
  must(buffer.grow_to(unit * 2));
  must(buffer.close(Quiescence::promised()));
  EXPECT_THAT(m.broken(), testing::Not(Contains(RuleId::unmap_several_mappings))) << m.text();
}

// snapshot 78: trackers that assume one mapping a call.
TEST(Snapshot78, BareCallsOverSeveralMappingsAreFollowedByRange) {
  ReportMachine m;
  const DeviceAddress address = m.reserve(3);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const AllocationHandle handle = m.create(1);
    must(m.map(address + unit * i, 1, handle));
    must(m->mem_release(handle));
  }
  must(m.unmap(address, 3));
  must(m.free(address, 3));
  // One word about portability, and nothing that is thought to be left.
  EXPECT_EQ(m.end(), std::vector{RuleId::unmap_several_mappings}) << m.text();
}

TEST(Snapshot78, ARangeIsWalkedMappingByMapping) {
  ReportMachine m;
  GrowableBuffer buffer = must(GrowableBuffer::make(m.use(), {.growth = GrowthPolicy::exact()}));
  must(buffer.grow_to(unit));
  must(buffer.grow_to(unit * 3));
  EXPECT_EQ(must(mappings_in(m.driver(), buffer.range())).size(), 2U);
}

}  // namespace
}  // namespace tessera::reports
