// Unmapping, and taking access away, needs proof that the work is done that may use the range.
#include "rule_machine.h"
#include "tessera/layers/fault_injecting_driver.h"

namespace tessera::rules {
namespace {

StreamHandle stream_of(RuleMachine& m) { return must(m->stream_create(StreamFlags::non_blocking)); }
EventHandle event_of(RuleMachine& m) { return must(m->event_create(EventFlags::none)); }

TESSERA_BREAKS(unmap_in_flight) {
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address));
  static_cast<void>(m.unmap(address, 1));
}
TESSERA_KEEPS(unmap_in_flight) {
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address));
  must(m->ctx_synchronize());
  must(m.unmap(address, 1));
}

TESSERA_BREAKS(free_in_flight) {
  const DeviceAddress address = must(m->mem_alloc_async({.size = 1_KiB}));
  must(m.launch(address));
  static_cast<void>(m->mem_free(address));
}
TESSERA_KEEPS(free_in_flight) {
  const DeviceAddress in_order = must(m->mem_alloc_async({.size = 1_KiB}));
  must(m.launch(in_order));
  must(m->mem_free_async({.address = in_order}));
  const DeviceAddress address = must(m->mem_alloc_async({.size = 1_KiB}));
  must(m.launch(address));
  must(m->ctx_synchronize());
  must(m->mem_free(address));
  // Of other memory mem_free waits for the work.
  const DeviceAddress plain = must(m->mem_alloc(1_KiB));
  must(m.launch(plain));
  must(m->mem_free(plain));
}

TESSERA_BREAKS(used_before_alloc_async) {
  const DeviceAddress address = must(m->mem_alloc_async({.size = 1_KiB, .stream = stream_of(m)}));
  static_cast<void>(m.launch(address, stream_of(m)));
}
TESSERA_KEEPS(used_before_alloc_async) {
  const StreamHandle stream = stream_of(m);
  const DeviceAddress address = must(m->mem_alloc_async({.size = 1_KiB, .stream = stream}));
  must(m.launch(address, stream));
  const EventHandle allocated = event_of(m);
  must(m->event_record({.event = allocated, .stream = stream}));
  const StreamHandle other = stream_of(m);
  must(m->stream_wait_event({.stream = other, .event = allocated}));
  must(m.launch(address, other));
  must(m->stream_synchronize(stream));
  must(m.launch(address));
}

TESSERA_BREAKS(set_access_in_flight) {
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address));
  static_cast<void>(m.allow(address, 1, device_0, AccessFlags::read));
}
TESSERA_KEEPS(set_access_in_flight) {
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address));
  must(m.allow(address, 1, device_1));  // gives more, takes nothing away
  must(m.allow(address, 1));
  must(m.allow(address, 1, device_1, AccessFlags::none));  // from another than the work runs on
}

// Freed in the order of a stream, that of the work elsewhere counts.
struct FreedInOrder {
  const char* name;
  // Queues work, and gives the stream in which the memory is freed.
  StreamHandle (*act)(RuleMachine& m, DeviceAddress address, StreamHandle allocated_in);
  std::optional<RuleId> finding;
};
const FreedInOrder frees[] = {
    {"OfItsWork",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       must(m.launch(address, allocated_in));
       return allocated_in;
     },
     std::nullopt},
    {"OfNothing", [](RuleMachine& m, DeviceAddress, StreamHandle) { return stream_of(m); },
     RuleId::used_before_alloc_async},
    {"OfOtherWork",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       must(m->stream_synchronize(allocated_in));
       must(m.launch(address, allocated_in));
       return stream_of(m);
     },
     RuleId::free_in_flight},
    {"OfAnEventAfterItsWork",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       must(m.launch(address, allocated_in));
       const EventHandle event = event_of(m);
       must(m->event_record({.event = event, .stream = allocated_in}));
       const StreamHandle waits = stream_of(m);
       must(m->stream_wait_event({.stream = waits, .event = event}));
       return waits;
     },
     std::nullopt},
    {"OfAnEventBeforeItsWork",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       const EventHandle event = event_of(m);
       must(m->event_record({.event = event, .stream = allocated_in}));
       must(m.launch(address, allocated_in));
       const StreamHandle waits = stream_of(m);
       must(m->stream_wait_event({.stream = waits, .event = event}));
       return waits;
     },
     RuleId::free_in_flight},
    {"OfTheDefaultStreamAfterABlockingOne",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       must(m->stream_synchronize(allocated_in));
       must(m.launch(address, must(m->stream_create(StreamFlags::blocking))));
       return StreamHandle();
     },
     std::nullopt},
    {"OfABlockingStreamAfterTheDefaultOne",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       must(m->stream_synchronize(allocated_in));
       must(m.launch(address));
       return must(m->stream_create(StreamFlags::blocking));
     },
     std::nullopt},
    {"OfTheThreadsStreamAfterTheDefaultOne",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       must(m->stream_synchronize(allocated_in));
       must(m.launch(address));
       return per_thread_stream;
     },
     std::nullopt},
    {"OfTheDefaultStreamAfterANonBlockingOne",
     [](RuleMachine& m, DeviceAddress address, StreamHandle allocated_in) {
       must(m->stream_synchronize(allocated_in));
       must(m.launch(address, allocated_in));
       return StreamHandle();
     },
     RuleId::free_in_flight},
};

