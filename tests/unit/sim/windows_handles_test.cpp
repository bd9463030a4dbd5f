#include <gtest/gtest.h>

#include "support/matchers.h"
#include "tessera/sim/profile.h"
#include "tessera/sim/sim_driver.h"

namespace tessera::sim {
namespace {

using test::fails_with;
using test::is_ok;

// Makes memory that a Windows handle of `type` exports, and releases it.
ShareableHandle export_and_release(SimDriver& driver, HandleTypes type) {
  const AllocationProperties properties = {.requested_handle_types = type};
  const Bytes size = driver.mem_get_allocation_granularity({.properties = properties}).value();
  const auto handle = driver.mem_create({.size = size, .properties = properties}).value();
  const auto exported =
      driver.mem_export_to_shareable_handle({.handle = handle, .type = type}).value();
  EXPECT_THAT(driver.mem_release(handle), is_ok());
  return exported;
}

// The books once forgot that such a handle holds memory.
TEST(WindowsHandle, KeepsMemoryUntilItIsClosed) {
  SimDriver driver(*built_in_profile("wddm"));
  ASSERT_THAT(driver.init(0), is_ok());
  const ShareableHandle exported = export_and_release(driver, HandleTypes::win32);
  EXPECT_EQ(driver.check_invariants(), "");
  const auto imported = driver.mem_import_from_shareable_handle(exported);
  ASSERT_THAT(imported, is_ok());
  EXPECT_THAT(driver.close_win32_handle(exported.win32), is_ok());
  EXPECT_EQ(driver.check_invariants(), "");
  EXPECT_THAT(driver.mem_release(*imported), is_ok());
  EXPECT_THAT(driver.close_win32_handle(exported.win32), fails_with(ErrorCode::invalid_handle));
  EXPECT_EQ(driver.check_invariants(), "");
}

TEST(WindowsHandle, OfTheKernelKindKeepsNothing) {
  SimDriver driver(*built_in_profile("wddm"));
  ASSERT_THAT(driver.init(0), is_ok());
  const ShareableHandle exported = export_and_release(driver, HandleTypes::win32_kmt);
  EXPECT_EQ(driver.check_invariants(), "");
  EXPECT_THAT(driver.mem_import_from_shareable_handle(exported),
              fails_with(ErrorCode::invalid_value));
  EXPECT_THAT(driver.close_win32_handle(exported.win32), is_ok());
  EXPECT_EQ(driver.check_invariants(), "");
}

}  // namespace
}  // namespace tessera::sim
