// A driver that does not say what its machine is, or less than others: rules that depend on it are
// silent.
#include <array>
#include <thread>

#include <unistd.h>

#include "rule_machine.h"
#include "support/matchers.h"
#include "support/mock_driver.h"

namespace tessera::rules {
namespace {

using test::fails_with;
using testing::Return;

constexpr Error not_said = {.code = ErrorCode::unknown};

// The simulated H200, but that it answers no question about itself.
class SilentMachine : public test::BareCalls<SilentMachine> {
 public:
  SilentMachine() {
    target_.delegate_to(simulator_);
    ON_CALL(target_, device_get_count).WillByDefault(Return(not_said));
    ON_CALL(target_, device_get_attribute).WillByDefault(Return(not_said));
    ON_CALL(target_, device_can_access_peer).WillByDefault(Return(not_said));
    ON_CALL(target_, mem_get_allocation_granularity).WillByDefault(Return(not_said));
    must(driver_.init(0));
    must(driver_.ctx_set_current(must(driver_.device_primary_ctx_retain(device_0))));
  }
  ~SilentMachine() { EXPECT_THAT(driver_.findings(), testing::IsEmpty()); }
  SilentMachine(const SilentMachine&) = delete;
  SilentMachine& operator=(const SilentMachine&) = delete;

  ValidatingDriver* operator->() noexcept { return &driver_; }
  [[nodiscard]] ValidatingDriver& driver() noexcept { return driver_; }
  [[nodiscard]] test::MockDriver& target() noexcept { return target_; }
  [[nodiscard]] static Bytes unit() { return 2_MiB; }

