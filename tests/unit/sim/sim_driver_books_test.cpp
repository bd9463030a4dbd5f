// What the books say after each step.
#include <vector>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(SimDriverBooks, BeginEmpty) {
  SimDriver driver(profile_named("h200"), {.devices = 2});
  Books expected;
  const Profile& profile = profile_named("h200");
  expected.devices.assign(
      2, {.free = profile.memory_total - profile.memory_reserved, .total = profile.memory_total});
  EXPECT_EQ(driver.books(), expected);
  EXPECT_EQ(driver.check_invariants(), "");
}

TEST(SimDriverBooks, BeginAgainWithARestart) {
  SimMachine machine("tiny");
  SimDriver& driver = machine.driver();
  const Books start = driver.books();
  const DeviceAddress range = machine.reserve(2);
  const AllocationHandle handle = machine.create(1);
  machine.map(range, 1, handle);
  driver.advance(1'000'000);
  driver.restart();
  EXPECT_EQ(driver.now_ns(), 0U);
  EXPECT_EQ(driver.books().contexts, 0U);
  EXPECT_EQ(driver.device_get_count().error().code, ErrorCode::not_initialized);
  must(driver.init(0));
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  EXPECT_EQ(driver.books(), start);
  EXPECT_EQ(machine.reserve(2), range);
  EXPECT_EQ(machine.create(1), handle);
  EXPECT_EQ(driver.check_invariants(), "");
}

TEST(SimDriverBooks, FollowAMappingFromCradleToGrave) {
  SimMachine machine("h200");
  const Books start = machine->books();
  Books expected = start;
  const auto step = [&](const char* what) {
    SCOPED_TRACE(what);
    EXPECT_EQ(machine->books(), expected);
    EXPECT_EQ(machine->check_invariants(), "");
  };
  const DeviceAddress range = machine.reserve(8);
  expected.reservations = 1;
  expected.reserved = machine.unit() * 8;
  step("reserve");
  const AllocationHandle handle = machine.create(2);
  expected.allocations = expected.handles = 1;
  expected.devices[0].free = start.devices[0].free - machine.unit() * 2;
  step("create");
  machine.map(range, 2, handle);
  machine.map(range + machine.unit() * 4, 2, handle);
  expected.mappings = 2;
  step("map twice");
  must(machine.allow(range, 2));
  expected.accessible_mappings = 1;
  step("set access");
  must(machine.allow(range, 2, device_0, AccessFlags::none));
  expected.accessible_mappings = 0;
  step("take access");
  must(machine.allow(range, 2, device_0, AccessFlags::read));
  must(machine->mem_release(handle));
  expected.accessible_mappings = 1;
  step("release while mapped");
  must(machine.unmap(range, 2));
  expected.mappings = 1;
  expected.accessible_mappings = 0;
  step("unmap one");
  must(machine.unmap(range + machine.unit() * 4, 2));
  expected = start;
  expected.reservations = 1;
  expected.reserved = machine.unit() * 8;
  step("unmap the other");
  must(machine->mem_address_free({.address = range, .size = machine.unit() * 8}));
  expected = start;
  step("free the addresses");
}

TEST(SimDriverBooks, CountRetainedReferences) {
  SimMachine machine("h200");
  const Books start = machine->books();
  const DeviceAddress range = machine.mapped(1);
  const AllocationHandle retained = must(machine->mem_retain_allocation_handle(range));
  must(machine.unmap(range, 1));
  must(machine->mem_address_free({.address = range, .size = machine.unit()}));
  EXPECT_EQ(machine->books().handles, 1U);
  EXPECT_EQ(machine.free_memory(), start.devices[0].free - machine.unit());
  must(machine->mem_release(retained));
  EXPECT_EQ(machine->books(), start);
}

// cuMemAlloc takes memory in blocks of 2 MiB and hands out parts, as recorded (account_cumemalloc).
TEST(SimDriverBooks, ChargeMemAllocByTheBlock) {
  SimMachine machine("h200");
  const Bytes start = machine.free_memory();
  const auto used = [&] { return start - machine.free_memory(); };
  const DeviceAddress p0 = must(machine->mem_alloc(1_B));
  EXPECT_EQ(used(), 2_MiB);
  const DeviceAddress p1 = must(machine->mem_alloc(1_B));
  EXPECT_EQ(used(), 2_MiB);
  EXPECT_TRUE(is_aligned(p0, 2_MiB));
  EXPECT_EQ(p1, p0 + 512_B);
  const DeviceAddress p2 = must(machine->mem_alloc(1_MiB));
  EXPECT_EQ(used(), 2_MiB);
  const DeviceAddress p3 = must(machine->mem_alloc(2_MiB));
  EXPECT_EQ(used(), 4_MiB);
  const DeviceAddress p4 = must(machine->mem_alloc(2_MiB + 1_B));
  EXPECT_EQ(used(), 8_MiB);
  EXPECT_EQ(machine->books().legacy_allocations, 5U);
  must(machine->mem_free(p4));
  EXPECT_EQ(used(), 4_MiB);
  must(machine->mem_free(p0));
  must(machine->mem_free(p1));
  EXPECT_EQ(used(), 4_MiB) << "p2 keeps the block";
  must(machine->mem_free(p2));
  must(machine->mem_free(p3));
  EXPECT_EQ(used(), 0_B);
}

