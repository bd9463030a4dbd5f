// The books of what is live, and what they say is left.
#include "tessera/ledger.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <vector>

#include <gmock/gmock.h>

namespace tessera {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr AllocationHandle first_handle(0x11);
constexpr AllocationHandle second_handle(0x22);
constexpr DeviceAddress base(0x302000000);

MadeBy by(std::uint64_t number, Call call = Call::mem_create) {
  return {.call_number = number, .call = call};
}

std::vector<LeakKind> kinds(const LiveObjects& objects) {
  std::vector<LeakKind> kinds;
  for (const LeakEntry& entry : leak_report_of(objects).entries) {
    kinds.push_back(entry.kind);
  }
  return kinds;
}

void map(LiveObjects& objects, std::uint64_t unit, AllocationHandle handle, std::uint64_t number) {
  objects.add_mapping(AddressRange(base + 2_MiB * unit, 2_MiB), handle, Bytes(),
                      by(number, Call::mem_map));
}

TEST(LiveObjects, OneUnmapTakesAllMappingsInItsRangeAndNoOther) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  for (std::uint64_t i = 0; i < 5; ++i) {
    map(objects, i, first_handle, 2 + i);
  }
  objects.remove_mappings(AddressRange(base + 2_MiB, 6_MiB), by(7, Call::mem_unmap));
  EXPECT_NE(objects.mapping_at(base), nullptr);
  EXPECT_EQ(objects.mapping_at(base + 2_MiB), nullptr);
  EXPECT_EQ(objects.mapping_at(base + 6_MiB), nullptr);
  EXPECT_NE(objects.mapping_at(base + 8_MiB), nullptr);
  EXPECT_EQ(objects.handle(first_handle)->mappings, 2U);
  EXPECT_EQ(objects.mapping_from(base + 2_MiB), objects.mapping_at(base + 8_MiB));
  EXPECT_EQ(objects.mapping_before(base + 8_MiB), objects.mapping_at(base));
}

TEST(LiveObjects, AMemoryLivesWhileAnyHandleOrMappingDoes) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  map(objects, 0, first_handle, 2);
  // Some drivers give another value for the same memory.
  objects.add_retained(second_handle, base, by(3, Call::mem_retain_allocation_handle));
  EXPECT_EQ(objects.memory_of(first_handle), objects.memory_of(second_handle));
  objects.remove_reference(first_handle, by(4, Call::mem_release));
  objects.remove_mappings(AddressRange(base, 2_MiB), by(5, Call::mem_unmap));
  EXPECT_EQ(objects.handle(first_handle), nullptr);
  EXPECT_EQ(objects.dead(DeadKind::handle, first_handle.value())->ended.call_number, 5U);
  EXPECT_THAT(kinds(objects), ElementsAre(LeakKind::retain_reference));
  objects.remove_reference(second_handle, by(6, Call::mem_release));
  EXPECT_TRUE(leak_report_of(objects).is_empty());
}

// What the layer did not see made it leaves alone, whatever is said of it.
TEST(LiveObjects, KnowNothingOfWhatTheyDidNotSee) {
  LiveObjects objects;
  objects.remove_reservation(base, by(1, Call::mem_address_free));
  objects.add_retained(first_handle, base, by(2, Call::mem_retain_allocation_handle));
  objects.remove_reference(first_handle, by(3, Call::mem_release));
  objects.add_descriptor(0, first_handle, by(4, Call::mem_export_to_shareable_handle));
  objects.add_fabric_export(first_handle);
  objects.add_multicast_device(first_handle, DeviceOrdinal(0));
  objects.add_binding(first_handle, 0, Bytes(), 2_MiB, by(5, Call::multicast_bind_mem));
  objects.remove_binding({.multicast = first_handle, .device = {}, .size = 2_MiB});
  objects.remove_stream(StreamHandle(7), by(6, Call::stream_destroy));
  objects.remove_event(EventHandle(7), by(7, Call::event_destroy));
  EXPECT_FALSE(objects.remove_allocation(base, by(8, Call::mem_free)).has_value());
  EXPECT_EQ(objects.handle(first_handle), nullptr);
  EXPECT_EQ(objects.memory_of(first_handle), nullptr);
  EXPECT_EQ(objects.mapping_before(base), nullptr);
  EXPECT_TRUE(leak_report_of(objects).is_empty());
}

