#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/forwarding.h"
#include "support/matchers.h"
#include "support/mock_driver.h"
#include "tessera/driver.h"

namespace tessera {
namespace {

using test::check_every_method;
using test::MockDriver;
using testing::StrictMock;

// A method that calls.def lacks does not compile (mock_driver.h), so no method is left out here;
// one that the wrapper lacks leaves it abstract.
TEST(DriverWrapper, ForwardsEachCallOnceUnchanged) {
  StrictMock<MockDriver> target;
  DriverWrapper wrapper(&target);
  check_every_method(target, wrapper);
}

TEST(DriverWrapper, TellsItsTarget) {
  testing::NiceMock<MockDriver> driver;
  const DriverWrapper wrapper(&driver);
  EXPECT_EQ(&wrapper.target(), &driver);
}

TEST(DriverWrapper, CanBeWrapped) {
  StrictMock<MockDriver> driver;
  DriverWrapper inner(&driver);
  DriverWrapper outer(&inner);
  EXPECT_CALL(driver, mem_alloc(Bytes(5))).WillOnce(testing::Return(DeviceAddress(7)));
  EXPECT_THAT(outer.mem_alloc(Bytes(5)), test::is_ok_and_holds(DeviceAddress(7)));
}

TEST(DriverWrapper, LetsALayerOverrideOneCall) {
  class Refusing final : public DriverWrapper {
   public:
    using DriverWrapper::DriverWrapper;
    Result<DeviceAddress> mem_alloc(Bytes /*size*/) override {
      return Error{.code = ErrorCode::out_of_memory};
    }
  };
  StrictMock<MockDriver> driver;
  Refusing layer(&driver);
  EXPECT_CALL(driver, mem_free(DeviceAddress(3))).WillOnce(testing::Return(Status()));
  EXPECT_THAT(layer.mem_alloc(Bytes(5)), test::fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(layer.mem_free(DeviceAddress(3)), test::is_ok());
}

TEST(MockDriver, AnswersNotSupportedUnlessToldOtherwise) {
  testing::NiceMock<MockDriver> driver;
  const auto answer = driver.mem_address_reserve({.size = Bytes(5)});
  ASSERT_THAT(answer, test::fails_with(ErrorCode::not_supported));
  EXPECT_EQ(answer.error().call, Call::mem_address_reserve);
  EXPECT_THAT(driver.ctx_synchronize(), test::fails_with(ErrorCode::not_supported));
}

TEST(MockDriver, DelegatesEachCallOnceUnchanged) {
  StrictMock<MockDriver> target;
  testing::NiceMock<MockDriver> driver;
  driver.delegate_to(target);
  check_every_method(target, driver);
}

}  // namespace
}  // namespace tessera
