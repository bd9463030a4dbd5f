// The layer that only keeps books, over the simulator.
#include "tessera/layers/ledger_driver.h"

#include <unistd.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

class LedgerOverSim : public testing::Test {
 protected:
  LedgerOverSim() : simulator_(profile_named("h200")), driver_(&simulator_) {
    must(driver_.init(0));
  }
  std::string left() { return to_string(driver_.ledger().leak_report()); }
  AllocationHandle create() {
    return must(driver_.mem_create(
        {.size = 2_MiB,
         .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
  }
  DeviceAddress mapped(AllocationHandle handle) {
    const DeviceAddress address = must(driver_.mem_address_reserve({.size = 2_MiB}));
    must(driver_.mem_map({.address = address, .size = 2_MiB, .handle = handle}));
    return address;
  }
  void undo(DeviceAddress address) {
    must(driver_.mem_unmap({.address = address, .size = 2_MiB}));
    must(driver_.mem_address_free({.address = address, .size = 2_MiB}));
  }

  SimDriver simulator_;
  LedgerDriver driver_;
};

TEST_F(LedgerOverSim, FindsTheCreateReferenceThatARetainLeaves) {
  const DeviceAddress address = mapped(create());
  const AllocationHandle retained = must(driver_.mem_retain_allocation_handle(address));
  undo(address);
  must(driver_.mem_release(retained));
  EXPECT_THAT(left(), testing::HasSubstr("create reference never released"));
}

TEST_F(LedgerOverSim, CountsADescriptorUntilItIsClosed) {
  const AllocationHandle handle = create();
  const ShareableHandle exported = must(driver_.mem_export_to_shareable_handle({.handle = handle}));
  must(driver_.mem_release(handle));
  EXPECT_THAT(left(), testing::HasSubstr("exported and still open"));
  ::close(exported.file_descriptor);
  EXPECT_EQ(left(), "nothing is left");
}

// The number of a descriptor says little: another file has it now.
TEST_F(LedgerOverSim, TellsADescriptorFromAnotherFileOfItsNumber) {
  const AllocationHandle handle = create();
  const ShareableHandle exported = must(driver_.mem_export_to_shareable_handle({.handle = handle}));
  must(driver_.mem_release(handle));
  ASSERT_EQ(::dup2(STDIN_FILENO, exported.file_descriptor), exported.file_descriptor);
  EXPECT_EQ(left(), "nothing is left");
  ::close(exported.file_descriptor);
}

TEST_F(LedgerOverSim, KnowsAnImportForTheMemoryThatWasExported) {
  const AllocationHandle handle = create();
  const ShareableHandle exported = must(driver_.mem_export_to_shareable_handle({.handle = handle}));
  const AllocationHandle imported = must(driver_.mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  {
    const Ledger::Locked objects = driver_.ledger().lock();
    EXPECT_EQ(objects->memory_of(imported), objects->memory_of(handle));
  }
  must(driver_.mem_release(handle));
  EXPECT_THAT(left(), testing::HasSubstr("import reference never released"));
  must(driver_.mem_release(imported));
  EXPECT_EQ(left(), "nothing is left");
}

TEST_F(LedgerOverSim, KeepsNoBookOfCallsThatFailed) {
  EXPECT_FALSE(driver_.mem_create({.size = 1_MiB, .properties = {}}));
  EXPECT_FALSE(driver_.mem_free(DeviceAddress(0x1000)));
  EXPECT_EQ(left(), "nothing is left");
}

TEST_F(LedgerOverSim, ForgetsWhatAContextTakesWithIt) {
  must(driver_.ctx_set_current(must(driver_.device_primary_ctx_retain(device_0))));
  must(driver_.mem_alloc(16_B));
  must(driver_.stream_create(StreamFlags::blocking));
  must(driver_.event_create(EventFlags::none));
  must(driver_.device_primary_ctx_release(device_0));
  EXPECT_EQ(left(), "nothing is left");
}

}  // namespace
}  // namespace tessera::sim