class FreeInOrder : public testing::TestWithParam<FreedInOrder> {};

TEST_P(FreeInOrder, IsAfterTheWorkOrNot) {
  RuleMachine m(h200(), ValidationMode::report);
  const StreamHandle stream = stream_of(m);
  const DeviceAddress address = must(m->mem_alloc_async({.size = 1_KiB, .stream = stream}));
  must(m->mem_free_async({.address = address, .stream = GetParam().act(m, address, stream)}));
  const std::vector<Finding> findings = m->findings();
  const std::optional<RuleId> found =
      findings.empty() ? std::nullopt : std::optional(findings.front().rule);
  EXPECT_EQ(found, GetParam().finding);
}

INSTANTIATE_TEST_SUITE_P(Order, FreeInOrder, testing::ValuesIn(frees),
                         [](const testing::TestParamInfo<FreedInOrder>& of) {
                           return std::string(of.param.name);
                         });

// What used the memory that was there before uses none that is allocated at its address now.
struct NewMemory {
  const char* name;
  DeviceAddress (*allocate)(RuleMachine& m, StreamHandle stream);
};
const NewMemory new_memory[] = {
    {"OfAPool",
     [](RuleMachine& m, StreamHandle stream) {
       return must(m->mem_alloc_async({.size = 64_MiB, .stream = stream}));
     }},
    {"Plain", [](RuleMachine& m, StreamHandle) { return must(m->mem_alloc(64_MiB)); }},
    {"Pitched", [](RuleMachine& m, StreamHandle) {
       return must(m->mem_alloc_pitch({.width = 32_MiB, .height = 2, .element_size = 4})).address;
     }}};

class InFlightBefore : public testing::TestWithParam<NewMemory> {};

