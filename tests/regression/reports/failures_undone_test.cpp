// Half-done work that was not undone, or undone too much.
#include "report_machine.h"
#include "tessera/buffers/growable_buffer.h"
#include "tessera/owners/transaction.h"

namespace tessera::reports {
namespace {

FaultPlan third_create_fails() {
  return {.faults = {Fault::nth_of(Call::mem_create, 3, ErrorCode::out_of_memory)}};
}

// pytorch 188008: pieces of a large reservation are mapped until one cannot be made; the clean-up
// unmaps the whole range, and the program ends in a destructor.
TEST(Pytorch188008, BareCallsUnmapMoreThanWasMapped) {
  ReportMachine m(third_create_fails());
  const DeviceAddress base = m.reserve(10);
  for (std::uint64_t i = 0; i < 10; ++i) {
    const auto handle = m->mem_create({.size = unit});
    if (!handle) {
      break;
    }
    must(m.map(base + unit * i, 1, *handle));
    must(m->mem_release(*handle));
  }
  EXPECT_THAT(m.unmap(base, 10), is_ok());
  EXPECT_THAT(m.broken(), Contains(RuleId::unmap_over_hole));
}

TEST(Pytorch188008, GrowingUndoesExactlyWhatItDid) {
  for (const Call failing : {Call::mem_create, Call::mem_map, Call::mem_set_access}) {
    ReportMachine m;
    GrowableBuffer buffer =
        must(GrowableBuffer::make(m.use(), {.reserve = 64_GiB, .growth = GrowthPolicy::exact()}));
    must(buffer.grow_to(20_MiB));
    const GrowableStatistics before = buffer.statistics();
    m.set_faults({.faults = {Fault::each_of(failing, ErrorCode::out_of_memory)}});
    const auto refused = buffer.grow_to(40_MiB);
    ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
    EXPECT_EQ(refused.error().call, failing);
    EXPECT_EQ(buffer.size(), 20_MiB);
    EXPECT_EQ(buffer.statistics().mapped, before.mapped);
    m.set_faults({});
    EXPECT_THAT(buffer.grow_to(40_MiB), is_ok());
    must(buffer.close(Quiescence::promised()));
    EXPECT_THAT(m.end(), IsEmpty()) << m.text();
  }
}

// surogate 117: several handles make one unit; the third cannot be made.
TEST(Surogate117, BareCallsLeakTheFirstTwo) {
  ReportMachine m(third_create_fails());
  for (int i = 0; i < 3; ++i) {
    if (!m->mem_create({.size = unit})) {
      break;
    }
  }
  EXPECT_EQ(m.end(), (std::vector{RuleId::leak_create_reference, RuleId::leak_create_reference}));
}

TEST(Surogate117, ATransactionIsAllOrNothingAndARetryWorks) {
  ReportMachine m(third_create_fails());
  const auto make_unit = [&]() -> Status {
    Transaction transaction(m.use());
    for (int i = 0; i < 3; ++i) {
      TESSERA_TRY(transaction.create({.size = unit}));
    }
    static_cast<void>(transaction.commit());
    return {};
  };
  EXPECT_THAT(make_unit(), fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(m.simulator().books().allocations, 0U);
  EXPECT_THAT(make_unit(), is_ok());
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// nixl 1576: any failure falls back to plain allocation, which hides a bug.
TEST(Nixl1576, BareCallsThatNeedNoFallBackAreNamed) {
  ReportMachine m;
  // The bug behind the fall-back: a size that is no multiple of the granularity.
  EXPECT_FALSE(m->mem_create({.size = Bytes(6912)}));
  EXPECT_EQ(m.broken(), std::vector{RuleId::create_size});
}

TEST(Nixl1576, GrowingFallsBackForLackOfMemoryAlone) {
  ReportMachine m;
  GrowableBuffer buffer =
      must(GrowableBuffer::make(m.use(), {.growth = GrowthPolicy::chunks(64_MiB)}));
  // A whole chunk is not to be had, but what is needed is.
  m.set_faults({.faults = {Fault::nth_of(Call::mem_create, 1, ErrorCode::out_of_memory)}});
  EXPECT_THAT(buffer.grow_to(unit), is_ok());
  EXPECT_EQ(buffer.statistics().fallbacks, 1U);
  // Any other error comes back.
  m.set_faults({.faults = {Fault::each_of(Call::mem_create, ErrorCode::not_permitted)}});
  EXPECT_THAT(buffer.grow_to(unit * 2), fails_with(ErrorCode::not_permitted));
  EXPECT_EQ(buffer.statistics().fallbacks, 1U);
  must(buffer.close(Quiescence::promised()));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

}  // namespace
}  // namespace tessera::reports
