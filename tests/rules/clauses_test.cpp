// Rules have several clauses: each way of breaking one that its own test does not take, and each
// nearest program that keeps to it.
#include <array>
#include <span>
#include <thread>

#include <unistd.h>

#include "rule_machine.h"

namespace tessera::rules {
namespace {

constexpr AllocationHandle made_up_handle{0xdead'beef};
constexpr Bytes last_unit{~std::uint64_t{0} << 21U};
constexpr LocationType on_host = LocationType::host_numa;
constexpr NullPointers nowhere_to = NullPointers::output;

AllocationHandle object_of(RuleMachine& m, std::uint32_t devices, std::uint64_t units) {
  const AllocationHandle multicast =
      must(m->multicast_create({.device_count = devices, .size = m.units(units)}));
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(devices); ++i) {
    must(m->multicast_add_device({.multicast = multicast, .device = DeviceOrdinal(i)}));
  }
  return multicast;
}

Status bind(RuleMachine& m, const MulticastBindMemRequest& request) {
  return m->multicast_bind_mem(request);
}

// Memory that the layer has not seen made.
AllocationHandle foreign(RuleMachine& m, std::uint64_t units) {
  sim::SimDriver& driver = m.simulator();
  const AllocationHandle made = must(driver.mem_create(
      {.size = m.units(units),
       .properties = {.requested_handle_types = HandleTypes::posix_file_descriptor}}));
  const ShareableHandle exported = must(driver.mem_export_to_shareable_handle({.handle = made}));
  const AllocationHandle imported = must(m->mem_import_from_shareable_handle(exported));
  ::close(exported.file_descriptor);
  return imported;
}

const Clause multicast_clauses[] = {
    {"CreateKnowsNoFlags", RuleId::flags_unknown,
     [](RuleMachine& m) {
       static_cast<void>(m->multicast_create({.device_count = 2, .size = m.units(1), .flags = 1}));
     }},
    {"AnObjectHasADevice", RuleId::multicast_device_count,
     [](RuleMachine& m) {
       static_cast<void>(m->multicast_create({.device_count = 0, .size = m.units(1)}));
     }},
    {"SoIsItForTheGranularity", RuleId::multicast_device_count,
     [](RuleMachine& m) {
       static_cast<void>(
           m->multicast_get_granularity({.properties = {.device_count = 9, .size = m.units(1)}}));
     }},
    {"AddsDevicesThatThereAre", RuleId::device_unknown,
     [](RuleMachine& m) {
       const AllocationHandle multicast =
           must(m->multicast_create({.device_count = 2, .size = m.units(1)}));
       static_cast<void>(
           m->multicast_add_device({.multicast = multicast, .device = DeviceOrdinal(9)}));
     }},
    {"AddsNoMoreThanItIsFor", RuleId::multicast_device_twice,
     [](RuleMachine& m) {
       static_cast<void>(
           m->multicast_add_device({.multicast = object_of(m, 1, 1), .device = device_1}));
     }},
    {"BindsAPositiveSize", RuleId::binding_unaligned,
     [](RuleMachine& m) {
       static_cast<void>(
           bind(m, {.multicast = object_of(m, 1, 1), .memory = m.create(1), .size = Bytes()}));
     }},
    {"BindsAtWholeUnitsOfTheObject", RuleId::binding_unaligned,
     [](RuleMachine& m) {
       static_cast<void>(bind(m, {.multicast = object_of(m, 1, 2),
                                  .multicast_offset = 1_MiB,
                                  .memory = m.create(1),
                                  .size = m.units(1)}));
     }},
    {"BindsAtWholeUnitsOfTheMemory", RuleId::binding_unaligned,
     [](RuleMachine& m) {
       static_cast<void>(bind(m, {.multicast = object_of(m, 1, 2),
                                  .memory = m.create(2),
                                  .memory_offset = 1_MiB,
                                  .size = m.units(1)}));
     }},
    {"BindsWithinTheMemory", RuleId::binding_outside,
     [](RuleMachine& m) {
       static_cast<void>(
           bind(m, {.multicast = object_of(m, 1, 2), .memory = m.create(1), .size = m.units(2)}));
     }},
    {"BindsWithin64BitsOfTheObject", RuleId::binding_outside,
     [](RuleMachine& m) {
       static_cast<void>(bind(m, {.multicast = object_of(m, 1, 2),
                                  .multicast_offset = last_unit,
                                  .memory = m.create(1),
                                  .size = m.units(1)}));
     }},
    {"BindsWithin64BitsOfTheMemory", RuleId::binding_outside,
     [](RuleMachine& m) {
       static_cast<void>(bind(m, {.multicast = object_of(m, 1, 2),
                                  .memory = m.create(1),
                                  .memory_offset = last_unit,
                                  .size = m.units(1)}));
     }},
    {"BindsMemoryOfADevice", RuleId::binding_device_not_added,
     [](RuleMachine& m) {
       static_cast<void>(bind(m, {.multicast = object_of(m, 1, 1),
                                  .memory = m.create(1, {.location = {.type = on_host}}),
                                  .size = m.units(1)}));
     }},
    {"BindsWhatTheDriverKnows", RuleId::none,
     [](RuleMachine& m) {
       must(
           bind(m, {.multicast = object_of(m, 1, 1), .memory = foreign(m, 1), .size = m.units(1)}));
     }},
    {"BindsBesideABinding", RuleId::none,
     [](RuleMachine& m) {
       const AllocationHandle multicast = object_of(m, 2, 3);
       const AllocationHandle memory = m.create(3);
       for (const std::uint64_t unit : {1U, 0U, 2U}) {
         must(bind(m, {.multicast = multicast,
                       .multicast_offset = m.units(unit),
                       .memory = memory,
                       .memory_offset = m.units(unit),
                       .size = m.units(1)}));
       }
     }},
    {"BindsAHandle", RuleId::unknown_handle,
     [](RuleMachine& m) {
       static_cast<void>(bind(
           m, {.multicast = object_of(m, 1, 1), .memory = made_up_handle, .size = m.units(1)}));
     }},
    {"BindKnowsNoFlags", RuleId::flags_unknown,
     [](RuleMachine& m) {
       static_cast<void>(bind(m, {.multicast = object_of(m, 1, 1),
                                  .memory = m.create(1),
                                  .size = m.units(1),
                                  .flags = 1}));
     }},
    {"BindsAddressesToAnObject", RuleId::not_multicast,
     [](RuleMachine& m) {
       static_cast<void>(m->multicast_bind_addr(
           {.multicast = m.create(1), .address = m.mapped(1), .size = m.units(1)}));
     }},
    {"BindAddressKnowsNoFlags", RuleId::flags_unknown,
     [](RuleMachine& m) {
       static_cast<void>(m->multicast_bind_addr({.multicast = object_of(m, 1, 1),
                                                 .address = m.mapped(1),
                                                 .size = m.units(1),
                                                 .flags = 1}));
     }},
    {"BindsNoObjectsAddresses", RuleId::handle_is_multicast,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       must(m.map(address, 1, object_of(m, 1, 1)));
       static_cast<void>(m->multicast_bind_addr(
           {.multicast = object_of(m, 1, 1), .address = address, .size = m.units(1)}));
     }},
    {"UnbindsOfADeviceThatThereIs", RuleId::device_unknown,
     [](RuleMachine& m) {
       static_cast<void>(m->multicast_unbind(
           {.multicast = object_of(m, 1, 1), .device = DeviceOrdinal(9), .size = m.units(1)}));
     }},
};

template <class Request>
void unbind_other(RuleMachine& m, Request change) {
  const AllocationHandle multicast = object_of(m, 2, 2);
  must(bind(m, {.multicast = multicast, .memory = m.create(1), .size = m.units(1)}));
  MulticastUnbindRequest request = {.multicast = multicast, .device = device_0, .size = m.units(1)};
  change(request);
  static_cast<void>(m->multicast_unbind(request));
}

const Clause unbind_clauses[] = {
    {"NamesTheDevice", RuleId::unbind_not_bound,
     [](RuleMachine& m) { unbind_other(m, [](auto& of) { of.device = device_1; }); }},
    {"NamesTheOffset", RuleId::unbind_not_bound,
     [](RuleMachine& m) { unbind_other(m, [](auto& of) { of.multicast_offset = 2_MiB; }); }},
    {"NamesTheSize", RuleId::unbind_not_bound,
     [](RuleMachine& m) { unbind_other(m, [](auto& of) { of.size = 4_MiB; }); }},
};

constexpr StreamHandle own_stream{2};  // of the thread

ContextHandle second_context(RuleMachine& m) { return must(m->ctx_create({.device = device_0})); }

const Clause order_clauses[] = {
    {"WaitsForAStreamThatIs", RuleId::unknown_handle,
     [](RuleMachine& m) { static_cast<void>(m->stream_synchronize(StreamHandle(77))); }},
    {"FillsInAStreamThatIs", RuleId::unknown_handle,
     [](RuleMachine& m) {
       static_cast<void>(
           m->memset_d8_async({.set = {.destination = m.mapped(1), .value = 1, .size = 1_B},
                               .stream = StreamHandle(77)}));
     }},
    {"AsksAnEventThatIs", RuleId::unknown_handle,
     [](RuleMachine& m) { static_cast<void>(m->event_query(EventHandle(77))); }},
    {"WaitsInAStreamForAnEventThatIs", RuleId::unknown_handle,
     [](RuleMachine& m) {
       const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
       static_cast<void>(m->stream_wait_event({.stream = stream, .event = EventHandle(77)}));
     }},
    {"MakesAContextCurrentThatIs", RuleId::unknown_handle,
     [](RuleMachine& m) { static_cast<void>(m->ctx_set_current(ContextHandle(77))); }},
    {"SynchronizesADefaultStreamInAContext", RuleId::no_current_context,
     [](RuleMachine& m) {
       must(m->ctx_set_current({}));
       static_cast<void>(m->stream_synchronize({}));
     }},
    {"SynchronizesAnotherInNone", RuleId::none,
     [](RuleMachine& m) {
       const StreamHandle stream = must(m->stream_create(StreamFlags::non_blocking));
       must(m->ctx_set_current({}));
       must(m->stream_synchronize(stream));
     }},
    {"RecordsInADefaultStreamInAContext", RuleId::no_current_context,
     [](RuleMachine& m) {
       const EventHandle event = must(m->event_create(EventFlags::none));
       must(m->ctx_set_current({}));
       static_cast<void>(m->event_record({.event = event}));
     }},
    {"WaitsInADefaultStreamInALiveContext", RuleId::current_context_destroyed,
     [](RuleMachine& m) {
       const EventHandle event = must(m->event_create(EventFlags::none));
       const ContextHandle gone = must(m->ctx_create({.device = device_0}));
       std::thread([&] { must(m->ctx_destroy(gone)); }).join();
       static_cast<void>(m->stream_wait_event({.stream = {}, .event = event}));
     }},
    // A pool's memory outlives them.
    {"FreesInALiveContext", RuleId::current_context_destroyed,
     [](RuleMachine& m) {
       const DeviceAddress address = must(m->mem_alloc_async({.size = 16_B}));
       must(m->device_primary_ctx_reset(device_0));
       static_cast<void>(m->mem_free(address));
     }},
    {"FreesInNone", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress address = must(m->mem_alloc_async({.size = 16_B}));
       must(m->ctx_set_current({}));
       must(m->mem_free(address));
     }},
    // Only the last reference's end is the context's.
    {"WorkOutlivesAReference", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       must(m->device_primary_ctx_retain(device_0));
       const DeviceAddress address = m.mapped(1);
       must(m.launch(address));
       must(m->device_primary_ctx_release(device_0));
       must(m.unmap(address, 1));
     }},
    {"LaunchesOnWhatItsContextHad", RuleId::launch_not_mapped,
     [](RuleMachine& m) {
       const DeviceAddress address = must(m->mem_alloc(16_B));
       must(m->device_primary_ctx_reset(device_0));
       must(m->device_primary_ctx_retain(device_0));
       static_cast<void>(m.launch(address));
     }},
    {"StreamsHaveKnownFlags", RuleId::flags_unknown,
     [](RuleMachine& m) { static_cast<void>(m->stream_create(static_cast<StreamFlags>(2))); }},
    // The other device's work goes with its context, and so does what waits for it.
    {"WorkEndsWithItsContext", RuleId::none,
     [](RuleMachine& m) {
       const ContextHandle context = second_context(m);
       const DeviceAddress address = m.mapped(1);
       must(m.launch(address));
       must(m->ctx_destroy(context));
       must(m.unmap(address, 1));
     }},
    // A copy's two sides and a kernel's two places are all in use.
    {"CopiesWrite", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress to = m.mapped(1);
       must(m->memcpy_dtod({.destination = to, .source = m.mapped(1), .size = 1_B}));
       must(m.unmap(to, 1));
     }},
    {"CopiesRead", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress from = m.mapped(1);
       must(m->memcpy_dtod({.destination = m.mapped(1), .source = from, .size = 1_B}));
       must(m.unmap(from, 1));
     }},
    {"KernelsWriteTheirResult", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress result = m.mapped(1);
       must(m->launch_touch({.address = m.mapped(1), .touch = Touch::read, .result = result}));
       must(m.unmap(result, 1));
     }},
    {"WhereTheyMay", RuleId::launch_no_access,
     [](RuleMachine& m) {
       const DeviceAddress result = m.reserve(1);
       m.fill(result, 1);
       must(m->launch_touch({.address = m.mapped(1), .touch = Touch::read, .result = result}));
     }},
    // A write has no result, whatever it names.
    {"ButAWriteHasNone", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress result = m.reserve(1);
       m.fill(result, 1);
       must(m->launch_touch({.address = m.mapped(1), .touch = Touch::write, .result = result}));
     }},
    // One more piece of the same work: only the last one's end proves that the range is free.
    {"TheLastOfTheSameCounts", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       const StreamHandle stream = must(m->stream_create(StreamFlags::non_blocking));
       const EventHandle event = must(m->event_create(EventFlags::none));
       must(m.launch(address, stream));
       must(m->event_record({.event = event, .stream = stream}));
       must(m.launch(address, stream));
       must(m->event_synchronize(event));
       must(m.unmap(address, 1));
     }},
    {"TheThreadsOwnStreamIsAnother", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       const StreamHandle stream = must(m->stream_create(StreamFlags::non_blocking));
       must(m.launch(address, stream));
       must(m->stream_synchronize(own_stream));
       must(m.unmap(address, 1));
     }},
    {"AndIsWaitedForByItself", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       must(m.launch(address, own_stream));
       must(m->stream_synchronize(own_stream));
       must(m.unmap(address, 1));
     }},
    // Its work goes on, and the next stream's end says nothing of it.
    {"WorkOutlivesItsStream", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       const StreamHandle stream = must(m->stream_create(StreamFlags::non_blocking));
       must(m.launch(address, stream));
       must(m->stream_destroy(stream));
       must(m->stream_synchronize(must(m->stream_create(StreamFlags::non_blocking))));
       must(m.unmap(address, 1));
     }},
    // The default stream waits for the blocking ones of its context alone.
    {"ContextsDoNotWaitForEachOther", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       must(m.launch(address, must(m->stream_create(StreamFlags::blocking))));
       second_context(m);
       must(m->stream_synchronize({}));
       must(m.unmap(address, 1));
     }},
    {"RecordsInItsOwnContext", RuleId::event_of_other_context,
     [](RuleMachine& m) {
       const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
       second_context(m);
       const EventHandle event = must(m->event_create(EventFlags::none));
       static_cast<void>(m->event_record({.event = event, .stream = stream}));
     }},
    // Made where the layer did not see it: the driver knows.
    {"KnowsOnlyItsOwnStreams", RuleId::none,
     [](RuleMachine& m) {
       const StreamHandle stream = must(m.simulator().stream_create(StreamFlags::blocking));
       must(m->stream_synchronize(stream));
       const EventHandle event = must(m.simulator().event_create(EventFlags::none));
       must(m->event_record({.event = event, .stream = stream}));
       must(m->event_record({.event = event}));
       must(m->event_synchronize(event));
     }},
};