TEST_P(InFlightBefore, IsNoWorkOfNewMemory) {
  RuleMachine m(h200(), ValidationMode::report);
  const StreamHandle stream = stream_of(m);
  const StreamHandle other = stream_of(m);
  const DeviceAddress old = must(m->mem_alloc_async({.size = 1_KiB, .stream = stream}));
  must(m.launch(old, stream));
  must(m->mem_free_async({.address = old, .stream = stream}));
  m.simulator().advance(2'000'000'000);
  must(m->stream_synchronize(other));  // proves nothing of the work, and empties the pool
  const DeviceAddress address = GetParam().allocate(m, other);
  ASSERT_TRUE(AddressRange(address, 64_MiB).contains(old));
  must(m.launch(old, other));
  must(m->mem_free_async({.address = address, .stream = other}));
  EXPECT_TRUE(m->findings().empty());
}

INSTANTIATE_TEST_SUITE_P(Memory, InFlightBefore, testing::ValuesIn(new_memory),
                         [](const testing::TestParamInfo<NewMemory>& of) {
                           return std::string(of.param.name);
                         });

// What a program does between the launch in `stream` and the unmap, and whether that is proof.
struct Between {
  const char* name;
  void (*act)(RuleMachine& m, StreamHandle stream);
  bool is_proof;
};
const Between cases[] = {
    {"Nothing", [](RuleMachine&, StreamHandle) {}, false},
    {"ItsStreamSynchronized",
     [](RuleMachine& m, StreamHandle stream) { must(m->stream_synchronize(stream)); }, true},
    {"AnotherStreamSynchronized",
     [](RuleMachine& m, StreamHandle) { must(m->stream_synchronize(stream_of(m))); }, false},
    {"TheDefaultStreamSynchronized",
     [](RuleMachine& m, StreamHandle) { must(m->stream_synchronize({})); }, false},
    {"AnotherDeviceSynchronized",
     [](RuleMachine& m, StreamHandle) {
       must(m->ctx_set_current(must(m->device_primary_ctx_retain(device_1))));
       must(m->ctx_synchronize());
     },
     false},
    {"AnEventAfterItSynchronized",
     [](RuleMachine& m, StreamHandle stream) {
       const EventHandle event = event_of(m);
       must(m->event_record({.event = event, .stream = stream}));
       must(m->event_synchronize(event));
     },
     true},
    {"AnEventAfterItSeenComplete",
     [](RuleMachine& m, StreamHandle stream) {
       const EventHandle event = event_of(m);
       must(m->event_record({.event = event, .stream = stream}));
       m.simulator().advance(2'000'000'000);
       must(m->event_query(event));
     },
     true},
    {"AnEventAfterItNotReady",
     [](RuleMachine& m, StreamHandle stream) {
       const EventHandle event = event_of(m);
       must(m->event_record({.event = event, .stream = stream}));
       EXPECT_FALSE(m->event_query(event));
     },
     false},
    {"AnotherStreamMadeToWait",
     [](RuleMachine& m, StreamHandle stream) {
       const EventHandle event = event_of(m);
       must(m->event_record({.event = event, .stream = stream}));
       must(m->stream_wait_event({.stream = stream_of(m), .event = event}));
     },
     false},
    {"AStreamThatWaitsSynchronized",
     [](RuleMachine& m, StreamHandle stream) {
       const EventHandle event = event_of(m);
       const StreamHandle waits = stream_of(m);
       must(m->event_record({.event = event, .stream = stream}));
       must(m->stream_wait_event({.stream = waits, .event = event}));
       must(m->stream_synchronize(waits));
     },
     true},
    {"ItsStreamDestroyed",
     [](RuleMachine& m, StreamHandle stream) { must(m->stream_destroy(stream)); }, false},
    {"AReferenceToItsContextReleased",
     [](RuleMachine& m, StreamHandle) {
       must(m->device_primary_ctx_retain(device_0));
       must(m->device_primary_ctx_release(device_0));
     },
     false},
    {"ItsContextReset",
     [](RuleMachine& m, StreamHandle) { must(m->device_primary_ctx_reset(device_0)); }, true},
    {"AnotherContextReset",
     [](RuleMachine& m, StreamHandle) {
       must(m->device_primary_ctx_retain(device_1));
       must(m->device_primary_ctx_reset(device_1));
     },
     false},
    {"MemFreeWhichWaits",
     [](RuleMachine& m, StreamHandle) { must(m->mem_free(must(m->mem_alloc(Bytes(16))))); }, true},
};

class InFlight : public testing::TestWithParam<Between> {};

TEST_P(InFlight, IsProvenDoneOrNot) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  const StreamHandle stream = stream_of(m);
  must(m.launch(address, stream));
  GetParam().act(m, stream);
  must(m.unmap(address, 1));
  EXPECT_EQ(m->findings().empty(), GetParam().is_proof);
}

INSTANTIATE_TEST_SUITE_P(After, InFlight, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Between>& after) {
                           return std::string(after.param.name);
                         });

