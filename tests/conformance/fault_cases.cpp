// What a fault loses, and what it does not. A process that had one makes no context any more, so
// each case runs in a process of its own where the machine is a real one.
#include "conformance/every_call.h"
#include "conformance/suite.h"

namespace tessera::conformance {
namespace {

class Faults : public Conformance {
 protected:
  [[nodiscard]] bool may_be_lost() const override { return true; }

  void expect_lost() {
    EXPECT_THAT(driver().ctx_synchronize(), fails_with(ErrorCode::illegal_address));
    EXPECT_THAT(driver().ctx_synchronize(), fails_with(ErrorCode::illegal_address));
  }
};

TEST_P(Faults, AReadWhereNothingIsMapped) {
  isolated([this] {
    const Reservation range(driver(), unit());
    EXPECT_THAT(driver().launch_touch({.address = range.begin(), .touch = Touch::read}), is_ok());
    expect_lost();
  });
}

TEST_P(Faults, AWriteWithoutAccess) {
  isolated([this] {
    Reservation range(driver(), unit());
    const Memory memory(driver(), unit());
    range.map(range.begin(), unit(), memory.handle());
    EXPECT_THAT(launch_write(range.begin(), 1), is_ok());
    expect_lost();
  });
}

TEST_P(Faults, AWriteWhereOnlyReadingIsAllowed) {
  isolated([this] {
    Reservation range(driver(), unit());
    const Memory memory(driver(), unit());
    range.map(range.begin(), unit(), memory.handle());
    ASSERT_THAT(set_access(range.begin(), unit(), AccessFlags::read), is_ok());
    EXPECT_THAT(launch_write(range.begin(), 1), is_ok());
    expect_lost();
  });
}

TEST_P(Faults, ACopyWithoutAccess) {
  isolated([this] {
    Reservation range(driver(), unit());
    const Memory memory(driver(), unit());
    range.map(range.begin(), unit(), memory.handle());
    if (features().copies_check_access) {
      // Refused, which is no fault.
      EXPECT_THAT(put(range.begin(), 1), fails_with(ErrorCode::invalid_value));
      EXPECT_THAT(driver().ctx_synchronize(), is_ok());
    } else {
      EXPECT_THAT(put(range.begin(), 1), fails_with(ErrorCode::illegal_address));
      expect_lost();
    }
  });
}

TEST_P(Faults, UnmappingWhatAKernelUses) {
  isolated([this] {
    Reservation range(driver(), unit());
    const Memory memory(driver(), unit());
    const Memory other(driver(), unit());
    range.map(range.begin(), unit(), memory.handle());
    ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
    EXPECT_THAT(launch_write(range.begin(), 1, {}, long_ns), is_ok());
    EXPECT_THAT(range.unmap(range.begin(), unit()), is_ok());
    expect_lost();
  });
}

TEST_P(Faults, TakingAccessFromAKernel) {
  isolated([this] {
    Reservation range(driver(), unit());
    const Memory memory(driver(), unit());
    range.map(range.begin(), unit(), memory.handle());
    ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
    EXPECT_THAT(launch_write(range.begin(), 1, {}, long_ns), is_ok());
    EXPECT_THAT(set_access(range.begin(), unit(), AccessFlags::none), is_ok());
    expect_lost();
  });
}

TEST_P(Faults, LoseTheContext) {
  isolated([this] {
    const Reservation range(driver(), unit());
    EXPECT_THAT(launch_write(range.begin(), 1), is_ok());
    expect_lost();
    EXPECT_THAT(calls_that_differ(driver(), Need::context, ErrorCode::illegal_address),
                testing::IsEmpty());
  });
}

TEST_P(Faults, LoseNoVirtualMemory) {
  isolated([this] {
    Reservation range(driver(), unit() * 2);
    const Memory before(driver(), unit());
    range.map(range.begin(), unit(), before.handle());
    ASSERT_THAT(set_access(range.begin(), unit()), is_ok());
    EXPECT_THAT(launch_write(range.begin() + unit(), 1), is_ok());
    expect_lost();
    const Reservation other(driver(), unit());
    const Memory after(driver(), unit());
    range.map(range.begin() + unit(), unit(), after.handle());
    EXPECT_THAT(set_access(range.begin() + unit(), unit()), is_ok());
    EXPECT_THAT(access(range.begin()), is_ok_and_holds(AccessFlags::read_write));
    EXPECT_THAT(driver().mem_get_allocation_granularity({.properties = {}}), is_ok());
    EXPECT_THAT(range.unmap(range.begin(), unit()), is_ok());
  });
}

TEST_P(Faults, LoseTheOtherContexts) {
  isolated([this] {
    const DeviceAddress memory = must(driver().mem_alloc(Bytes(4096)));
    const ContextHandle other = must(driver().ctx_create({.device = first_device}));
    const Reservation range(driver(), unit());
    EXPECT_THAT(launch_write(range.begin(), 1), is_ok());
    expect_lost();
    EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
    EXPECT_THAT(put(memory, 1), fails_with(ErrorCode::illegal_address));
    expect_lost();
    EXPECT_THAT(driver().ctx_destroy(other), is_ok());
  });
}

TEST_P(Faults, AreNotMended) {
  isolated([this] {
    const ContextHandle created = must(driver().ctx_create({.device = first_device}));
    const Reservation range(driver(), unit());
    EXPECT_THAT(launch_write(range.begin(), 1), is_ok());
    expect_lost();
    EXPECT_THAT(driver().ctx_create({.device = first_device}),
                fails_with(ErrorCode::illegal_address));
    EXPECT_THAT(driver().ctx_destroy(created), is_ok());
    // There is one, so this gives it out.
    EXPECT_THAT(driver().device_primary_ctx_retain(first_device), is_ok_and_holds(primary()));
    EXPECT_THAT(driver().device_primary_ctx_release(first_device), is_ok());
    EXPECT_THAT(driver().device_primary_ctx_reset(first_device), is_ok());
    EXPECT_THAT(driver().device_primary_ctx_retain(first_device),
                fails_with(ErrorCode::illegal_address));
    EXPECT_THAT(driver().mem_alloc(Bytes(4096)), fails_with(ErrorCode::context_is_destroyed));
    EXPECT_THAT(driver().ctx_set_current({}), is_ok());
    EXPECT_THAT(driver().mem_get_info(), fails_with(ErrorCode::invalid_context));
    EXPECT_THAT(driver().init(0), is_ok());
  });
}

class FaultsOfTwoDevices : public Faults {
 protected:
  [[nodiscard]] std::int32_t devices_needed() const override { return 2; }
};

TEST_P(FaultsOfTwoDevices, LoseBothOnes) {
  isolated([this] {
    const ContextHandle other = must(driver().device_primary_ctx_retain(second_device));
    const Reservation range(driver(), unit());
    EXPECT_THAT(launch_write(range.begin(), 1), is_ok());
    expect_lost();
    EXPECT_THAT(driver().ctx_set_current(other), is_ok());
    expect_lost();
    EXPECT_THAT(driver().mem_alloc(Bytes(4096)), fails_with(ErrorCode::illegal_address));
    EXPECT_THAT(driver().ctx_set_current(primary()), is_ok());
    EXPECT_THAT(driver().device_primary_ctx_release(second_device), is_ok());
  });
}

INSTANTIATE_TEST_SUITE_P(All, FaultsOfTwoDevices, testing::ValuesIn(backends_of_books()), name_of);
INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(backends_of_books()), name_of);

}  // namespace
}  // namespace tessera::conformance