// A retained handle of memory that is mapped no more, or was mapped elsewhere, is still known.
TEST(LiveObjects, KnowARetainedHandleWithoutItsMapping) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  objects.add_retained(first_handle, base, by(2, Call::mem_retain_allocation_handle));
  EXPECT_EQ(objects.handle(first_handle)->retained, 1U);
}

// A multicast object of one device under the first handle, and memory under the second.
MemoryIndex add_object_and_memory(LiveObjects& objects) {
  objects.add_multicast(first_handle, {.device_count = 1, .size = 4_MiB}, by(1));
  objects.add_memory(second_handle, 2_MiB, {}, by(2));
  objects.add_multicast_device(first_handle, DeviceOrdinal(0));
  return objects.handle(second_handle)->memory;
}

TEST(LiveObjects, UnbindOnlyWhatIsNamed) {
  LiveObjects objects;
  const MemoryIndex memory = add_object_and_memory(objects);
  objects.add_binding(first_handle, no_memory, Bytes(), 2_MiB, by(3, Call::multicast_bind_mem));
  objects.add_binding(first_handle, memory, Bytes(), 2_MiB, by(4, Call::multicast_bind_mem));
  const MulticastUnbindRequest named = {
      .multicast = first_handle, .device = DeviceOrdinal(0), .size = 2_MiB};
  for (const int wrong : {0, 1, 2}) {
    MulticastUnbindRequest request = named;
    request.device = DeviceOrdinal(wrong == 0 ? 1 : 0);
    request.multicast_offset = wrong == 1 ? 2_MiB : Bytes();
    request.size = wrong == 2 ? 4_MiB : 2_MiB;
    objects.remove_binding(request);
    EXPECT_EQ(objects.memory(memory).bindings, 1U);
  }
  objects.remove_binding(named);
  EXPECT_EQ(objects.memory(memory).bindings, 0U);
}

// Memory that only a binding held goes with it: its place is given to the next.
TEST(LiveObjects, LetMemoryGoWithItsLastBinding) {
  for (const bool unbinds : {true, false}) {
    LiveObjects objects;
    const MemoryIndex memory = add_object_and_memory(objects);
    objects.add_binding(first_handle, memory, Bytes(), 2_MiB, by(3, Call::multicast_bind_mem));
    objects.remove_reference(second_handle, by(4, Call::mem_release));
    EXPECT_TRUE(objects.memory(memory).is_live());
    if (unbinds) {
      objects.remove_binding({.multicast = first_handle, .device = {}, .size = 2_MiB});
    } else {
      objects.remove_reference(first_handle, by(5, Call::mem_release));
    }
    EXPECT_FALSE(objects.memory(memory).is_live());
    // Of an object that is gone, its own place is the last that became free.
    objects.add_memory(AllocationHandle(0x33), 2_MiB, {}, by(6));
    objects.add_memory(AllocationHandle(0x44), 2_MiB, {}, by(7));
    EXPECT_TRUE(objects.handle(AllocationHandle(0x33))->memory == memory ||
                objects.handle(AllocationHandle(0x44))->memory == memory);
  }
}

// A descriptor's number that is given again was closed before.
TEST(LiveObjects, ForgetADescriptorWhoseNumberIsGivenAgain) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  objects.add_memory(second_handle, 2_MiB, {}, by(2));
  constexpr int number = 1;  // an open file
  const MemoryIndex first = objects.handle(first_handle)->memory;
  const MemoryIndex second = objects.handle(second_handle)->memory;
  objects.add_descriptor(number, first_handle, by(3, Call::mem_export_to_shareable_handle));
  EXPECT_EQ(objects.memory(first).descriptors, 1U);
  objects.add_descriptor(number, second_handle, by(4, Call::mem_export_to_shareable_handle));
  EXPECT_EQ(objects.memory(first).descriptors, 0U);
  EXPECT_EQ(objects.memory(second).descriptors, 1U);
  objects.add_range_descriptor(number, 4_KiB, by(5, Call::mem_get_handle_for_address_range));
  EXPECT_EQ(objects.memory(second).descriptors, 0U);
}