// What a program does where one kind of call fails, and whether the work is proven done all the
// same: a call that failed neither proves nor ends anything.
struct Failing {
  const char* name;
  Call call;
  void (*act)(Driver& driver, StreamHandle stream, EventHandle event);
  bool is_proof;
};
const Failing failing[] = {
    {"EventDestroy", Call::event_destroy,
     [](Driver& driver, StreamHandle, EventHandle event) {
       EXPECT_FALSE(driver.event_destroy(event));
       must(driver.event_synchronize(event));
     },
     true},
    {"StreamDestroy", Call::stream_destroy,
     [](Driver& driver, StreamHandle stream, EventHandle) {
       EXPECT_FALSE(driver.stream_destroy(stream));
       must(driver.stream_synchronize(stream));
     },
     true},
    {"EventRecord", Call::event_record,
     [](Driver& driver, StreamHandle stream, EventHandle) {
       const EventHandle other = must(driver.event_create(EventFlags::none));
       EXPECT_FALSE(driver.event_record({.event = other, .stream = stream}));
       must(driver.event_synchronize(other));
     },
     false},
    {"StreamWait", Call::stream_wait_event,
     [](Driver& driver, StreamHandle, EventHandle event) {
       const StreamHandle other = must(driver.stream_create(StreamFlags::non_blocking));
       EXPECT_FALSE(driver.stream_wait_event({.stream = other, .event = event}));
       must(driver.stream_synchronize(other));
     },
     false},
    {"StreamSynchronize", Call::stream_synchronize,
     [](Driver& driver, StreamHandle stream, EventHandle) {
       EXPECT_FALSE(driver.stream_synchronize(stream));
     },
     false},
    {"EventSynchronize", Call::event_synchronize,
     [](Driver& driver, StreamHandle, EventHandle event) {
       EXPECT_FALSE(driver.event_synchronize(event));
     },
     false},
    {"CtxSynchronize", Call::ctx_synchronize,
     [](Driver& driver, StreamHandle, EventHandle) { EXPECT_FALSE(driver.ctx_synchronize()); },
     false},
    {"MemFree", Call::mem_free,
     [](Driver& driver, StreamHandle, EventHandle) {
       EXPECT_FALSE(driver.mem_free(must(driver.mem_alloc(16_B))));
     },
     false},
    {"ContextRelease", Call::device_primary_ctx_release,
     [](Driver& driver, StreamHandle, EventHandle) {
       EXPECT_FALSE(driver.device_primary_ctx_release(device_0));
     },
     false},
    {"ContextReset", Call::device_primary_ctx_reset,
     [](Driver& driver, StreamHandle, EventHandle) {
       EXPECT_FALSE(driver.device_primary_ctx_reset(device_0));
     },
     false},
};

