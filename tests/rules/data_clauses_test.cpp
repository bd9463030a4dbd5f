// As in clauses_test.cpp, of the rules about copies, and of what a refused set access did.
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "rule_machine.h"

namespace tessera::rules {
namespace {

constexpr LocationType on_host = LocationType::host_numa;

std::span<std::byte> no_memory_of(std::size_t size) {
  return {static_cast<std::byte*>(nullptr), size};
}
Status from_host(RuleMachine& m, DeviceAddress to, StreamHandle stream) {
  static std::array<std::byte, 16> bytes = {};
  return m->memcpy_htod_async({.copy = {.destination = to, .source = bytes}, .stream = stream});
}
Status to_host(RuleMachine& m, DeviceAddress from, StreamHandle stream) {
  static std::array<std::byte, 16> bytes = {};
  return m->memcpy_dtoh_async({.copy = {.destination = bytes, .source = from}, .stream = stream});
}
StreamHandle destroyed_stream(RuleMachine& m) {
  const StreamHandle stream = must(m->stream_create(StreamFlags::blocking));
  must(m->stream_destroy(stream));
  return stream;
}
// A unit of memory on the host that only the host may touch.
DeviceAddress of_host(RuleMachine& m, AccessFlags flags = AccessFlags::read_write) {
  const DeviceAddress address = m.reserve(2);
  must(m.map(address, 1, m.create(1, {.location = {.type = on_host}})));
  must(m.allow_for(address, 1, {.type = LocationType::host}, flags));
  return address;
}

// The last byte of memory on the host that both have access to; memory of the device alone follows.
DeviceAddress across(RuleMachine& m) {
  const DeviceAddress address = of_host(m);
  must(m.allow(address, 1));
  m.fill(address + m.units(1), 1);
  must(m.allow(address + m.units(1), 1));
  return address + (m.units(1) - 1_B);
}

// A unit of memory on the host that only the host may touch, with an allocation behind it.
DeviceAddress beside_an_allocation(RuleMachine& m) {
  std::vector<DeviceAddress> ranges;
  for (;;) {
    const DeviceAddress allocation = must(m->mem_alloc(m.units(1)));
    ranges.push_back(m.reserve(1));
    for (const DeviceAddress range : ranges) {
      if (range + m.units(1) == allocation) {
        must(m.map(range, 1, m.create(1, {.location = {.type = on_host}})));
        must(m.allow_for(range, 1, {.type = LocationType::host}, AccessFlags::read_write));
        return range;
      }
    }
  }
}

const Clause data_clauses[] = {
    {"CopiesFromSomewhere", RuleId::null_pointer,
     [](RuleMachine& m) {
       static_cast<void>(m->memcpy_htod({.destination = m.mapped(1), .source = no_memory_of(1)}));
     }},
    {"CopiesToSomewhere", RuleId::null_pointer,
     [](RuleMachine& m) {
       static_cast<void>(m->memcpy_dtoh({.destination = no_memory_of(1), .source = m.mapped(1)}));
     }},
    {"CopiesNothingFromNowhere", RuleId::none,
     [](RuleMachine& m) {
       must(m->memcpy_htod({.destination = m.mapped(1), .source = no_memory_of(0)}));
     }},
    {"WritesInALiveStream", RuleId::stream_destroyed,
     [](RuleMachine& m) { static_cast<void>(from_host(m, m.mapped(1), destroyed_stream(m))); }},
    {"ReadsInALiveStream", RuleId::stream_destroyed,
     [](RuleMachine& m) { static_cast<void>(to_host(m, m.mapped(1), destroyed_stream(m))); }},
    {"CopiesInALiveStream", RuleId::stream_destroyed,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       static_cast<void>(m->memcpy_dtod_async(
           {.copy = {.destination = address, .source = address + 8_B, .size = 1_B},
            .stream = destroyed_stream(m)}));
     }},
    {"FillsInALiveStream", RuleId::stream_destroyed,
     [](RuleMachine& m) {
       static_cast<void>(
           m->memset_d8_async({.set = {.destination = m.mapped(1), .value = 0, .size = 1_B},
                               .stream = destroyed_stream(m)}));
     }},
    {"LaunchesInALiveStream", RuleId::stream_destroyed,
     [](RuleMachine& m) { static_cast<void>(m.launch(m.mapped(1), destroyed_stream(m))); }},
    {"CopiesWithin64Bits", RuleId::range_wraps,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       static_cast<void>(m->memcpy_dtod(
           {.destination = address, .source = address, .size = Bytes(~std::uint64_t{0})}));
     }},
    {"QueuedWritesHaveAccess", RuleId::copy_no_access,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       m.fill(address, 1);
       static_cast<void>(from_host(m, address, {}));
     }},
    {"QueuedReadsHaveAccess", RuleId::copy_no_access,
     [](RuleMachine& m) {
       const DeviceAddress address = m.reserve(1);
       m.fill(address, 1);
       static_cast<void>(to_host(m, address, {}));
     }},
    {"TheCpuCopiesToPinnedMemory", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress address = of_host(m);
       must(from_host(m, address, {}));
       must(to_host(m, address, {}));
       std::byte* pinned = must(m->mem_host_alloc({.size = 16_B}));
       must(m->memcpy_htod({.destination = address, .source = std::span(pinned, 16)}));
       must(m.unmap(address, 1));
     }},
    {"WhatTheCpuWroteIsDone", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress host = of_host(m);
       must(m->memcpy_dtod({.destination = host, .source = m.mapped(1), .size = 1_B}));
       must(m.unmap(host, 1));
     }},
    // That a call waits for the CPU to write is one driver's way.
    {"WhatTheStreamHeldBeforeIsNot", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress device = m.mapped(1);
       must(m.launch(device));
       must(m->memcpy_dtod({.destination = of_host(m), .source = m.mapped(1), .size = 1_B}));
       must(m.unmap(device, 1));
     }},
    {"ACopyOfNothingWaitsForNothing", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress address = m.mapped(1);
       must(m.launch(address));
       must(m->memcpy_htod({.destination = address, .source = no_memory_of(0)}));
       must(m->memcpy_dtoh({.destination = no_memory_of(0), .source = address}));
       must(m.unmap(address, 1));
     }},
    // Only what mem_host_alloc gave is pinned.
    {"ManagedMemoryIsStagedToo", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress source = must(m->mem_alloc_managed({.size = 16_B}));
       const DeviceAddress address = m.mapped(1);
       const auto* bytes = reinterpret_cast<const std::byte*>(source.value());
       must(m->memcpy_htod({.destination = address, .source = std::span(bytes, 16)}));
       must(m.unmap(address, 1));
     }},
    // What it has read it has read; the device may still be writing.
    {"WhatTheCpuReadIsDone", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress host = of_host(m);
       must(m->memcpy_dtod({.destination = m.mapped(1), .source = host, .size = 1_B}));
       must(m.unmap(host, 1));
     }},
    {"WhatTheDeviceWritesIsNot", RuleId::unmap_in_flight,
     [](RuleMachine& m) {
       const DeviceAddress device = m.mapped(1);
       must(m->memcpy_dtod({.destination = device, .source = of_host(m), .size = 1_B}));
       must(m.unmap(device, 1));
     }},
    {"TheCpuFindsAHole", RuleId::copy_no_access_on_host,
     [](RuleMachine& m) {
       static_cast<void>(
           m->memcpy_dtod({.destination = m.mapped(2), .source = of_host(m), .size = m.units(2)}));
     }},
    {"TheCpuOnlyReads", RuleId::copy_no_access_on_host,
     [](RuleMachine& m) { static_cast<void>(m.put(of_host(m, AccessFlags::read))); }},
    {"TheCpuCopiesBetweenWhatItReaches", RuleId::copy_no_access_on_host,
     [](RuleMachine& m) { static_cast<void>(to_host(m, across(m), {})); }},
    {"AlsoFromTheProgramsMemory", RuleId::copy_no_access_on_host,
     [](RuleMachine& m) { static_cast<void>(from_host(m, across(m), {})); }},
    {"AlsoToPinnedMemory", RuleId::copy_no_access_on_host,
     [](RuleMachine& m) {
       const auto pinned = std::bit_cast<std::uintptr_t>(must(m->mem_host_alloc({.size = 4_B})));
       static_cast<void>(m->memcpy_dtod(
           {.destination = DeviceAddress(pinned), .source = across(m), .size = 4_B}));
     }},
    {"AlsoALittleThatItReads", RuleId::copy_no_access_on_host,
     [](RuleMachine& m) {
       static_cast<void>(m->memcpy_dtod(
           {.destination = m.mapped(1), .source = across(m), .size = Bytes(24 << 10)}));
     }},
    {"NotMuch", RuleId::none,
     [](RuleMachine& m) {
       must(m->memcpy_dtod(
           {.destination = m.mapped(1), .source = across(m), .size = Bytes((24 << 10) + 1)}));
     }},
    {"NotToManagedMemory", RuleId::none,
     [](RuleMachine& m) {
       const DeviceAddress managed = must(m->mem_alloc_managed({.size = 4_B}));
       must(m->memcpy_dtod({.destination = managed, .source = across(m), .size = 4_B}));
     }},
    {"NotWhatItWouldWrite", RuleId::none,
     [](RuleMachine& m) {
       must(m->memcpy_dtod({.destination = across(m), .source = m.mapped(1), .size = 4_B}));
     }},
    {"TheDeviceIsLookedAtFirst", RuleId::copy_no_access,
     [](RuleMachine& m) {
       const DeviceAddress address = across(m);
       must(m.allow(address + 1_B, 1, device_0, AccessFlags::none));
       static_cast<void>(to_host(m, address, {}));
     }},
    // Pinned memory beside it is the CPU's, too; a device's is not.
    {"TheCpuStopsAtADevicesAllocation", RuleId::copy_no_access_on_host,
     [](RuleMachine& m) {
       const DeviceAddress host = beside_an_allocation(m);
       static_cast<void>(
           m->memcpy_dtod({.destination = m.mapped(1), .source = host, .size = m.units(1) + 1_B}));
     }},
    // Copies go between any devices, fills only where peer access is enabled.
    {"FillsOfAPeersAllocation", RuleId::copy_no_access,
     [](RuleMachine& m) {
       const DeviceAddress address = must(m->mem_alloc(16_B));
       must(m->ctx_create({.device = device_1}));
       static_cast<void>(m->memset_d8({.destination = address, .value = 1, .size = 16_B}));
     }},
    {"DmaBufsOverPcieAreNotSupported", RuleId::none,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_get_handle_for_address_range(
           {.address = m.mapped(1), .size = Bytes(4096), .flags = 1}));
     }},
    {"DmaBufsKnowOneFlag", RuleId::flags_unknown,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_get_handle_for_address_range(
           {.address = m.mapped(1), .size = Bytes(4096), .flags = 2}));
     }},
    {"DmaBufsBeginAtAPage", RuleId::range_handle_unaligned,
     [](RuleMachine& m) {
       static_cast<void>(m->mem_get_handle_for_address_range(
           {.address = m.mapped(1) + 1_B, .size = Bytes(4096)}));
     }},
};

