// What came into being where the layer does not see it, or is not known to it any more: it is
// silent, and asks the driver where it can.
#include <array>
#include <thread>

#include <unistd.h>

#include "rule_machine.h"

namespace tessera::rules {
namespace {

constexpr AccessDescriptor for_host = {.location = {.type = LocationType::host},
                                       .flags = AccessFlags::read_write};

AllocationHandle strange_memory(RuleMachine& m) {
  return must(m.simulator().mem_create({.size = m.units(1), .properties = {}}));
}
AllocationHandle exportable_of_others(RuleMachine& m, std::uint64_t units) {
  return must(m.simulator().mem_create(
      {.size = m.units(units),
       .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
}
ContextHandle strange_context(RuleMachine& m) {
  const ContextHandle context = must(m.simulator().ctx_create({.device = device_0}));
  must(m.simulator().ctx_set_current(m.primary()));
  return context;
}
AllocationHandle imported(RuleMachine& m, AllocationHandle of_others) {
  const ShareableHandle exported =
      must(m.simulator().mem_export_to_shareable_handle({.handle = of_others}));
  const AllocationHandle handle = must(m->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  return handle;
}
Status allow_host(RuleMachine& m, DeviceAddress address) {
  return m.allow_for(address, 1, for_host.location, for_host.flags);
}

const Clause memory_of_others[] = {
    // The map names the handle; what is done with the mapping is the driver's to judge.
    {"IsNamedOnce", RuleId::unknown_handle,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       must(m.map(address, 1, strange_memory(m)));
       must(m.allow(address, 1));
       must(m.put(address));
       must(m->memset_d8({.destination = address, .value = 1, .size = 1_B}));
       must(m->ctx_synchronize());
       must(m.unmap(address, 1));
     }},
    // Then the CPU copies, and what it has copied is done.
    {"MayBeOnTheHost", RuleId::unknown_handle,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       must(m.map(address, 1,
                  must(m.simulator().mem_create(
                      {.size = m.units(1),
                       .properties = {.location = {.type = LocationType::host_numa}}}))));
       must(allow_host(m, address));
       must(m.put(address));
       must(m.unmap(address, 1));
     }},
    {"MayBeOnAnothersHost", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       const AllocationHandle of_others = must(m.simulator().mem_create(
           {.size = m.units(1),
            .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor,
                           .location = {.type = LocationType::host_numa}}}));
       must(m.map(address, 1, imported(m, of_others)));
       must(allow_host(m, address));
       must(m.put(address));
       must(m.unmap(address, 1));
     }},
    {"MayBeBoundByItsAddress", RuleId::unknown_handle,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       must(m.map(address, 1, strange_memory(m)));
       const AllocationHandle multicast =
           must(m->multicast_create({.device_count = 1, .size = m.units(1)}));
       must(m->multicast_add_device({.multicast = multicast, .device = device_0}));
       must(m->multicast_bind_addr(
           {.multicast = multicast, .address = address, .size = m.units(1)}));
     }},
    {"MayBeRetained", RuleId::unknown_handle,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       must(m.map(address, 1, strange_memory(m)));
       must(m.simulator().mem_release(must(m->mem_retain_allocation_handle(address))));
       must(m.unmap(address, 1));
     }},
    // On a device or on the host: nobody knows where memory of others is.
    {"MayBeOnADevice", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(2);
       const AllocationHandle handle = imported(m, exportable_of_others(m, 1));
       must(m.map(address, 1, handle));
       must(m.map(address + m.units(1), 1, handle));
       const std::array both = {
           AccessDescriptor{.location = on_device(device_0), .flags = AccessFlags::read}, for_host};
       EXPECT_FALSE(
           m->mem_set_access({.address = address, .size = m.units(2), .descriptors = both}));
       // Who has access now is not known.
       must(m->memcpy_dtod({.destination = m.mapped(1), .source = address, .size = 1_B}));
     }},
    // The descriptor's number names another file than the one that was exported under it.
    {"ComesByADescriptorThatWasClosed", RuleId::none,
     [](RuleMachine& m) {
       const AllocationHandle strange = exportable_of_others(m, 2);
       const auto export_it = [&] {
         return must(m.simulator().mem_export_to_shareable_handle({.handle = strange}));
       };
       ::close(export_it().file_descriptor);  // its file is there from now on
       const AllocationHandle handle = m.exportable(1);
       const int first =
           must(m->mem_export_to_shareable_handle({.handle = handle})).file_descriptor;
       ::close(first);
       const ShareableHandle second = export_it();
       EXPECT_EQ(second.file_descriptor, first);
       must(m.map(m.reserve(2), 2, must(m->mem_import_from_shareable_handle(second))));
       ::close(first);
     }},
};

