// What the runner keeps between operations, and what it says of each.
#include "tessera/testing/program_runner.h"

#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include "tessera/sim/sim_driver.h"
#include "unit/core/program_ops.h"

namespace tessera::testing {
namespace {

constexpr Bytes unit = 2_MiB;
constexpr std::uint64_t no_descriptor = ~std::uint64_t{0};
constexpr std::uint8_t rw = 3;
constexpr std::uint8_t on_a_device = 1;

constexpr Place at(SlotKind base, std::uint8_t slot, std::int8_t granule = 0,
                   std::int8_t byte = 0) {
  return {.base = base, .slot = slot, .granules = granule, .bytes = byte};
}
constexpr Place pointer(std::uint8_t slot) { return at(SlotKind::pointer, slot); }

class ProgramRun : public ::testing::Test {
 protected:
  ProgramRun() { EXPECT_TRUE(runner_.begin().has_value()); }

  Outcome run(const Op& op) { return runner_.run(op); }
  std::uint64_t ok(const Op& op) {
    const Outcome outcome = run(op);
    EXPECT_TRUE(outcome.is_ok()) << name_of(op.kind) << ": " << code_name(outcome.code);
    return outcome.value;
  }
  // Reservation 0 of two granules; handle 0, which may be exported, mapped at the first.
  void map_one() {
    ok({.kind = OpKind::reserve, .size = granules(2)});
    ok({.kind = OpKind::create, .size = granules(1), .choice = on_a_device, .value = 1});
    ok({.kind = OpKind::map, .object = 0, .place = reservation(0), .size = granules(1)});
    ok({.kind = OpKind::set_access,
        .place = reservation(0),
        .size = granules(1),
        .choice = on_a_device,
        .value = rw});
  }
  static bool is_open(std::uint64_t descriptor) {
    return ::fcntl(static_cast<int>(descriptor), F_GETFD) != -1;
  }

