#include "tessera/owners/physical_allocation.h"

#include <unistd.h>

#include "owners_machine.h"

namespace tessera {
namespace {

TEST(PhysicalAllocation, RoundsItsSizeUpAndKeepsIt) {
  OwnersMachine machine;
  // Drivers refuse 6912 bytes with invalid_value and no more.
  const PhysicalAllocation memory =
      must(PhysicalAllocation::create(machine.use(), {.size = Bytes(6912)}));
  EXPECT_EQ(memory.size(), 2_MiB);
  EXPECT_EQ(memory.origin(), MemoryOrigin::created);
  EXPECT_EQ(memory.mapping_count(), 0U);
}

TEST(PhysicalAllocation, NamesSizeAndGranularityWhenTheDriverSaysNothing) {
  OwnersMachine machine;
  // A number and no reason, as a real driver answers.
  class SaysNothing final : public DriverWrapper {
   public:
    using DriverWrapper::DriverWrapper;
    Result<AllocationHandle> mem_create(const CreateRequest& /*request*/) override {
      return Error{
          .code = ErrorCode::out_of_memory, .call = Call::mem_create, .origin = Origin::injected};
    }
  };
  SaysNothing layer(&machine.driver());
  const auto refused = PhysicalAllocation::create(machine.use(layer), {.size = 3_MiB});
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  const std::string text = to_string(refused.error());
  EXPECT_NE(text.find("4 MiB (4194304) of memory could not be made"), std::string::npos) << text;
  EXPECT_NE(text.find("multiples of 2 MiB"), std::string::npos) << text;
}

TEST(PhysicalAllocation, LivesAsLongAsAMappingOfIt) {
  OwnersMachine machine;
  PhysicalAllocation memory = machine.create(1);
  Mapping mapping = must(Mapping::map(machine.reserve(1), Bytes(0), memory));
  EXPECT_EQ(memory.mapping_count(), 1U);
  EXPECT_THAT(memory.close(), is_ok());
  EXPECT_EQ(machine.books().handles, 1U);
  EXPECT_THAT(mapping.close(Quiescence::promised()), is_ok());
  EXPECT_EQ(machine.books().allocations, 0U);
}

TEST(PhysicalAllocation, CanBeRetainedFromAnAddress) {
  OwnersMachine machine;
  const Mapping mapping = machine.mapped(3);
  const PhysicalAllocation again =
      must(PhysicalAllocation::retain(machine.use(), mapping.begin() + machine.unit()));
  EXPECT_EQ(again.size(), machine.unit() * 3);
  EXPECT_EQ(again.origin(), MemoryOrigin::retained);
  EXPECT_EQ(again.asked().location, on_device(device_0));
}

TEST(PhysicalAllocation, IsNotRetainedWhereNothingIsMapped) {
  OwnersMachine machine;
  const Reservation reservation = machine.reserve(1);
  EXPECT_THAT(PhysicalAllocation::retain(machine.use(), reservation.base()),
              fails_with(ErrorCode::invalid_value));
}

TEST(PhysicalAllocation, IsImportedWithTheSizeThatTravelled) {
  OwnersMachine machine;
  const PhysicalAllocation memory = must(PhysicalAllocation::create(
      machine.use(), {.size = 5_MiB, .memory = {.exports = HandleTypes::posix_file_descriptor}}));
  const ShareableHandle shareable = must(memory.export_to(HandleTypes::posix_file_descriptor));
  {
    const PhysicalAllocation imported =
        must(PhysicalAllocation::import(machine.use(), shareable, memory.size()));
    EXPECT_EQ(imported.size(), 6_MiB);
    EXPECT_EQ(imported.origin(), MemoryOrigin::imported);
    EXPECT_THAT(PhysicalAllocation::import(machine.use(), shareable, Bytes(0)),
                fails_with(ErrorCode::invalid_value));
  }
  EXPECT_EQ(::close(shareable.file_descriptor), 0);
}

TEST(PhysicalAllocation, SaysWhatWasAskedAndWhatWasGranted) {
  OwnersMachine machine;
  const PhysicalAllocation memory = must(PhysicalAllocation::create(
      machine.use(), {.size = machine.unit(), .memory = {.location = on_host()}}));
  const auto differences = compare_properties(memory.asked(), must(memory.granted()));
  ASSERT_EQ(differences.size(), 1U);  // host reads back as host NUMA [h200]
  EXPECT_EQ(to_string(differences), "location type: 2 asked, 3 got\n");
}

TEST(PhysicalAllocation, IsRefusedWhereTheMachineLacksTheExportType) {
  OwnersMachine machine;
  const auto make = [&](HandleTypes type) {
    return PhysicalAllocation::create(machine.use(),
                                      {.size = machine.unit(), .memory = {.exports = type}});
  };
  EXPECT_THAT(make(HandleTypes::fabric), fails_with(ErrorCode::not_permitted));
  EXPECT_FALSE(make(HandleTypes::win32));
}

TEST(PhysicalAllocation, TellsTheSinkWhatItsDestructorCouldNotGiveBack) {
  OwnersMachine machine;
  FaultInjectingDriver layer =
      failing_once(machine.driver(), Call::mem_release, ErrorCode::invalid_value);
  {
    const PhysicalAllocation memory =
        must(PhysicalAllocation::create(machine.use(layer), {.size = machine.unit()}));
  }
  ASSERT_EQ(machine.sink().failures().size(), 1U);
  EXPECT_THAT(machine.sink().retry_all(), is_ok());
}

TEST(PhysicalAllocation, RefusesSizesThatNoneHas) {
  OwnersMachine machine;
  for (const Bytes size : {Bytes(0), Bytes(~std::uint64_t{0})}) {
    EXPECT_THAT(PhysicalAllocation::create(machine.use(), {.size = size}),
                fails_with(ErrorCode::invalid_value));
  }
}

}  // namespace
}  // namespace tessera