const Clause contexts_of_others[] = {
    {"MayBeCurrentWhereAKernelIsLaunched", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
       must(m->ctx_create({.device = device_0}));
       must(m.simulator().ctx_set_current(m.primary()));
       must(m.launch(address, stream));
     }},
    {"CanBeDestroyed", RuleId::none,
     [](RuleMachine& m) { must(m->ctx_destroy(strange_context(m))); }},
    {"HaveADeviceThatOnlyTheDriverKnows", RuleId::none,
     [](RuleMachine& m) {
       const ContextHandle peer = must(m->device_primary_ctx_retain(device_0));
       must(m->ctx_set_current(strange_context(m)));
       static_cast<void>(
           m->ctx_set_limit({.limit = ContextLimit::persisting_l2_cache_size, .value = 1_GiB}));
       static_cast<void>(m->ctx_enable_peer_access({.peer = peer}));
     }},
    {"AreNoPeersThatAreKnown", RuleId::none,
     [](RuleMachine& m) {
       static_cast<void>(m->ctx_enable_peer_access({.peer = strange_context(m)}));
     }},
    // It was retained by somebody else, whose reference this takes.
    {"ArePrimaryOnes", RuleId::primary_not_retained,
     [](RuleMachine& m) {
       must(m.simulator().device_primary_ctx_retain(device_1));
       must(m->device_primary_ctx_release(device_1));
     }},
    // Made current by others: the default stream is that context's, as is the event.
    {"MakeTheDefaultStreamTheirs", RuleId::none,
     [](RuleMachine& m) {
       const ContextHandle second = must(m->ctx_create({.device = device_0}));
       const EventHandle event = must(m->event_create(EventFlags::none));
       must(m->ctx_set_current(m.primary()));
       must(m.simulator().ctx_set_current(second));
       must(m->event_record({.event = event}));
     }},
    // Then who has access is not known, nor who copies.
    {"MakeCopiesTheirs", RuleId::none,
     [](RuleMachine& m) {
       const ContextHandle second = must(m->ctx_create({.device = device_1}));
       must(m->ctx_set_current(m.primary()));
       const DeviceAddress of_second = m.reserve(2);
       m.fill(of_second, 1);
       must(m.allow(of_second, 1, device_1));
       must(m.map(of_second + m.units(1), 1,
                  m.create(1, {.location = {.type = LocationType::host_numa}})));
       must(m.allow(of_second + m.units(1), 1, device_1));
       must(m.simulator().ctx_set_current(second));
       must(m.put(of_second));
       must(m.put(of_second + m.units(1)));
     }},
    {"AreNotKnownOnEachThread", RuleId::none,
     [](RuleMachine& m) {
       const EventHandle event = must(m->event_create(EventFlags::none));
       std::thread([&] {
         must(m.simulator().ctx_set_current(m.primary()));
         must(m->event_record({.event = event}));
       }).join();
     }},
    {"RefuseWhatNobodyCouldForesee", RuleId::copy_no_access,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       m.fill(address, 1);
       std::thread([&] {
         must(m.simulator().ctx_set_current(m.primary()));
         static_cast<void>(m.put(address));
       }).join();
     }},
    // Whose reference is left; its work goes on.
    {"HoldPrimaryOnesWhoseWorkGoesOn", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       must(m->ctx_set_current({}));
       const ContextHandle held = must(m.simulator().device_primary_ctx_retain(device_1));
       must(m.simulator().ctx_set_current(held));
       must(m->ctx_synchronize());
       const DeviceAddress address = m.reserve(1);
       m.fill(address, 1);
       must(m.allow(address, 1, device_1));
       must(m->device_primary_ctx_retain(device_1));
       must(m.launch(address));
       must(m->device_primary_ctx_release(device_1));
       must(m.unmap(address, 1));
     }},
    // Reset and retained again: the one that ended has the same handle.
    {"ComeBackAfterAReset", RuleId::none,
     [](RuleMachine& m) {
       must(m->device_primary_ctx_reset(device_0));
       must(m->device_primary_ctx_retain(device_0));
       must(m->ctx_set_current({}));
       must(m.simulator().ctx_set_current(m.primary()));
       must(m->mem_alloc(Bytes(16)));
     }},
};

class Strangers : public testing::TestWithParam<Clause> {};