// A set access of memory for GPU-direct RDMA that fails in the middle: what came first is done.
TEST(LiveObjects, NoteWhatAFailedSetAccessRegistered) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {.gpu_direct_rdma_capable = 1}, by(1));
  for (std::uint64_t i = 0; i < 3; ++i) {
    map(objects, i, first_handle, 2 + i);
  }
  objects.remove_mappings(AddressRange(base, 2_MiB), by(5, Call::mem_unmap));
  EXPECT_FALSE(objects.handle(first_handle)->rdma->refuses_mappings());
  const std::array descriptors = {
      AccessDescriptor{.location = on_device({}), .flags = AccessFlags::read_write}};
  const SetAccessRequest request = {
      .address = base + 2_MiB, .size = 4_MiB, .descriptors = descriptors};
  const auto obstacle = objects.access_obstacle({request.address, request.size}, descriptors);
  ASSERT_TRUE(obstacle.has_value());
  EXPECT_EQ(obstacle->mapping, objects.mapping_at(base + 4_MiB));
  EXPECT_EQ(obstacle->code, ErrorCode::unknown);
  // Refused for another reason: nothing of it is known.
  objects.set_access_in_part(request, ErrorCode::out_of_memory);
  EXPECT_FALSE(objects.mapping_at(base + 2_MiB)->is_unknown({}));
  objects.set_access_in_part(request, ErrorCode::not_supported);
  EXPECT_TRUE(objects.mapping_at(base + 2_MiB)->is_unknown({}));
  EXPECT_FALSE(objects.handle(first_handle)->rdma->refuses_mappings());
  objects.remove_mappings(AddressRange(base + 2_MiB, 4_MiB), by(6, Call::mem_unmap));
  for (std::uint64_t i = 0; i < 3; ++i) {
    map(objects, i, first_handle, 7 + i);
  }
  objects.remove_mappings(AddressRange(base, 2_MiB), by(10, Call::mem_unmap));
  objects.set_access_in_part(request, ErrorCode::unknown);
  EXPECT_TRUE(objects.handle(first_handle)->rdma->refuses_mappings());
  EXPECT_EQ(objects.handle(first_handle)->rdma->unnoted(), base + 2_MiB);
  EXPECT_EQ(objects.mapping_at(base + 2_MiB)->access_of({}), AccessFlags::read_write);
  EXPECT_EQ(objects.mapping_at(base + 4_MiB)->access_of({}), AccessFlags::none);
  EXPECT_FALSE(objects.mapping_at(base + 4_MiB)->is_unknown({})) << "it is known how far it got";
}

TEST(LiveObjects, AHandleValueGivenAgainIsNewMemory) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  objects.remove_reference(first_handle, by(2, Call::mem_release));
  objects.add_memory(first_handle, 4_MiB, {}, by(3));
  EXPECT_EQ(objects.memory_of(first_handle)->size, 4_MiB);
  EXPECT_EQ(objects.handle(first_handle)->made.call_number, 3U);
}

// Mapped while nobody knew its handle, which came to be known later: the mapping is not its own.
TEST(LiveObjects, TellAStrangersMappingFromAHandlesOwn) {
  LiveObjects objects;
  map(objects, 0, first_handle, 1);
  objects.add_retained(first_handle, base, by(2, Call::mem_retain_allocation_handle));
  EXPECT_EQ(objects.handle(first_handle), nullptr);
  objects.add_imported(first_handle, -1, by(3, Call::mem_import_from_shareable_handle));
  map(objects, 1, first_handle, 4);
  objects.remove_mappings(AddressRange(base, 2_MiB), by(5, Call::mem_unmap));
  EXPECT_EQ(objects.handle(first_handle)->mappings, 1U);
  EXPECT_EQ(objects.mapping_at(base), nullptr);
}

// Some drivers give an import the handle that there is already.
TEST(LiveObjects, KnowAnImportByItsHandle) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  objects.add_imported(first_handle, -1, by(2, Call::mem_import_from_shareable_handle));
  EXPECT_FALSE(objects.memory_of(first_handle)->is_foreign);
  EXPECT_EQ(objects.handle(first_handle)->references(), 2U);
}

TEST(LiveObjects, TakeADmaBufForNoMemoryThatIsKnown) {
  LiveObjects objects;
  constexpr int number = 1;  // an open file
  objects.add_range_descriptor(number, 4_KiB, by(1, Call::mem_get_handle_for_address_range));
  objects.add_imported(first_handle, number, by(2, Call::mem_import_from_shareable_handle));
  EXPECT_TRUE(objects.memory_of(first_handle)->is_foreign);
}

TEST(LiveObjects, KeepNoDescriptorThatIsNotOpen) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  objects.add_descriptor(-1, first_handle, by(2, Call::mem_export_to_shareable_handle));
  objects.add_range_descriptor(-1, 4_KiB, by(3, Call::mem_get_handle_for_address_range));
  EXPECT_EQ(objects.memory_of(first_handle)->descriptors, 0U);
  EXPECT_THAT(kinds(objects), ElementsAre(LeakKind::create_reference));
}

