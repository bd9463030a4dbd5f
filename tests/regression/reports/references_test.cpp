// References that nobody owns: memory that never goes back.
#include "report_machine.h"
#include "tessera/owners/multicast.h"

namespace tessera::reports {
namespace {

// cuda-python 2344: everything is undone but the create reference, 64 times.
TEST(CudaPython2344, BareCallsKeepTheCreateReference) {
  ReportMachine m;
  for (int i = 0; i < 64; ++i) {
    const DeviceAddress address = m.reserve(1);
    must(m.map(address, 1, m.create(1)));
    must(m.allow(address, 1));
    must(m.unmap(address, 1));
    must(m.free(address, 1));
  }
  EXPECT_EQ(m.end(), std::vector(64, RuleId::leak_create_reference));
  EXPECT_THAT(to_string(m.driver().ledger().leak_report()),
              HasSubstr("create reference never released"));
}

TEST(CudaPython2344, OwnersReleaseWhatTheyCreated) {
  ReportMachine m;
  for (int i = 0; i < 64; ++i) {
    Mapping mapping = must(Mapping::map(must(Reservation::make(m.use(), {.size = unit})), Bytes(0),
                                        must(PhysicalAllocation::create(m.use(), {.size = unit}))));
    must(mapping.grant(AccessSet::of_device(device_0)));
    must(mapping.close(Quiescence::promised()));
  }
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// DeepEP, Mooncake: retain, unmap, free, release, with the create reference still held.
TEST(DeepEp, BareCallsReleaseTheirRetainAndNotTheirCreate) {
  ReportMachine m;
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, m.create(1)));
  const AllocationHandle retained = must(m->mem_retain_allocation_handle(address));
  must(m.unmap(address, 1));
  must(m.free(address, 1));
  must(m->mem_release(retained));
  EXPECT_EQ(m.end(), std::vector{RuleId::leak_create_reference});
  EXPECT_THAT(m.text(), HasSubstr("mem_create"));
}

TEST(DeepEp, EachOwnerGivesItsOwnReferenceBack) {
  ReportMachine m;
  {
    const Mapping mapping =
        must(Mapping::map(must(Reservation::make(m.use(), {.size = unit})), Bytes(0),
                          must(PhysicalAllocation::create(m.use(), {.size = unit}))));
    const PhysicalAllocation retained = must(PhysicalAllocation::retain(m.use(), mapping.begin()));
    EXPECT_EQ(retained.origin(), MemoryOrigin::retained);
  }
  EXPECT_EQ(m.simulator().books().allocations, 0U);
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

// pytorch 162429: memory bound to a multicast object is freed before it is unbound.
TEST(Pytorch162429, BareCallsReleaseWhatIsStillBound) {
  ReportMachine m;
  const AllocationHandle object = must(m->multicast_create({.device_count = 1, .size = unit}));
  must(m->multicast_add_device({.multicast = object, .device = device_0}));
  const AllocationHandle memory = m.create(1);
  must(m->multicast_bind_mem({.multicast = object, .memory = memory, .size = unit}));
  static_cast<void>(m->mem_release(memory));
  EXPECT_EQ(m.broken(), std::vector{RuleId::released_while_bound});
}

TEST(Pytorch162429, ABindingKeepsItsMemory) {
  ReportMachine m;
  const std::array devices = {device_0};
  MulticastObject object = must(MulticastObject::make(m.use(), {.size = unit, .devices = devices}));
  PhysicalAllocation memory = must(PhysicalAllocation::create(m.use(), {.size = object.size()}));
  MulticastBinding binding = must(MulticastBinding::bind(object, Bytes(0), memory));
  must(memory.close());
  must(object.close());
  EXPECT_EQ(m.simulator().books().allocations, 1U);
  must(binding.close(Quiescence::promised()));
  EXPECT_THAT(m.end(), IsEmpty()) << m.text();
}

}  // namespace
}  // namespace tessera::reports