TEST_P(Strangers, AreLeftAlone) { expect_clause(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Memory, Strangers, testing::ValuesIn(memory_of_others), name_of);
INSTANTIATE_TEST_SUITE_P(Contexts, Strangers, testing::ValuesIn(contexts_of_others), name_of);

// A row of mappings ends where a reservation does; this one nobody knows.
TEST(Strangers, ReservationsHaveNoRows) {
  RuleMachine m(h200(), ValidationMode::report, {RuleId::map_not_reserved});
  const DeviceAddress address = must(m.simulator().mem_address_reserve({.size = m.units(3)}));
  for (std::uint64_t i = 0; i < 3; ++i) {
    must(m.map(address + m.units(i), 1, m.create(1)));
  }
  must(m.allow(address, 2));
  EXPECT_THAT(m->findings(), testing::IsEmpty());
}

// Multicast objects go to whom they go to: the driver refuses the host, and nothing was done.
TEST(Strangers, TheHostIsToMulticastObjects) {
  RuleMachine m(h200(), ValidationMode::report);
  const AllocationHandle multicast =
      must(m->multicast_create({.device_count = 1, .size = m.units(1)}));
  must(m->multicast_add_device({.multicast = multicast, .device = device_0}));
  const DeviceAddress address = m.reserve(1);
  must(m.map(address, 1, multicast));
  EXPECT_FALSE(allow_host(m, address));
  EXPECT_THAT(m->findings(), testing::IsEmpty());
}

// Streams and events that the layer has not seen made, or not seen go, are the driver's to judge.
TEST(Strangers, AreNotTakenForHandlesThatNobodyGave) {
  RuleMachine m(*sim::built_in_profile("h200"), ValidationMode::report);
  const StreamHandle stream = must(m.simulator().stream_create(StreamFlags::blocking));
  EXPECT_FALSE(m->stream_wait_event({.stream = stream, .event = EventHandle(77)}));
  const EventHandle event = must(m->event_create(EventFlags::none));
  must(m.simulator().event_destroy(event));
  EXPECT_FALSE(m->event_query(event));
  EXPECT_TRUE(m.driver().findings().empty());
}

// Of what is current nothing is known where the driver does not tell, so no kernel is in a stream
// of another context.
TEST(Strangers, MayBeCurrent) {
  class Silent final : public DriverWrapper {
   public:
    explicit Silent(Driver* target) : DriverWrapper(target) {}
    Result<ContextHandle> ctx_get_current() override { return Error{.code = ErrorCode::unknown}; }
  };
  sim::SimDriver simulator(*sim::built_in_profile("h200"));
  Silent silent(&simulator);
  ValidatingDriver driver(&silent);
  must(driver.init(0));
  must(simulator.ctx_set_current(must(driver.device_primary_ctx_retain(device_0))));
  const DeviceAddress address = must(driver.mem_alloc(16_B));
  const auto launch_in = [&](StreamHandle stream) {
    return driver.launch_touch({.address = address, .touch = Touch::read, .stream = stream});
  };
  must(launch_in(must(driver.stream_create(StreamFlags::blocking))));
  must(driver.ctx_create({.device = device_0}));
  const StreamHandle stream = must(driver.stream_create(StreamFlags::blocking));
  must(driver.ctx_create({.device = device_0}));
  EXPECT_FALSE(launch_in(stream));
  EXPECT_THAT(driver.findings(), testing::IsEmpty());
}

// A driver may refuse to make a context current for reasons of its own.
TEST(Strangers, ContextsAreKnownThatWereMade) {
  class Refusing final : public DriverWrapper {
   public:
    explicit Refusing(Driver* target) : DriverWrapper(target) {}
    Status ctx_set_current(ContextHandle /*context*/) override { return Error{.code = code}; }

    ErrorCode code = ErrorCode::deinitialized;
  };
  sim::SimDriver simulator(*sim::built_in_profile("h200"));
  Refusing refusing(&simulator);
  ValidatingDriver driver(&refusing);
  must(driver.init(0));
  const ContextHandle context = must(driver.device_primary_ctx_retain(device_0));
  EXPECT_FALSE(driver.ctx_set_current(ContextHandle(77)));
  refusing.code = ErrorCode::invalid_context;
  EXPECT_FALSE(driver.ctx_set_current(context));
  EXPECT_TRUE(driver.findings().empty());
  EXPECT_FALSE(driver.ctx_set_current(ContextHandle(77)));
  ASSERT_EQ(driver.findings().size(), 1U);
  EXPECT_EQ(driver.findings()[0].rule, RuleId::unknown_handle);
}

}  // namespace
}  // namespace tessera::rules