TEST(SimDriverBooks, ChargeAContextItsShare) {
  SimMachine machine("h200");
  const Bytes start = machine.free_memory();
  const ContextHandle context = must(machine->ctx_create({.device = device_0}));
  EXPECT_EQ(start - machine.free_memory(), Bytes(548'995'072));
  EXPECT_EQ(machine->books().contexts, 2U);
  must(machine->mem_alloc(1_B));
  must(machine->ctx_destroy(context));
  EXPECT_EQ(machine.free_memory(), start);
  EXPECT_EQ(machine->books().legacy_allocations, 0U);
}

TEST(SimDriverBooks, ChargeTheStackLimit) {
  const Profile& profile = profile_named("h200");
  SimMachine machine(profile);
  const Bytes start = must(machine->mem_get_info()).free;
  const auto used = [&] { return start - must(machine->mem_get_info()).free; };
  const auto set = [&](ContextLimit limit, Bytes value) {
    return machine->ctx_set_limit({.limit = limit, .value = value});
  };
  must(set(ContextLimit::stack_size, 3_KiB));
  EXPECT_GE(used(), 2_KiB * profile.resident_threads);
  const Bytes with_stacks = used();
  // The others' memory is taken by the first kernel that uses them.
  must(set(ContextLimit::malloc_heap_size, 264_MiB));
  must(set(ContextLimit::printf_fifo_size, 2_MiB));
  EXPECT_EQ(used(), with_stacks);
  EXPECT_THAT(machine->ctx_get_limit(ContextLimit::malloc_heap_size), is_ok_and_holds(264_MiB));
  // What does not fit changes nothing.
  const auto before = machine->ctx_get_limit(ContextLimit::stack_size);
  for (const Bytes too_much : {1_GiB, Bytes(~std::uint64_t{0})}) {
    EXPECT_THAT(set(ContextLimit::stack_size, too_much), testing::Not(is_ok()));
    EXPECT_EQ(used(), with_stacks);
  }
  EXPECT_THAT(machine->ctx_get_limit(ContextLimit::stack_size), is_ok_and_holds(must(before)));
  EXPECT_EQ(machine->check_invariants(), "");
}

TEST(SimDriverBooks, TakeAContextThatDoesNotFit) {
  SimMachine machine("tiny");
  std::vector<ContextHandle> contexts;
  auto made = machine->ctx_create({.device = device_0});
  while (made) {
    contexts.push_back(*made);
    made = machine->ctx_create({.device = device_0});
  }
  EXPECT_THAT(made, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(contexts.size(), 22U);
  EXPECT_EQ(must(machine->ctx_get_current()), contexts.back());
  EXPECT_EQ(machine.free_memory(), 0_B);
  for (const ContextHandle context : contexts) {
    must(machine->ctx_destroy(context));
  }
  EXPECT_EQ(machine->books().contexts, 1U);
}

TEST(SimDriverBooks, APoolGivesBackWhenSomebodySynchronizes) {
  SimMachine machine("h200");
  const Bytes start = machine.free_memory();
  const DeviceAddress memory = must(machine->mem_alloc_async({.size = 1_MiB}));
  const Bytes taken = start - machine.free_memory();
  EXPECT_GE(taken, 1_MiB);
  must(machine->mem_free_async({.address = memory}));
  EXPECT_THAT(machine->mem_free_async({.address = memory}), fails_with(ErrorCode::invalid_value));
  must(machine->ctx_synchronize());
  EXPECT_EQ(machine.free_memory(), start);
  EXPECT_EQ(machine->books().legacy_allocations, 0U);
}

TEST(SimDriverBooks, HostMemoryIsNotTheDevices) {
  SimMachine machine("h200");
  const Books start = machine->books();
  std::byte* host = must(machine->mem_host_alloc({.size = 1_MiB}));
  const DeviceAddress managed = must(machine->mem_alloc_managed({.size = 1_MiB}));
  EXPECT_EQ(machine->books().devices, start.devices);
  EXPECT_EQ(machine->books().legacy_allocations, 2U);
  must(machine->mem_free(managed));
  must(machine->mem_free_host(host));
  EXPECT_EQ(machine->books(), start);
}

TEST(SimDriverBooks, SeveralDriversAreIndependent) {
  SimMachine first("h200");
  SimMachine second("tiny");
  const Books before = second->books();
  const DeviceAddress address = first.mapped(4);
  EXPECT_EQ(second->books(), before);
  EXPECT_THAT(second->mem_get_access({.address = address}), fails_with(ErrorCode::invalid_value));
  // Each has its own current context on this thread.
  must(first->ctx_set_current({}));
  EXPECT_THAT(first->ctx_synchronize(), fails_with(ErrorCode::invalid_context));
  EXPECT_THAT(second->ctx_synchronize(), is_ok());
  EXPECT_EQ(second->books(), before);
}

TEST(SimDriverBooks, MayHoldMuchWhenTheDriverGoes) {
  SimMachine machine("h200", {.devices = 2});
  machine.mapped(3);
  must(machine->mem_alloc(1_MiB));
  must(machine->mem_host_alloc({.size = 1_MiB}));
  must(machine->mem_alloc_managed({.size = 1_MiB}));
  must(machine->mem_alloc_async({.size = 1_MiB}));
  must(machine->ctx_create({.device = device_1}));
  must(machine.launch_write(must(machine->mem_alloc(1_B)), 1, 1'000'000'000));
}

}  // namespace
}  // namespace tessera::sim