// Starts the driver with a current context and 2 MiB that are mapped with access.
DeviceAddress started_with_memory(Driver& driver) {
  must(driver.init(0));
  must(driver.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  const DeviceAddress address = must(driver.mem_address_reserve({.size = 2_MiB}));
  const AllocationHandle memory = must(driver.mem_create({.size = 2_MiB}));
  must(driver.mem_map({.address = address, .size = 2_MiB, .handle = memory}));
  const std::array access = {AccessDescriptor{.location = {}, .flags = AccessFlags::read_write}};
  must(driver.mem_set_access({.address = address, .size = 2_MiB, .descriptors = access}));
  return address;
}

class FailedInFlight : public testing::TestWithParam<Failing> {};

TEST_P(FailedInFlight, ProvesAndEndsNothing) {
  sim::SimDriver simulator(h200());
  FaultInjectingDriver faults(
      &simulator, {.faults = {Fault::each_of(GetParam().call, ErrorCode::not_permitted)}});
  ValidatingDriver driver(&faults);
  const DeviceAddress address = started_with_memory(driver);
  const StreamHandle stream = must(driver.stream_create(StreamFlags::non_blocking));
  const EventHandle event = must(driver.event_create(EventFlags::none));
  must(driver.launch_touch({.address = address, .touch = Touch::write, .stream = stream}));
  static_cast<void>(driver.event_record({.event = event, .stream = stream}));
  GetParam().act(driver, stream, event);
  const std::size_t before = driver.findings().size();
  must(driver.mem_unmap({.address = address, .size = 2_MiB}));
  EXPECT_EQ(driver.findings().size() == before, GetParam().is_proof);
}

INSTANTIATE_TEST_SUITE_P(Call, FailedInFlight, testing::ValuesIn(failing),
                         [](const testing::TestParamInfo<Failing>& of) {
                           return std::string(of.param.name);
                         });

// Nor is what could not be queued in flight.
TEST(InFlight, WorkThatWasRefusedIsNone) {
  sim::SimDriver simulator(h200());
  FaultPlan plan;
  for (const Call call : {Call::launch_touch, Call::memset_d8, Call::memset_d8_async,
                          Call::memcpy_htod, Call::memcpy_htod_async, Call::memcpy_dtoh_async,
                          Call::memcpy_dtod, Call::memcpy_dtod_async}) {
    plan.faults.push_back(Fault::each_of(call, ErrorCode::not_permitted));
  }
  FaultInjectingDriver faults(&simulator, plan);
  ValidatingDriver driver(&faults);
  const DeviceAddress address = started_with_memory(driver);
  std::array<std::byte, 8> bytes = {};
  const MemcpyDtodRequest copy = {.destination = address, .source = address + 16_B, .size = 8_B};
  const MemsetD8Request set = {.destination = address, .value = 1, .size = 8_B};
  EXPECT_FALSE(driver.launch_touch({.address = address, .touch = Touch::write}));
  EXPECT_FALSE(driver.memset_d8(set));
  EXPECT_FALSE(driver.memset_d8_async({.set = set}));
  EXPECT_FALSE(driver.memcpy_htod({.destination = address, .source = bytes}));
  EXPECT_FALSE(driver.memcpy_htod_async({.copy = {.destination = address, .source = bytes}}));
  EXPECT_FALSE(driver.memcpy_dtoh_async({.copy = {.destination = bytes, .source = address}}));
  EXPECT_FALSE(driver.memcpy_dtod(copy));
  EXPECT_FALSE(driver.memcpy_dtod_async({.copy = copy}));
  must(driver.mem_unmap({.address = address, .size = 2_MiB}));
  EXPECT_TRUE(driver.findings().empty());
}

// The legacy default stream and blocking ones wait for each other.
TEST(InFlight, ABlockingStreamIsProvenByTheDefaultOne) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  must(m.launch(address, must(m->stream_create(StreamFlags::blocking))));
  must(m->stream_synchronize({}));
  must(m.unmap(address, 1));
  EXPECT_TRUE(m->findings().empty());
}

TEST(InFlight, AsynchronousCopiesAndFillsCount) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress fill = m.mapped(1);
  must(m->memset_d8({.destination = fill, .value = 1, .size = Bytes(16)}));
  must(m.unmap(fill, 1));
  const DeviceAddress from = m.mapped(1);
  const DeviceAddress to = m.mapped(1);
  must(m->memcpy_dtod_async(
      {.copy = {.destination = to, .source = from, .size = Bytes(16)}, .stream = stream_of(m)}));
  must(m.unmap(from, 1));
  must(m.unmap(to, 1));
  EXPECT_EQ(m->findings().size(), 3U);
}

TEST(InFlight, ACopyFromPageableMemoryMayGoOn) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  must(m.put(address));
  must(m.unmap(address, 1));
  ASSERT_EQ(m->findings().size(), 1U);
  EXPECT_EQ(m->findings().front().rule, RuleId::unmap_in_flight);
}

TEST(InFlight, ACopyFromPageableMemoryIsOverAfterOneThatWaits) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  must(m.put(address));
  std::array<std::byte, 1> byte;
  must(m->memcpy_dtoh({.destination = byte, .source = address}));
  must(m.unmap(address, 1));
  EXPECT_TRUE(m->findings().empty());
}

TEST(InFlight, ACopyFromPinnedMemoryWaits) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = m.mapped(1);
  std::byte* pinned = must(m->mem_host_alloc({.size = 4_KiB}));
  must(m->memcpy_htod({.destination = address, .source = std::span(pinned, 16)}));
  must(m.unmap(address, 1));
  EXPECT_TRUE(m->findings().empty());
}

}  // namespace
}  // namespace tessera::rules