// A driver may say OK to a release too many, while a mapping holds the memory.
TEST(LiveObjects, HaveNoFewerReferencesThanNone) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  map(objects, 0, first_handle, 2);
  objects.remove_reference(first_handle, by(3, Call::mem_release));
  objects.remove_reference(first_handle, by(4, Call::mem_release));
  EXPECT_EQ(objects.handle(first_handle)->references(), 0U);
  EXPECT_EQ(objects.handle(first_handle)->mappings, 1U);
}

// Neither is of any machine; a driver that says OK is believed to have done nothing.
TEST(LiveObjects, PassOverAccessThatNobodyCanHave) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  map(objects, 0, first_handle, 2);
  const std::array descriptors = {
      AccessDescriptor{.location = on_device(DeviceOrdinal(-1)), .flags = AccessFlags::read_write}};
  objects.set_access({.address = base, .size = 2_MiB, .descriptors = descriptors});
  objects.set_access(
      {.address = base, .size = Bytes(~std::uint64_t{0}), .descriptors = descriptors});
  EXPECT_EQ(objects.mapping_at(base)->readers, 0U);
  EXPECT_EQ(objects.mapping_at(base)->access_of(DeviceOrdinal(-1)), AccessFlags::none);
}

// Where it is not known who has access, nobody says that more is refused.
TEST(LiveObjects, SeeNoObstacleWhereAccessIsUnknown) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {.gpu_direct_rdma_capable = 1}, by(1));
  for (std::uint64_t i = 0; i < 3; ++i) {
    map(objects, i, first_handle, 2 + i);
  }
  objects.remove_mappings(AddressRange(base, 2_MiB), by(5, Call::mem_unmap));
  const std::array descriptors = {
      AccessDescriptor{.location = on_device({}), .flags = AccessFlags::read_write}};
  const AddressRange both(base + 2_MiB, 4_MiB);
  EXPECT_TRUE(objects.access_obstacle(both, descriptors).has_value());
  objects.set_access_in_part(
      {.address = both.begin(), .size = both.size(), .descriptors = descriptors},
      ErrorCode::not_supported);
  EXPECT_FALSE(objects.access_obstacle(both, descriptors).has_value());
}

TEST(LeakReport, NamesCallsThatWereNotSeenAndCountsReferences) {
  EXPECT_EQ(to_string(MadeBy()), "by a call that was not seen");
  const LeakEntry entry = {
      .kind = LeakKind::context, .value = 0x7, .size = {}, .count = 3, .made = by(2)};
  EXPECT_THAT(to_string(entry), HasSubstr("context 0x7: never given back (3 of them); made by"));
}

TEST(LiveObjects, SetAccessEndsAtTheFirstHole) {
  LiveObjects objects;
  objects.add_memory(first_handle, 2_MiB, {}, by(1));
  for (const std::uint64_t unit : {0U, 1U, 3U}) {
    map(objects, unit, first_handle, 2 + unit);
  }
  const AccessDescriptor access = {.location = on_device(DeviceOrdinal(1)),
                                   .flags = AccessFlags::read};
  objects.set_access({.address = base, .size = 8_MiB, .descriptors = std::span(&access, 1)});
  EXPECT_EQ(objects.mapping_at(base)->access_of(DeviceOrdinal(1)), AccessFlags::read);
  EXPECT_EQ(objects.mapping_at(base)->access_of(DeviceOrdinal(0)), AccessFlags::none);
  EXPECT_EQ(objects.mapping_at(base + 2_MiB)->access_of(DeviceOrdinal(1)), AccessFlags::read);
  EXPECT_EQ(objects.mapping_at(base + 6_MiB)->access_of(DeviceOrdinal(1)), AccessFlags::none);
}

