#include "tessera/sim/profile.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::sim {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

const Profile& h200() { return *built_in_profile("h200"); }

TEST(Profile, BuiltInsAreKnownByName) {
  EXPECT_THAT(built_in_profile_names(),
              ElementsAre("h200", "documented", "v100_cuda102", "wddm", "tiny", "odd"));
  for (const std::string_view name : built_in_profile_names()) {
    ASSERT_NE(built_in_profile(name), nullptr) << name;
    EXPECT_EQ(built_in_profile(name)->name, name);
  }
  EXPECT_EQ(built_in_profile("h100"), nullptr);
  EXPECT_EQ(built_in_profile(""), nullptr);
}

TEST(Profile, BuiltInsContradictNothing) {
  for (const std::string_view name : built_in_profile_names()) {
    EXPECT_EQ(check_profile(*built_in_profile(name)), "") << name;
  }
}

TEST(Profile, BuiltInsAllDiffer) {
  for (const std::string_view left : built_in_profile_names()) {
    for (const std::string_view right : built_in_profile_names()) {
      EXPECT_EQ(*built_in_profile(left) == *built_in_profile(right), left == right);
    }
  }
}

// How many reservations of `size`, at multiples of a block, the windows hold.
std::uint64_t reservations(const Profile& profile, Bytes size) {
  std::uint64_t count = 0;
  for (const AddressRange window : profile.address_windows) {
    const DeviceAddress begin(
        align_up(Bytes(window.begin().value()), profile.reservation_block).value());
    const Bytes end = align_down(Bytes(window.end().value()), profile.reservation_block);
    count += (DeviceAddress(end.value()) - begin) / size;
  }
  return count;
}

TEST(Profile, H200HasTheMeasuredAddressSpace) {
  EXPECT_EQ(reservations(h200(), 1_TiB), 125U);
  EXPECT_EQ(reservations(h200(), 8_TiB), 15U);
  EXPECT_GE(reservations(h200(), 64_TiB), 1U);
  EXPECT_EQ(reservations(h200(), 100_TiB), 0U);
}

TEST(Profile, H200AnswersTheRecordedAttributes) {
  const std::map<std::int32_t, std::int32_t> recorded = {
      {88, 0},  {100, 0}, {102, 1}, {103, 1}, {104, 0}, {105, 0}, {107, 1},  {110, 1},
      {112, 1}, {115, 1}, {116, 1}, {119, 9}, {128, 1}, {130, 0}, {131, -1}, {132, 1},
      {134, 0}, {141, 1}, {142, 1}, {143, 0}, {144, 1}, {145, 1}, {146, 0}};
  for (const auto& [number, value] : recorded) {
    ASSERT_TRUE(h200().device_attributes.contains(number)) << number;
    EXPECT_EQ(h200().device_attributes.at(number), value) << number;
  }
}

TEST(Profile, DiffersWhereDriversDiffer) {
  const Profile& v100 = *built_in_profile("v100_cuda102");
  EXPECT_FALSE(v100.host_locations || v100.memory_pools || v100.compression || v100.dma_buf);
  EXPECT_FALSE(v100.device_attributes.contains(110));
  const Profile& wddm = *built_in_profile("wddm");
  EXPECT_TRUE(wddm.pages_out);
  EXPECT_FALSE(has_all(wddm.export_types, HandleTypes::posix_file_descriptor));
  EXPECT_TRUE(has_all(wddm.export_types, HandleTypes::win32 | HandleTypes::win32_kmt));
  EXPECT_EQ(wddm.address_windows.back().end(), DeviceAddress(1ULL << 40U));
  const Profile& tiny = *built_in_profile("tiny");
  EXPECT_EQ(tiny.memory_total / tiny.granularity_minimum, 24U);
  const Profile& odd = *built_in_profile("odd");
  EXPECT_NE(odd.peers[2][0], odd.peers[0][2]);
  EXPECT_EQ(odd.granularity_recommended, odd.granularity_minimum * 3);
}

struct Contradiction {
  const char* says;  // the field and its value; what would work
  std::function<void(Profile&)> make;
};

// Names the test: gtest would print the pointers inside.
void PrintTo(const Contradiction& contradiction, std::ostream* out) { *out << contradiction.says; }

class ProfileContradiction : public ::testing::TestWithParam<Contradiction> {};