Status allow_both(RuleMachine& m, DeviceAddress address, std::uint64_t count,
                  AccessDescriptor first, AccessDescriptor second) {
  const std::array descriptors = {first, second};
  return m->mem_set_access(
      {.address = address, .size = m.units(count), .descriptors = descriptors});
}
constexpr AccessDescriptor for_host = {.location = {.type = LocationType::host},
                                       .flags = AccessFlags::read_write};
constexpr AccessDescriptor for_no_device = {.location = on_device(DeviceOrdinal(5)),
                                            .flags = AccessFlags::read_write};
constexpr AccessDescriptor for_device = {.location = on_device(device_0),
                                         .flags = AccessFlags::read_write};

DeviceAddress without_first_mapping(RuleMachine& m) {
  const auto row = m.rdma_row();
  must(m.unmap(row.first, 1));
  return row.second;
}

// A call that was refused for what it asks for did nothing: each of these has one finding, for
// that.
const Clause refusals_without_effect[] = {
    {"OfADeviceThatIsNotThere", RuleId::device_unknown,
     [](RuleMachine& m) {
       const DeviceAddress address = without_first_mapping(m);
       EXPECT_FALSE(allow_both(m, address, 2, for_device, for_no_device));
       must(m.allow(address + m.units(1), 1));
     }},
    {"OfFlagsThatAreNone", RuleId::access_flags_unknown,
     [](RuleMachine& m) {
       const DeviceAddress address = without_first_mapping(m);
       EXPECT_FALSE(m.allow(address, 2, device_0, static_cast<AccessFlags>(7)));
       must(m.allow(address + m.units(1), 1));
     }},
    // Done in part: device 0 lost its access, and with it the registration.
    {"UpToWhatWasRefused", RuleId::access_host_to_device_memory,
     [](RuleMachine& m) {
       const DeviceAddress address = without_first_mapping(m);
       must(m.allow(address, 1));
       EXPECT_FALSE(allow_both(
           m, address, 1, {.location = on_device(device_0), .flags = AccessFlags::none}, for_host));
       must(m.allow(address + m.units(1), 1));
     }},
};