 private:
  sim::SimDriver simulator_{h200(), {.devices = 2}};
  testing::NiceMock<test::MockDriver> target_;
  ValidatingDriver driver_{&target_};
};

TEST(SilentMachine, HasAnyGranularity) {
  SilentMachine m;
  EXPECT_FALSE(m->mem_address_reserve({.size = Bytes(1)}));
  EXPECT_FALSE(m->mem_create({.size = Bytes(1), .properties = {}}));
  const DeviceAddress address = m.reserve(1);
  const AllocationHandle handle = m.create(1);
  must(m.map(address, 1, handle));
  must(m.allow(address, 1));
}

TEST(SilentMachine, HasAnyNumberOfDevices) {
  SilentMachine m;
  EXPECT_FALSE(m->device_total_mem(DeviceOrdinal(9)));
  EXPECT_FALSE(m->multicast_create({.device_count = 9, .size = m.units(1)}));
  const DeviceAddress address = m.mapped(1);
  EXPECT_FALSE(m.allow(address, 1, DeviceOrdinal(9)));
  must(m.allow(address, 1, device_1));
}

TEST(SilentMachine, MayCompressAndExport) {
  SilentMachine m;
  m.create(1, {.compression = Compression::generic});
  const AllocationHandle handle = m.exportable();
  ::close(must(m->mem_export_to_shareable_handle({.handle = handle})).file_descriptor);
  EXPECT_FALSE(m->mem_create(
      {.size = m.units(1), .properties = {.requested_handle_types = HandleTypes::win32}}));
}

TEST(SilentMachine, SetsAsideWhatItLikes) {
  SilentMachine m;
  EXPECT_FALSE(m->ctx_set_limit({.limit = ContextLimit::persisting_l2_cache_size, .value = 1_GiB}));
}

// A thread's context is asked for with each event and stream that is made.
TEST(SilentMachine, MayHaveAnyContext) {
  SilentMachine m;
  must(m->ctx_set_current({}));
  ON_CALL(m.target(), ctx_get_current).WillByDefault(Return(not_said));
  ON_CALL(m.target(), event_create).WillByDefault(Return(EventHandle(77)));
  ON_CALL(m.target(), event_record).WillByDefault(Return(Status()));
  const EventHandle event = must(m->event_create(EventFlags::none));
  const ContextHandle context = must(m->ctx_create({.device = device_0}));
  EXPECT_FALSE(context.is_null());
  must(m->event_record({.event = event}));
}

// Nor may it say which context a thread has that the layer has not seen: then it alone knows who
// has access, and whose an event is.
TEST(UnknownMachine, DoesNotSayWhoseTheThreadIs) {
  sim::SimDriver simulator(h200(), {.devices = 2});
  testing::NiceMock<test::MockDriver> target;
  target.delegate_to(simulator);
  ValidatingDriver driver(&target);
  must(driver.init(0));
  const ContextHandle primary = must(driver.device_primary_ctx_retain(device_0));
  must(driver.ctx_set_current(primary));
  const DeviceAddress address = must(driver.mem_address_reserve({.size = 4_MiB}));
  const AllocationHandle memory = must(driver.mem_create({.size = 2_MiB}));
  const std::array access = {AccessDescriptor{.location = {}, .flags = AccessFlags::read_write}};
  for (const DeviceAddress place : {address, address + 2_MiB}) {
    must(driver.mem_map({.address = place, .size = 2_MiB, .handle = memory}));
  }
  must(driver.mem_set_access({.address = address, .size = 2_MiB, .descriptors = access}));
  const EventHandle event = must(driver.event_create(EventFlags::none));
  ON_CALL(target, ctx_get_current).WillByDefault(Return(not_said));
  std::thread([&] {
    must(simulator.ctx_set_current(primary));
    const std::array bytes = {std::byte{1}};
    must(driver.event_record({.event = event}));
    must(driver.memcpy_htod({.destination = address, .source = bytes}));
    EXPECT_THAT(driver.findings(), testing::IsEmpty());
    EXPECT_FALSE(driver.memcpy_htod({.destination = address + 2_MiB, .source = bytes}));
  }).join();
  ASSERT_EQ(driver.findings().size(), 1U);
  EXPECT_EQ(driver.findings().front().rule, RuleId::copy_no_access);
}

// What a driver did of a call that failed is not known: the CPU may have been given access.
TEST(UnknownMachine, MayHaveGivenTheHostAccess) {
  sim::SimDriver simulator(h200());
  testing::NiceMock<test::MockDriver> target;
  target.delegate_to(simulator);
  ValidatingDriver driver(&target);
  must(driver.init(0));
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  constexpr Location on_host = {.type = LocationType::host_numa};
  const DeviceAddress address = must(driver.mem_address_reserve({.size = 2_MiB}));
  const AllocationHandle memory =
      must(driver.mem_create({.size = 2_MiB, .properties = {.location = on_host}}));
  must(driver.mem_map({.address = address, .size = 2_MiB, .handle = memory}));
  ON_CALL(target, mem_set_access).WillByDefault([&](const SetAccessRequest& request) -> Status {
    must(simulator.mem_set_access({.address = request.address,
                                   .size = request.size,
                                   .descriptors = request.descriptors.first(1)}));
    return not_said;
  });
  const std::array access = {
      AccessDescriptor{.location = on_host, .flags = AccessFlags::read_write},
      AccessDescriptor{.location = {.type = LocationType::host}, .flags = AccessFlags::read}};
  EXPECT_FALSE(driver.mem_set_access({.address = address, .size = 2_MiB, .descriptors = access}));
  const std::array bytes = {std::byte{1}};
  must(driver.memcpy_htod({.destination = address, .source = bytes}));
  EXPECT_THAT(driver.findings(), testing::IsEmpty());
}

sim::Profile without_compression() {
  sim::Profile profile = h200();
  profile.compression = false;
  profile.device_attributes[107] = 0;  // what says so
  return profile;
}

TEST(UnknownMachine, SaysThatItDoesNotCompress) {
  expect_fires(RuleId::create_compression, without_compression(), [](RuleMachine& m) {
    static_cast<void>(
        m->mem_create({.size = m.units(1), .properties = {.compression = Compression::generic}}));
  });
}

// The first driver with these calls does not know the attribute for fabric handles.
TEST(UnknownMachine, KnowsNoAttributesOfLaterOnes) {
  expect_fires(
      RuleId::create_export_types_unsupported, *sim::built_in_profile("v100_cuda102"),
      [](RuleMachine& m) {
        static_cast<void>(m->mem_create(
            {.size = m.units(1), .properties = {.requested_handle_types = HandleTypes::fabric}}));
      });
}

// What a fabric handle is of, only the driver knows, and no rule is about it.
TEST(UnknownMachine, KnowsWhatAFabricHandleIsOf) {
  RuleMachine m(with_fabric(), ValidationMode::report);
  EXPECT_FALSE(m->mem_import_from_shareable_handle({.type = HandleTypes::fabric}));
  EXPECT_THAT(m->findings(), testing::IsEmpty());
}

// An import takes memory of the device, which may be short; that is no fault of the program.
TEST(UnknownMachine, HasNoRoomForAnImport) {
  sim::SimDriver large(h200());
  must(large.init(0));
  const ShareableHandle exported = must(large.mem_export_to_shareable_handle(
      {.handle = must(large.mem_create(
           {.size = 1_GiB,
            .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}))}));
  RuleMachine m(*sim::built_in_profile("tiny"), ValidationMode::report);
  EXPECT_THAT(m->mem_import_from_shareable_handle(exported), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(m->findings(), testing::IsEmpty());
  ::close(exported.file_descriptor);
}

// Only the work that was queued last is kept: the books have an end.
TEST(Validation, ForgetsTheOldestWork) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress oldest = m.mapped(1);
  const std::array<DeviceAddress, 2> others = {m.mapped(1), m.mapped(1)};
  const auto touch = [&](DeviceAddress address) {
    must(m->launch_touch({.address = address, .touch = Touch::read, .duration_ns = 0}));
  };
  touch(oldest);
  for (std::size_t i = 0; i < std::size_t{1} << 14U; ++i) {
    touch(others[i % 2]);
  }
  must(m.unmap(oldest, 1));
  EXPECT_EQ(m->finding_count(), 0U);
  must(m.unmap(others[0], 1));
  EXPECT_EQ(m->finding_count(), 1U);
}

}  // namespace
}  // namespace tessera::rules