TEST_P(ProfileContradiction, IsNamed) {
  Profile profile = h200();
  GetParam().make(profile);
  const std::string faults = check_profile(profile);
  EXPECT_THAT(faults, StartsWith(GetParam().says));
  EXPECT_EQ(faults.find('\n'), std::string::npos) << faults;
}

const Contradiction contradictions[] = {
    {"name is \"\": it must be 1 to 255 printable", [](Profile& p) { p.name = ""; }},
    {"name is \"xxxx", [](Profile& p) { p.name = std::string(256, 'x'); }},
    {"name is \"h200?\": it must be 1 to 255 printable", [](Profile& p) { p.name = "h200\x7f"; }},
    {"device_name is \"a?b\": it must be", [](Profile& p) { p.device_name = "a\nb"; }},
    {"driver_version is -1: it must be 1 or more", [](Profile& p) { p.driver_version = -1; }},
    {"memory_total is 0: it must not be zero", [](Profile& p) { p.memory_total = 0_B; }},
    {"memory_reserved is 2097152 TiB: the largest size is 1048576 TiB",
     [](Profile& p) { p.memory_reserved = 2'097'152_TiB; }},
    {"granularity_minimum is 3 MiB: it must be a power of two, such as 2 MiB or 4 MiB",
     [](Profile& p) { p.granularity_minimum = 3_MiB; }},
    {"granularity_recommended is 3 MiB: it must be a multiple of granularity_minimum, 2 MiB, such "
     "as 2 MiB or 4 MiB",
     [](Profile& p) { p.granularity_recommended = 3_MiB; }},
    {"reservation_granularity is 2 MiB: it must be a multiple of host_page, 4 MiB, such as 4 MiB",
     [](Profile& p) { p.host_page = 4_MiB; }},
    {"reservation_block is 1 MiB: it must be a multiple of reservation_granularity",
     [](Profile& p) {
       p.reservation_block = 1_MiB;
       p.driver_mapped_single_device.clear();
     }},
    {"reservation_block is 256 MiB: it must be at most 64 times reservation_granularity: 128 MiB",
     [](Profile& p) { p.reservation_block = 256_MiB; }},
    {"heap_block is 3 MiB: it must be a multiple of reservation_granularity",
     [](Profile& p) { p.heap_block = 3_MiB; }},
    {"heap_block is 2 MiB: it must be a multiple of heap_alignment, 4 MiB",
     [](Profile& p) { p.heap_alignment = 4_MiB; }},
    {"address_windows is empty: it must hold at least one range",
     [](Profile& p) { p.address_windows.clear(); }},
    {"address_windows[0] is [0x0, 0x40000000): it must not contain address 0",
     [](Profile& p) {
       p.address_windows[0] = {DeviceAddress(), 1_GiB};
     }},
    {"address_windows[0] is [0x1000, 0x2001000): it must hold at least one aligned "
     "reservation_block, "
     "32 MiB",
     [](Profile& p) {
       p.address_windows[0] = {DeviceAddress(0x1000), 32_MiB};
     }},
    {"address_windows[1] is [0x300000000, 0x340000000): it must begin at or after the end of the "
     "one before, 0x10000000000",
     [](Profile& p) {
       p.address_windows[1] = {DeviceAddress(0x3'0000'0000), 1_GiB};
     }},
    {"address_windows[1] is [0x7fffffffc0000000, 0x8000000000000000): it must hold at least one "
     "address, all below 0x4000000000000000",
     [](Profile& p) {
       p.address_windows[1] = {DeviceAddress(0x7fff'ffff'c000'0000), 1_GiB};
       p.address_windows.resize(2);
     }},
    {"reservation_block is 48 MiB: it must be a power of two, such as 32 MiB or 64 MiB",
     [](Profile& p) { p.reservation_block = 48_MiB; }},
    {"reservation_granularity is 3 MiB: it must be a power of two, such as 2 MiB or 4 MiB",
     [](Profile& p) { p.reservation_granularity = 3_MiB; }},
    {"driver_free[1] is [0x6800000, 0xa200000): it must lie inside driver_addresses, 160 MiB",
     [](Profile& p) {
       p.driver_free[1] = {DeviceAddress(0x680'0000), 58_MiB};
     }},
    {"driver_free[0] is [0x1000, 0x201000): it must be whole granules of 2 MiB",
     [](Profile& p) {
       p.driver_free[0] = {DeviceAddress(0x1000), 2_MiB};
     }},
    {"driver_free[0] is [0x200000, 0x201000): it must be whole granules of 2 MiB",
     [](Profile& p) {
       p.driver_free[0] = {DeviceAddress(0x20'0000), 4_KiB};
     }},
    {"driver_free[1] is [0x1e00000, 0x2000000): it must begin at or after the end of the one "
     "before",
     [](Profile& p) { p.driver_free[1] = p.driver_free[0]; }},
    {"driver_mapped_single_device[0] is [0xa000000, 0xa001000): it must lie inside "
     "driver_addresses, 160 MiB",
     [](Profile& p) {
       p.driver_mapped_single_device = {{DeviceAddress(0xa00'0000), 4_KiB}};
     }},
    {"driver_mapped_single_device[0] is [0x0, 0x0): it must hold at least one address",
     [](Profile& p) { p.driver_mapped_single_device = {AddressRange()}; }},
    {"accessible_mappings_max is 0: it must be 1 or more",
     [](Profile& p) { p.accessible_mappings_max = 0; }},
    {"memory_total is 512 MiB: memory_reserved (",
     [](Profile& p) {
       p.memory_total = 512_MiB;
       p.resident_threads = 1;
     }},
    {"stack_size is 1 TiB: for resident_threads (270336) threads it takes more than context_static",
     [](Profile& p) { p.stack_size = 1_TiB; }},
    {"stack_size is 1048576 TiB: for resident_threads",
     [](Profile& p) { p.stack_size = 1'048'576_TiB; }},
    {"host_memory is 0: with pages_out it must say",
     [](Profile& p) {
       p.pages_out = true;
       p.host_memory = 0_B;
     }},
    {"contiguous_memory is true: memory that pages out",
     [](Profile& p) {
       p.pages_out = true;
       p.host_memory = 1_GiB;
       p.contiguous_memory = true;
     }},
    {"host_numa_nodes is 2000: the most is 1024", [](Profile& p) { p.host_numa_nodes = 2000; }},
    {"export_types is 17: it has bits of no handle type",
     [](Profile& p) { p.export_types = static_cast<HandleTypes>(17); }},
    {"not_permitted_types is 1 in common with export_types: a handle type is either permitted or "
     "not",
     [](Profile& p) {
       p.not_permitted_types = HandleTypes::fabric | HandleTypes::posix_file_descriptor;
     }},
    {"device_attributes is given for number 0: CUdevice_attribute's numbers begin at 1",
     [](Profile& p) { p.device_attributes[0] = 1; }},
    {"device_attributes.102 is 0: having these calls at all says 1",
     [](Profile& p) { p.device_attributes[102] = 0; }},
    {"device_attributes.104 is 0: win32 in export_types or not_permitted_types says 1",
     [](Profile& p) { p.export_types = HandleTypes::win32 | p.export_types; }},
    {"device_attributes.132 is 1: multicast says 0", [](Profile& p) { p.multicast = false; }},
    {"peers[1] is 1 long: there are 2 rows, so each must have as many",
     [](Profile& p) {
       p.peers = {{true, true}, {true}};
     }},
    {"peers[0][0] is false: a device can map its own memory",
     [](Profile& p) { p.peers = {{false}}; }},
    {"peers is 65 rows: the most is 64",
     [](Profile& p) { p.peers.assign(65, std::vector<bool>(65, true)); }},
    {"costs.mem_map.base_ns is 2000000000000: the largest is 1000000000000",
     [](Profile& p) { p.costs[Call::mem_map].base_ns = 2'000'000'000'000; }},
    {"default_cost.per_unit_ns is 10000001: the largest is 10000000",
     [](Profile& p) { p.default_cost.per_unit_ns = 10'000'001; }},
    {"costs is given for number 0: that is no driver call",
     [](Profile& p) { p.costs[Call::none] = {}; }},
};

INSTANTIATE_TEST_SUITE_P(Each, ProfileContradiction, ::testing::ValuesIn(contradictions));

TEST(Profile, SaysAllContradictionsAtOnce) {
  Profile profile = h200();
  profile.granularity_recommended = 3_MiB;
  profile.pages_out = true;
  profile.host_memory = 0_B;
  EXPECT_THAT(check_profile(profile),
              AllOf(HasSubstr("granularity_recommended is"), HasSubstr("\nhost_memory is")));
}

TEST(Profile, ChecksAnEmptyOne) { EXPECT_NE(check_profile(Profile()), ""); }

}  // namespace
}  // namespace tessera::sim
