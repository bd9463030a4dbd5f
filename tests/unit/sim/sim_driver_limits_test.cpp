// Budgets: addresses, memory, mappings, pieces. Running out of one is none of another.
#include <fstream>
#include <vector>

#include <unistd.h>

#include "support/sim_machine.h"

namespace tessera::sim {
namespace {

TEST(SimDriverLimits, AddressesRunOutWithMemoryFree) {
  SimMachine machine("h200");
  std::size_t reserved = 0;
  auto address = machine->mem_address_reserve({.size = 1_TiB});
  for (; address; address = machine->mem_address_reserve({.size = 1_TiB})) {
    ++reserved;
  }
  EXPECT_THAT(address, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(address.error().reason, Reason::out_of_addresses);
  // On an H200 124 to 127, by where the process's libraries happen to lie.
  EXPECT_EQ(reserved, 125U);
  EXPECT_GT(machine.free_memory(), 130_GiB);
  // Small ones, memory and mem_alloc go on.
  EXPECT_NO_THROW(machine.mapped(1));
  EXPECT_THAT(machine->mem_alloc(1_MiB), is_ok());
  EXPECT_EQ(machine->check_invariants(), "");
}

TEST(SimDriverLimits, MemoryRunsOutWithAddressesFree) {
  SimMachine machine("tiny");
  std::vector<AllocationHandle> handles;
  auto handle = machine->mem_create({.size = machine.unit(), .properties = {}});
  for (; handle; handle = machine->mem_create({.size = machine.unit(), .properties = {}})) {
    handles.push_back(*handle);
  }
  EXPECT_THAT(handle, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(handle.error().reason, Reason::out_of_device_memory);
  EXPECT_EQ(handles.size(), 22U);
  EXPECT_EQ(machine.free_memory(), 0_B);
  const auto allocated = machine->mem_alloc(1_B);
  EXPECT_THAT(allocated, fails_with(ErrorCode::out_of_memory));
  EXPECT_NO_THROW(machine.reserve(8));
  must(machine->mem_release(handles.back()));
  EXPECT_THAT(machine->mem_alloc(1_B), is_ok());
}

TEST(SimDriverLimits, MemAllocRunsOutOfAddressesToo) {
  Profile profile = profile_named("tiny");
  profile.memory_total = 16_MiB;
  SimMachine machine(profile);
  std::size_t made = 0;
  auto address = machine->mem_alloc(64_KiB);
  for (; address && made < 1'000; address = machine->mem_alloc(64_KiB)) {
    ++made;
  }
  EXPECT_THAT(address, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(address.error().reason, Reason::out_of_addresses);
  EXPECT_GT(machine.free_memory(), 1_MiB);
  EXPECT_EQ(machine->check_invariants(), "");
}

TEST(SimDriverLimits, SetAccessIsTheCallThatRunsOutOfMappings) {
  EXPECT_EQ(profile_named("h200").accessible_mappings_max, 524'090U) << "as measured";
  Profile profile = profile_named("h200");
  profile.accessible_mappings_max = 10;
  SimMachine machine(profile);
  const DeviceAddress range = machine.reserve(16);
  const AllocationHandle handle = machine.create(1);
  for (std::uint64_t i = 0; i < 16; ++i) {
    machine.map(range + machine.unit() * i, 1, handle);
  }
  EXPECT_THAT(machine.allow(range, 8), is_ok());
  // All or nothing.
  const Books before = machine->books();
  const Status refused = machine.allow(range + machine.unit() * 8, 3);
  ASSERT_THAT(refused, fails_with(ErrorCode::out_of_memory));
  EXPECT_EQ(refused.error().reason, Reason::out_of_page_tables);
  EXPECT_EQ(machine->books(), before);
  EXPECT_THAT(machine.allow(range + machine.unit() * 8, 2), is_ok());
  // Those with access take no more, and taking access away gives back.
  EXPECT_THAT(machine.allow(range, 10, device_0, AccessFlags::read), is_ok());
  EXPECT_THAT(machine.allow(range + machine.unit() * 10, 1), fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(machine.allow(range, 1, device_0, AccessFlags::none), is_ok());
  EXPECT_THAT(machine.allow(range + machine.unit() * 10, 1), is_ok());
  EXPECT_THAT(machine.unmap(range + machine.unit(), 1), is_ok());
  EXPECT_THAT(machine.allow(range + machine.unit() * 11, 1), is_ok());
  EXPECT_EQ(machine->books().accessible_mappings, 10U);
}

TEST(SimDriverLimits, EnoughMayBeTooFragmented) {
  Profile profile = profile_named("h200");
  profile.contiguous_memory = true;
  SimMachine machine(profile);
  // Fill it, then free every other piece.
  std::vector<AllocationHandle> handles;
  auto handle = machine->mem_create({.size = 4_GiB, .properties = {}});
  for (; handle; handle = machine->mem_create({.size = 4_GiB, .properties = {}})) {
    handles.push_back(*handle);
  }
  ASSERT_GT(handles.size(), 30U);
  for (std::size_t i = 0; i < handles.size(); i += 2) {
    must(machine->mem_release(handles[i]));
  }
  EXPECT_GT(machine.free_memory(), 60_GiB);
  const auto large = machine->mem_create({.size = 10_GiB, .properties = {}});
  ASSERT_THAT(large, fails_with(ErrorCode::out_of_memory));
  EXPECT_THAT(explain(large.error()), testing::HasSubstr("largest piece"));
  EXPECT_THAT(machine->mem_create({.size = 4_GiB, .properties = {}}), is_ok());
  EXPECT_EQ(machine->check_invariants(), "");
  // The same with pages that lie anywhere.
  profile.contiguous_memory = false;
  SimMachine scattered(profile);
  EXPECT_THAT(scattered->mem_create({.size = 100_GiB, .properties = {}}), is_ok());
}

TEST(SimDriverLimits, MoreThanThereIsPagesOut) {
  const Profile& profile = profile_named("wddm");
  SimMachine machine(profile, {.bytes = false});
  std::vector<AllocationHandle> handles;
  auto handle = machine->mem_create({.size = 1_GiB, .properties = {}});
  for (; handle; handle = machine->mem_create({.size = 1_GiB, .properties = {}})) {
    handles.push_back(*handle);
  }
  EXPECT_THAT(handle, fails_with(ErrorCode::out_of_memory));
  const std::uint64_t on_device = profile.memory_total / 1_GiB;
  EXPECT_GT(handles.size(), on_device + 25);
  EXPECT_LT(handles.size(), on_device + profile.host_memory / 1_GiB + 1);
  EXPECT_EQ(must(machine->mem_get_info()).free, 0_B);
  for (const AllocationHandle one : handles) {
    must(machine->mem_release(one));
  }
  EXPECT_EQ(machine->check_invariants(), "");
  EXPECT_GT(must(machine->mem_get_info()).free, 20_GiB);
}

// Resident bytes of this process.
std::uint64_t resident() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t total = 0;
  std::uint64_t pages = 0;
  file >> total >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

// Sanitizers keep a shadow of all memory, which is theirs.
constexpr bool is_sanitized =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    true;
#else
    false;
#endif
#else
    false;
#endif

TEST(SimDriverLimits, EightLargeDevicesCostLittleMemory) {
  const std::uint64_t before = resident();
  SimMachine machine("h200", {.devices = 8, .bytes = false});
  // All of it, in pieces of 32 MiB, mapped and accessible.
  constexpr std::uint64_t piece = 16;
  std::size_t mappings = 0;
  for (std::int32_t ordinal = 0; ordinal < 8; ++ordinal) {
    const AllocationProperties properties = {.location = on_device(DeviceOrdinal(ordinal))};
    for (int i = 0; i < 4'600; ++i) {
      const auto handle =
          machine->mem_create({.size = machine.unit() * piece, .properties = properties});
      if (!handle) {
        break;
      }
      const DeviceAddress address = machine.reserve(piece);
      machine.map(address, piece, *handle);
      must(machine.allow(address, piece));
      must(machine->memset_d8({.destination = address, .value = 1, .size = 1_MiB}));
      ++mappings;
    }
    EXPECT_LT(machine.free_memory(DeviceOrdinal(ordinal)), machine.unit() * piece);
  }
  EXPECT_GT(mappings, 8U * 4'400U);
  EXPECT_EQ(machine->books().accessible_mappings, mappings);
  if (!is_sanitized) {
    EXPECT_LT(resident() - before, 100U << 20U);
  }
}

}  // namespace
}  // namespace tessera::sim