  sim::SimDriver driver_{*sim::built_in_profile("h200"), {.devices = 2}};
  ProgramRunner runner_{driver_, unit};
};

TEST_F(ProgramRun, KeepsWhatCallsGaveInTheirSlots) {
  const std::uint64_t address = ok({.kind = OpKind::reserve, .result = 3, .size = granules(1)});
  EXPECT_NE(address, 0U);
  EXPECT_EQ(runner_.value_of(SlotKind::reservation, 3), address);
  EXPECT_EQ(runner_.value_of(SlotKind::reservation, 4), 0U);
  EXPECT_EQ(runner_.value_of(SlotKind::reservation, no_slot), 0U);
  EXPECT_EQ(runner_.value_of(SlotKind::none, 3), 0U);
  EXPECT_FALSE(run({.kind = OpKind::reserve, .result = 3}).is_ok());
  EXPECT_EQ(runner_.value_of(SlotKind::reservation, 3), 0U) << "a call that failed gives null";
  EXPECT_EQ(runner_.value_of(SlotKind::descriptor, 3), no_descriptor) << "0 would be an open one";
  EXPECT_FALSE(run({.kind = OpKind::export_fd, .result = 3, .object = 0, .value = 1}).is_ok());
  EXPECT_EQ(runner_.value_of(SlotKind::descriptor, 3), no_descriptor);
}

TEST_F(ProgramRun, BeginsAndForgetsWithEmptySlots) {
  map_one();
  const std::uint64_t host = ok({.kind = OpKind::host_alloc, .size = granules(1)});
  const std::uint64_t descriptor = ok({.kind = OpKind::export_fd, .object = 0, .value = 1});
  ok({.kind = OpKind::ctx_retain, .device = 1});
  EXPECT_TRUE(is_open(descriptor));
  EXPECT_TRUE(runner_.is_host_memory(host));
  const std::uint64_t home = runner_.primary(0);
  EXPECT_NE(runner_.primary(1), 0U);
  runner_.forget();
  EXPECT_FALSE(is_open(descriptor));
  EXPECT_FALSE(runner_.is_host_memory(host));
  EXPECT_EQ(runner_.value_of(SlotKind::reservation, 0), 0U);
  EXPECT_EQ(runner_.value_of(SlotKind::descriptor, 0), no_descriptor);
  EXPECT_EQ(runner_.primary(1), 0U);
  EXPECT_EQ(runner_.primary(0), home) << "that one stays";
  ok({.kind = OpKind::create, .size = granules(1), .choice = on_a_device, .value = 1});
  const std::uint64_t other = ok({.kind = OpKind::export_fd, .object = 0, .value = 1});
  ok({.kind = OpKind::host_alloc, .size = granules(1)});
  ok({.kind = OpKind::ctx_retain, .device = 1});
  EXPECT_TRUE(runner_.begin().has_value());
  EXPECT_FALSE(is_open(other));
  EXPECT_EQ(runner_.value_of(SlotKind::pointer, 0), 0U);
  EXPECT_EQ(runner_.value_of(SlotKind::descriptor, 0), no_descriptor);
  EXPECT_EQ(runner_.primary(1), 0U);
  EXPECT_EQ(runner_.primary(0), home);
}

TEST_F(ProgramRun, ClosesDescriptorsOnce) {
  ok({.kind = OpKind::create, .size = granules(1), .choice = on_a_device, .value = 1});
  const std::uint64_t first = ok({.kind = OpKind::export_fd, .object = 0, .value = 1});
  EXPECT_EQ(ok({.kind = OpKind::close_fd, .object = 0}), 1U);
  EXPECT_FALSE(is_open(first));
  EXPECT_EQ(ok({.kind = OpKind::close_fd, .object = 0}), 0U);
  EXPECT_EQ(runner_.value_of(SlotKind::descriptor, 0), no_descriptor);
  std::uint64_t last = 0;
  {
    ProgramRunner other(driver_, unit);
    EXPECT_TRUE(other.begin().has_value());
    other.run({.kind = OpKind::create, .size = granules(1), .choice = on_a_device, .value = 1});
    last = other.run({.kind = OpKind::export_fd, .object = 0, .value = 1}).value;
    EXPECT_TRUE(is_open(last));
  }
  EXPECT_FALSE(is_open(last));
}

TEST_F(ProgramRun, WorksOperandsOut) {
  const std::uint64_t address = ok({.kind = OpKind::reserve, .size = granules(2)});
  const auto place = [&](const Place& of) {
    return runner_.evaluate({.kind = OpKind::unmap, .place = of}).address;
  };
  EXPECT_EQ(place(reservation(0)), address);
  EXPECT_EQ(place(reservation(0, 1, -3)), address + unit.value() - 3);
  EXPECT_EQ(place(at(SlotKind::none, 0, -1)), std::uint64_t{0} - unit.value());
  const auto size = [&](SizeUnit of, std::int16_t count, std::int8_t bytes) {
    return runner_
        .evaluate({.kind = OpKind::unmap, .size = {.unit = of, .bytes = bytes, .count = count}})
        .size;
  };
  EXPECT_EQ(size(SizeUnit::bytes, 7, 2), 9U);
  EXPECT_EQ(size(SizeUnit::kibibytes, 7, 2), 7U * 1024U + 2U);
  EXPECT_EQ(size(SizeUnit::granules, 3, -1), 3U * unit.value() - 1U);
  EXPECT_EQ(size(SizeUnit::tebibytes, 2, 0), std::uint64_t{2} << 40U);
  EXPECT_EQ(size(SizeUnit::bytes, -1, 0), ~std::uint64_t{0});
  const Arguments unused = runner_.evaluate({.kind = OpKind::ctx_sync, .size = granules(1)});
  EXPECT_EQ(unused.size, 0U);
  EXPECT_EQ(duration_of({.extra = 3}), 30'000U);
}

TEST_F(ProgramRun, TakesAPrimaryContextWhereNoSlotIsNamed) {
  const std::uint64_t second = ok({.kind = OpKind::ctx_retain, .device = 1});
  EXPECT_EQ(runner_.primary(1), second);
  EXPECT_EQ(runner_.primary(-1), 0U);
  EXPECT_EQ(runner_.primary(8), 0U);
  EXPECT_EQ(driver_.pointer_get_attribute({}).error().code, ErrorCode::invalid_value);
  ok({.kind = OpKind::ctx_set});
  EXPECT_EQ(runner_.arguments().object, runner_.primary(0));
  ok({.kind = OpKind::ctx_set, .device = 1});
  EXPECT_EQ(runner_.arguments().object, second);
  const std::uint64_t made = ok({.kind = OpKind::ctx_create, .result = 2});
  ok({.kind = OpKind::ctx_destroy, .object = 2});
  EXPECT_EQ(runner_.arguments().object, made);
}

TEST_F(ProgramRun, FreesMemoryOfTheHostAsSuch) {
  ok({.kind = OpKind::host_alloc, .result = 0, .size = granules(1)});
  ok({.kind = OpKind::alloc, .result = 1, .size = granules(1)});
  EXPECT_EQ(driver_.books().legacy_allocations, 2U);
  ok({.kind = OpKind::free, .place = pointer(0)});
  EXPECT_EQ(runner_.arguments().other, 1U);
  EXPECT_FALSE(runner_.is_host_memory(runner_.value_of(SlotKind::pointer, 0)));
  ok({.kind = OpKind::free, .place = pointer(1)});
  EXPECT_EQ(runner_.arguments().other, 0U);
  EXPECT_EQ(driver_.books().legacy_allocations, 0U);
}

TEST_F(ProgramRun, SetsAccessOfASecondDeviceToo) {
  map_one();
  ok({.kind = OpKind::set_access,
      .other = 0x11,
      .place = reservation(0),
      .size = granules(1),
      .choice = on_a_device,
      .value = rw});
  const auto access = [&](std::int8_t device) {
    return ok({.kind = OpKind::get_access,
               .place = reservation(0),
               .device = device,
               .choice = on_a_device});
  };
  EXPECT_EQ(access(0), rw);
  EXPECT_EQ(access(1), 1U);
}

TEST_F(ProgramRun, SaysWhatMemoryHolds) {
  map_one();
  const auto expect = [&](std::uint8_t value, std::int8_t byte = 0) {
    return run({.kind = OpKind::expect,
                .place = reservation(0, 0, byte),
                .size = plain_bytes(8),
                .value = value});
  };
  ok({.kind = OpKind::htod, .place = reservation(0), .size = plain_bytes(8), .value = 5});
  EXPECT_EQ(expect(5).value, 1U);
  EXPECT_EQ(expect(6).value, 0U);
  EXPECT_EQ(expect(5).second, expect(6).second) << "the bytes are the same";
  EXPECT_EQ(expect(5, 1).value, 0U);
  EXPECT_NE(expect(5).second, expect(5, 1).second);
  ok({.kind = OpKind::memset, .place = reservation(0), .size = plain_bytes(8), .value = 6});
  EXPECT_EQ(expect(6).value, 1U);
  ok({.kind = OpKind::dtod,
      .place = reservation(0, 0, 16),
      .source = reservation(0),
      .size = plain_bytes(8)});
  EXPECT_EQ(expect(6, 16).value, 1U);
  EXPECT_FALSE(
      run({.kind = OpKind::expect, .place = reservation(0, 1), .size = plain_bytes(8)}).is_ok());
}

// What is only queued is not waited for.
TEST_F(ProgramRun, WaitsForFillsAndCopiesThatAreNotQueued) {
  map_one();
  ok({.kind = OpKind::stream_create, .result = 1, .choice = 1});
  ok({.kind = OpKind::event_create, .result = 2});
  for (const OpKind kind : {OpKind::memset, OpKind::dtod}) {
    ok({.kind = OpKind::launch,
        .other = 1,
        .place = reservation(0),
        .extra = plain_bytes(1000),
        .choice = 1,
        .value = 9});
    ok({.kind = OpKind::event_record, .object = 2, .other = 1});
    const Op queued = {.kind = kind,
                       .other = 1,
                       .place = reservation(0),
                       .source = reservation(0, 0, 64),
                       .size = plain_bytes(8),
                       .flags = 1};
    ok(queued);
    EXPECT_EQ(run({.kind = OpKind::event_query, .object = 2}).code, ErrorCode::not_ready);
    Op waited = queued;
    waited.flags = 0;
    waited.other = no_slot;
    ok(waited);
    EXPECT_TRUE(run({.kind = OpKind::event_query, .object = 2}).is_ok());
  }
  // In the stream that it names: all of it waits for the event there.
  ok({.kind = OpKind::launch, .other = 1, .place = reservation(0), .extra = plain_bytes(1000)});
  ok({.kind = OpKind::event_record, .object = 2, .other = 1});
  ok({.kind = OpKind::stream_create, .result = 3, .choice = 1});
  ok({.kind = OpKind::stream_wait, .object = 3, .other = 2});
  ok({.kind = OpKind::stream_sync, .object = 3});
  EXPECT_TRUE(run({.kind = OpKind::event_query, .object = 2}).is_ok());
  ok({.kind = OpKind::event_sync, .object = 2});
  ok({.kind = OpKind::event_destroy, .object = 2});
  ok({.kind = OpKind::stream_destroy, .object = 3});
  EXPECT_FALSE(run({.kind = OpKind::stream_sync, .object = 3}).is_ok());
}

TEST_F(ProgramRun, AnswersTwoValuesWhereACallGivesTwo) {
  const Outcome pitched = run(
      {.kind = OpKind::alloc_pitch, .size = plain_bytes(100), .extra = plain_bytes(3), .value = 4});
  EXPECT_TRUE(pitched.is_ok());
  EXPECT_GE(pitched.second, 100U);
  const Outcome range = run({.kind = OpKind::address_range, .place = pointer(0)});
  EXPECT_EQ(range.value, pitched.value);
  EXPECT_GE(range.second, pitched.second * 3);
  const Outcome memory = run({.kind = OpKind::mem_info});
  EXPECT_GT(memory.value, 0U);
  EXPECT_GT(memory.second, memory.value);
  map_one();
  const Outcome properties = run({.kind = OpKind::properties, .object = 0});
  EXPECT_EQ(properties, outcome_of(AllocationProperties{.requested_handle_types =
                                                            HandleTypes::posix_file_descriptor}));
}

// Each property has bits of its own.
TEST_F(ProgramRun, PacksPropertiesApart) {
  const Outcome plain = outcome_of(AllocationProperties{});
  const auto differs = [&](const AllocationProperties& properties) {
    EXPECT_NE(outcome_of(properties), plain);
  };
  differs({.type = AllocationType::managed});
  differs({.requested_handle_types = HandleTypes::fabric});
  differs({.location = on_device(DeviceOrdinal(1))});
  differs({.location = {.type = LocationType::host}});
  differs({.compression = Compression::generic});
  differs({.gpu_direct_rdma_capable = 1});
  differs({.usage = 1});
}

TEST_F(ProgramRun, AsksForWhatTheBitsOfCreateSay) {
  const auto asked = [](std::uint8_t bits) {
    return properties_of({.kind = OpKind::create, .other = bits, .device = 1, .choice = 1});
  };
  const AllocationProperties plain = asked(no_slot);
  EXPECT_EQ(plain, (AllocationProperties{.location = on_device(DeviceOrdinal(1))}));
  EXPECT_EQ(asked(0), plain);
  EXPECT_EQ(asked(create_managed_type).type, AllocationType::managed);
  EXPECT_EQ(asked(create_compressed).compression, Compression::generic);
  EXPECT_EQ(asked(create_rdma).gpu_direct_rdma_capable, 1);
  EXPECT_EQ(asked(create_tile_pool).usage, 1);
}

TEST_F(ProgramRun, CanUseMulticast) {
  ok({.kind = OpKind::mc_create, .result = 0, .size = granules(1), .device = 2});
  ok({.kind = OpKind::mc_add, .object = 0, .device = 0});
  ok({.kind = OpKind::mc_add, .object = 0, .device = 1});
  ok({.kind = OpKind::create, .result = 1, .size = granules(1), .device = 1, .choice = 1});
  ok({.kind = OpKind::mc_bind, .object = 0, .other = 1, .size = granules(1)});
  EXPECT_FALSE(
      run({.kind = OpKind::mc_unbind, .object = 0, .size = granules(1), .device = 0}).is_ok());
  ok({.kind = OpKind::mc_unbind, .object = 0, .size = granules(1), .device = 1});
}

// By symbols and distances: the same wherever a driver puts things.
TEST_F(ProgramRun, TracesAnswersInTermsOfSymbols) {
  const auto traced = [&](const Op& op) {
    const Outcome outcome = run(op);
    std::string line;
    runner_.trace(line, op, outcome);
    return line;
  };
  map_one();
  EXPECT_EQ(traced({.kind = OpKind::retain, .result = 4, .place = reservation(0)}),
            "retain h4 OK =h0\n");
  EXPECT_EQ(traced({.kind = OpKind::address_range, .place = reservation(0, 0, 5)}),
            "address_range OK -5 2097152\n");
  const auto attribute = [&](PointerAttribute which) {
    return traced({.kind = OpKind::attribute,
                   .place = reservation(0, 0, 5),
                   .choice = static_cast<std::uint8_t>(which)});
  };
  EXPECT_EQ(attribute(PointerAttribute::range_start_addr), "attribute OK -5\n");
  EXPECT_EQ(attribute(PointerAttribute::memory_block_id), "attribute OK 1\n");
  EXPECT_EQ(attribute(PointerAttribute::range_size), "attribute OK 4194304\n");
  EXPECT_EQ(traced({.kind = OpKind::get_access, .place = reservation(0), .choice = on_a_device}),
            "get_access OK 3\n");
  EXPECT_EQ(traced({.kind = OpKind::reserve, .result = 2}), "reserve r2 INVALID_VALUE\n");
  EXPECT_EQ(traced({.kind = OpKind::close_fd, .object = 0}), "close_fd OK 0\n");
  EXPECT_EQ(traced({.kind = OpKind::ctx_sync}), "ctx_sync OK\n");
  EXPECT_EQ(traced({.kind = OpKind::alloc_pitch,
                    .size = plain_bytes(100),
                    .extra = plain_bytes(3),
                    .value = 4}),
            "alloc_pitch p0 OK 512\n");
}

TEST_F(ProgramRun, CannotBeginWhereTheDriverCannot) {
  class NoDevice final : public DriverWrapper {
   public:
    using DriverWrapper::DriverWrapper;
    Result<ContextHandle> device_primary_ctx_retain(DeviceOrdinal /*device*/) override {
      return Error{.code = ErrorCode::no_device};
    }
  };
  NoDevice driver(&driver_);
  ProgramRunner runner(driver, unit);
  const Status begun = runner.begin();
  ASSERT_FALSE(begun.has_value());
  EXPECT_EQ(begun.error().code, ErrorCode::no_device);
}

}  // namespace
}  // namespace tessera::testing