const Clause clauses_of_others[] = {
    {"ALimitCanBeReadThatIsOne", RuleId::limit_unknown,
     [](RuleMachine& m) { static_cast<void>(m->ctx_get_limit(ContextLimit(3))); }},
    {"L2IsLimitedByTheDevice", RuleId::limit_too_large,
     [](RuleMachine& m) {
       static_cast<void>(
           m->ctx_set_limit({.limit = ContextLimit::persisting_l2_cache_size, .value = 1_GiB}));
     }},
    {"PeersKnowNoFlags", RuleId::flags_unknown,
     [](RuleMachine& m) {
       static_cast<void>(m->ctx_enable_peer_access({.peer = second_context(m), .flags = 1}));
     }},
    {"APeerThatIsThere", RuleId::device_unknown,
     [](RuleMachine& m) {
       static_cast<void>(m->device_can_access_peer({.device = device_0, .peer = DeviceOrdinal(9)}));
     }},
    {"DestroysAContext", RuleId::null_handle,
     [](RuleMachine& m) { static_cast<void>(m->ctx_destroy(ContextHandle())); }},
    {"APitchHasWidth", RuleId::alloc_size_zero,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_alloc_pitch({.width = Bytes(), .height = 1, .element_size = 4}));
     }},
    {"APitchHasHeight", RuleId::alloc_size_zero,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_alloc_pitch({.width = 1_B, .height = 0, .element_size = 4}));
     }},
    {"AnOptionOfGranularity", RuleId::flags_unknown,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_get_allocation_granularity(
           {.properties = {}, .option = static_cast<GranularityOption>(2)}));
     }},
    {"HostMemoryHasFlags", RuleId::flags_unknown,
     [](RuleMachine& m) { static_cast<void>(m->mem_host_alloc({.size = 1_B, .flags = 8})); }},
    {"NumaNodesAreNotNegative", RuleId::create_location,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_create(
           {.size = m.units(1), .properties = {.location = {.type = on_host, .id = -1}}}));
     }},
    {"CompressionIsGeneric", RuleId::create_compression,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_create(
           {.size = m.units(1), .properties = {.compression = static_cast<Compression>(2)}}));
     }},
    {"AlignmentHasAnEnd", RuleId::reserve_alignment,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_address_reserve(
           {.size = m.units(1), .alignment = Bytes(std::uint64_t{1} << 63U)}));
     }},
    {"ExportsOneType", RuleId::export_not_one_type,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_export_to_shareable_handle(
           {.handle = m.exportable(), .type = HandleTypes::none}));
     }},
    // Whether it can be, the driver knows.
    {"ExportsMulticastObjects", RuleId::none,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_export_to_shareable_handle({.handle = object_of(m, 1, 1)}));
     }},
    {"AccessIsForSomebody", RuleId::null_pointer,
     [](RuleMachine& m) {
       const std::span<const AccessDescriptor> nowhere(static_cast<AccessDescriptor*>(nullptr), 1);
       static_cast<void>(
           m->mem_set_access({.address = m.mapped(1), .size = m.units(1), .descriptors = nowhere}));
     }},
    {"AccessIsWrittenSomewhere", RuleId::null_pointer,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_get_access({.address = m.mapped(1), .null_pointers = nowhere_to}));
     }},
    {"SoIsTheGranularity", RuleId::null_pointer,
     [](RuleMachine& m) {
       static_cast<void>(
           m->mem_get_allocation_granularity({.properties = {}, .null_pointers = nowhere_to}));
     }},
    {"SoAreProperties", RuleId::null_pointer,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_get_allocation_properties_from_handle(
           {.handle = m.create(1), .null_pointers = nowhere_to}));
     }},
    {"ManagedMemoryIsFreedFromItsBegin", RuleId::free_inside_allocation,
     [](RuleMachine& m) {
       const DeviceAddress memory = must(m->mem_alloc_managed({.size = 4_KiB}));
       static_cast<void>(m->mem_free(memory + 1_B));
     }},
    {"MapsWithin64Bits", RuleId::range_wraps,
     [](RuleMachine& m) {
       static_cast<void>(
           m->mem_map({.address = m.reserve(1), .size = last_unit, .handle = foreign(m, 1)}));
     }},
    // What was freed there is not what the program means: it thinks that its hint was honoured.
    {"FreesWhereTheHintWas", RuleId::uses_refused_hint,
     [](RuleMachine& m) {
       const DeviceAddress taken = m.reserve(1);
       EXPECT_NE(m.reserve(1, taken), taken);
       must(m.free(taken, 1));
       static_cast<void>(m.free(taken, 1));
     }},
    {"MapsAllOfForeignMemory", RuleId::none,
     [](RuleMachine& m) { must(m.map(m.reserve(2), 2, foreign(m, 2))); }},
    {"BindsWithinForeignMemoryOnceItWasMapped", RuleId::binding_outside,
     [](RuleMachine& m) {
       const AllocationHandle handle = foreign(m, 1);
       must(m.map(m.reserve(1), 1, handle));
       static_cast<void>(
           bind(m, {.multicast = object_of(m, 1, 2), .memory = handle, .size = m.units(2)}));
     }},
    {"MapsAllOfForeignMemoryAgain", RuleId::map_not_whole_handle,
     [](RuleMachine& m) {
       const AllocationHandle handle = foreign(m, 2);
       must(m.map(m.reserve(2), 2, handle));
       static_cast<void>(m.map(m.reserve(1), 1, handle));
     }},
};

class EachClause : public ::testing::TestWithParam<Clause> {};

TEST_P(EachClause, IsLookedAt) { expect_clause(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Multicast, EachClause, ::testing::ValuesIn(multicast_clauses), name_of);
INSTANTIATE_TEST_SUITE_P(Unbind, EachClause, ::testing::ValuesIn(unbind_clauses), name_of);
INSTANTIATE_TEST_SUITE_P(Order, EachClause, ::testing::ValuesIn(order_clauses), name_of);
INSTANTIATE_TEST_SUITE_P(Others, EachClause, ::testing::ValuesIn(clauses_of_others), name_of);

}  // namespace
}  // namespace tessera::rules