// The books remember what they looked at last; a list that is searched anew each time does not.
TEST(LiveObjects, FindsTheMappingsThatAPlainListHas) {
  constexpr std::uint64_t units = 24;
  LiveObjects objects;
  std::array<std::optional<AddressRange>, units> plain;  // by the unit where it begins
  const auto first_after = [&](DeviceAddress address) -> std::optional<AddressRange> {
    for (const auto& range : plain) {
      if (range && range->end() > address) {
        return range;
      }
    }
    return std::nullopt;
  };
  const auto last_before = [&](DeviceAddress address) {
    std::optional<AddressRange> found;
    for (const auto& range : plain) {
      found = range && range->begin() < address ? range : found;
    }
    return found;
  };
  const auto range_of = [](const LiveMapping* mapping) {
    return mapping == nullptr ? std::nullopt : std::optional(mapping->range);
  };
  std::minstd_rand random(1);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (std::uint64_t step = 1; step <= 20'000; ++step) {
    const std::uint64_t unit = below(units);
    const std::uint64_t count = 1 + below(std::min<std::uint64_t>(3, units - unit));
    const AddressRange range(base + 2_MiB * unit, 2_MiB * count);
    switch (below(3)) {
      case 0:
        if (const auto next = first_after(range.begin()); !next || !next->intersects(range)) {
          objects.add_mapping(range, first_handle, Bytes(), by(step, Call::mem_map));
          plain[unit] = range;
        }
        break;
      case 1:
        objects.remove_mappings(range, by(step, Call::mem_unmap));
        for (auto& mapping : plain) {
          mapping = mapping && range.contains(*mapping) ? std::nullopt : mapping;
        }
        break;
      default:
        break;
    }
    const DeviceAddress address = base + 1_MiB * below(2 * units);
    const auto next = first_after(address);
    ASSERT_EQ(range_of(objects.mapping_from(address)), next) << step;
    ASSERT_EQ(range_of(objects.mapping_at(address)),
              next && next->contains(address) ? next : std::nullopt)
        << step;
    ASSERT_EQ(range_of(objects.mapping_before(address)), last_before(address)) << step;
  }
}

TEST(LiveObjects, KnowsWhatABindingHolds) {
  LiveObjects objects;
  objects.add_multicast(first_handle, {.device_count = 1, .size = 2_MiB},
                        by(1, Call::multicast_create));
  objects.add_memory(second_handle, 2_MiB, {}, by(2));
  objects.add_binding(first_handle, objects.handle(second_handle)->memory, Bytes(), 2_MiB,
                      by(3, Call::multicast_bind_mem));
  objects.remove_reference(second_handle, by(4, Call::mem_release));
  EXPECT_THAT(kinds(objects), ElementsAre(LeakKind::create_reference, LeakKind::binding));
  objects.remove_reference(first_handle, by(5, Call::mem_release));
  EXPECT_TRUE(leak_report_of(objects).is_empty());
}

TEST(LiveObjects, KnowWhereAStreamsWorkRuns) {
  constexpr ContextHandle first(0xc1);
  constexpr ContextHandle second(0xc2);
  constexpr StreamHandle stream(0x51);
  LiveObjects objects;
  EXPECT_FALSE(objects.context_of({}).has_value());
  objects.push_context(first);
  objects.add_stream(stream, {.context = first, .flags = 0, .made = by(1)});
  objects.set_current(second);
  EXPECT_EQ(objects.context_of(stream), first);
  EXPECT_EQ(objects.context_of({}), second);
  EXPECT_FALSE(objects.context_of(StreamHandle(0x52)).has_value());
}

TEST(Ledger, WalksARangeMappingByMapping) {
  Ledger ledger;
  {
    const Ledger::Locked objects = ledger.lock();
    objects->add_memory(first_handle, 2_MiB, {}, by(1));
    for (std::uint64_t i = 0; i < 4; ++i) {
      map(*objects, i, first_handle, 2 + i);
    }
  }
  std::vector<DeviceAddress> begins;
  ledger.for_each_mapping(AddressRange(base + 3_MiB, 3_MiB), [&](const LiveMapping& mapping) {
    begins.push_back(mapping.range.begin());
  });
  EXPECT_THAT(begins, ElementsAre(base + 2_MiB, base + 4_MiB));
}

TEST(Ledger, SaysWhoHoldsWhatAndWhereItWasMade) {
  Ledger ledger;
  ledger.lock()->add_memory(
      first_handle, 2_MiB, {},
      {.call_number = 3, .call = Call::mem_create, .site = {.file = "pool.cpp", .line = 12}});
  EXPECT_EQ(to_string(ledger.leak_report()),
            "memory of handle 0x11, 2 MiB (2097152): create reference never released; made by call "
            "3 (mem_create, pool.cpp:12); call mem_release once for each mem_create");
  EXPECT_EQ(to_string(LeakReport()), "nothing is left");
}

}  // namespace
}  // namespace tessera