// What the driver says of a range that no rule may look at tells nothing.
TEST(DataClauses, AreSilentOfRangesBeyond64Bits) {
  RuleMachine m(h200(), ValidationMode::report, {RuleId::range_wraps});
  const DeviceAddress address = m.mapped(1);
  const Bytes endless = align_down(Bytes(~std::uint64_t{0}), 2_MiB);
  EXPECT_FALSE(m->memset_d8({.destination = address, .value = 1, .size = endless}));
  EXPECT_FALSE(m->mem_get_handle_for_address_range({.address = address, .size = endless}));
  EXPECT_THAT(m->findings(), testing::IsEmpty());
}

// Only the peer is known to have lost what it had: the host may have access.
TEST(DataClauses, AreSilentWhereTheHostsAccessIsNotKnown) {
  RuleMachine m(h200(), ValidationMode::report);
  const DeviceAddress address = of_host(m);
  m.fill(address + m.units(1), 1);
  const std::array host_only = {
      AccessDescriptor{.location = {.type = LocationType::host}, .flags = AccessFlags::read_write}};
  EXPECT_FALSE(
      m->mem_set_access({.address = address, .size = m.units(2), .descriptors = host_only}));
  const std::size_t before = m->findings().size();
  must(to_host(m, address, {}));
  EXPECT_EQ(m->findings().size(), before);
}

class EachDataClause : public ::testing::TestWithParam<Clause> {};

TEST_P(EachDataClause, IsLookedAt) { expect_clause(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Data, EachDataClause, ::testing::ValuesIn(data_clauses), name_of);
INSTANTIATE_TEST_SUITE_P(NoEffect, EachDataClause, ::testing::ValuesIn(refusals_without_effect),
                         name_of);

}  // namespace
}  // namespace tessera::rules
