// What a trace calls values that come back, and addresses beside what it knows.
#include "layers/trace_names.h"

#include <string>

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace scenario::symbols;

constexpr Bytes unit = 2_MiB;
constexpr DeviceAddress base{0x7f0000000000};
constexpr AllocationHandle memory{7};

class Names : public testing::Test {
 protected:
  std::string address(DeviceAddress at) const { return to_string(names_.address(at)); }
  std::string handle(AllocationHandle of) const { return to_string(names_.handle(of)); }

  TraceNames names_{unit};
};

TEST_F(Names, CountUpForEachKind) {
  EXPECT_EQ(names_.next(scenario::SymbolKind::reservation), r(0));
  EXPECT_EQ(names_.next(scenario::SymbolKind::handle), h(0));
  EXPECT_EQ(names_.next(scenario::SymbolKind::handle), h(1));
}

// A driver may give a dead handle's value again: an import that gets it is of other memory.
TEST_F(Names, OfAHandleEndWithItsLastReference) {
  names_.name_created(memory, h(0));
  EXPECT_EQ(names_.name_imported(memory, h(1)), h(0));
  EXPECT_EQ(handle(memory), "h0");
  names_.release(memory);
  EXPECT_EQ(names_.name_imported(memory, h(2)), h(0));
  names_.release(memory);
  names_.release(memory);
  EXPECT_EQ(handle(memory), "h0") << "a stale handle is still written by its name";
  names_.release(memory);
  EXPECT_EQ(names_.name_imported(memory, h(3)), std::nullopt);
  EXPECT_EQ(handle(memory), "h3");
  EXPECT_EQ(names_.name_imported(memory, h(4)), h(3));
}

TEST_F(Names, OfAHandleCountEachCreation) {
  names_.name_created(memory, h(0));
  names_.name_created(memory, h(1));
  EXPECT_EQ(handle(memory), "h1");
  names_.release(memory);
  EXPECT_EQ(names_.name_imported(memory, h(2)), h(1)) << "one reference was left";
}

TEST_F(Names, OfARetainedHandleAreTheFirstSeen) {
  EXPECT_EQ(names_.name_retained(memory, h(0)), std::nullopt);
  EXPECT_EQ(names_.name_retained(memory, h(1)), h(0));
  names_.release(memory);
  EXPECT_EQ(names_.name_imported(memory, h(2)), h(0));
  names_.release(AllocationHandle(99));
  EXPECT_EQ(handle(AllocationHandle(99)), "0x63");
  EXPECT_EQ(handle({}), "null");
}

// An address outside of everything may have been computed from what is near.
TEST_F(Names, OfAddressesReachAGibibyteAround) {
  names_.name_range(base, 4_GiB, r(0));
  EXPECT_EQ(address({}), "null");
  EXPECT_EQ(address(base), "r0");
  EXPECT_EQ(address(base + 1_B), "r0+1");
  EXPECT_EQ(address(base + 3_GiB), "r0+1536u");
  EXPECT_EQ(address(base + 5_GiB), "r0+2560u");
  EXPECT_EQ(address(base + 5_GiB + 1_B), "0x7f0140000001");
  EXPECT_EQ(address(base - 1_GiB), "r0-512u");
  EXPECT_EQ(address(base - 1_GiB - 1_B), "0x7effbfffffff");
}

TEST_F(Names, OfAddressesAreTheLastGiven) {
  names_.name_range(base, unit, r(0));
  names_.name_range(base + unit, unit, r(1));
  names_.name_range(base + unit * 2, unit, r(2));
  names_.name_range(base, unit * 2, p(0));
  EXPECT_EQ(address(base), "p0");
  EXPECT_EQ(address(base + unit), "p0+1u") << "what was there is gone";
  EXPECT_EQ(address(base + unit * 2), "r2") << "and what begins at its end is not";
  // To the last byte that there is.
  names_.name_range(base + unit, Bytes(std::uint64_t{0} - (base + unit).value()), r(3));
  EXPECT_EQ(address(base + unit * 2), "r3+1u");
}

TEST_F(Names, KnowPinnedMemoryByItsBeginUntilItIsFreed) {
  names_.name_range(base, unit, p(0), true);
  names_.name_range(base + unit, unit, p(1));
  EXPECT_TRUE(names_.is_live_host(base));
  EXPECT_FALSE(names_.is_live_host(base + 1_B));
  EXPECT_FALSE(names_.is_live_host(base + unit)) << "a device's";
  names_.retire_range(base + 1_B);
  EXPECT_TRUE(names_.is_live_host(base));
  names_.retire_range(base);
  EXPECT_FALSE(names_.is_live_host(base));
  EXPECT_EQ(address(base), "p0") << "a stale address is still written by its name";
}

TEST_F(Names, OfSizesAreGranulesWhereTheyAreWhole) {
  EXPECT_EQ(to_string(names_.size(unit * 3)), "3u");
  EXPECT_EQ(to_string(names_.size(unit + 4_KiB)), "2052K");
  EXPECT_EQ(to_string(names_.size(Bytes())), "0");
  EXPECT_EQ(to_string(names_.size(Bytes(~std::uint64_t{0}))), "max");
  EXPECT_EQ(to_string(TraceNames(Bytes()).size(unit)), "2M");
}

TEST_F(Names, OfContextsTellPrimaryOnes) {
  names_.name_context(ContextHandle(1), primary(1));
  names_.name_context(ContextHandle(2), c(0));
  EXPECT_EQ(to_string(names_.context(ContextHandle(1))), "primary1");
  EXPECT_EQ(to_string(names_.context(ContextHandle(2))), "c0");
  EXPECT_EQ(to_string(names_.context(ContextHandle(3))), "3");
  EXPECT_EQ(names_.device_of_primary(ContextHandle(1)), 1);
  EXPECT_EQ(names_.device_of_primary(ContextHandle(2)), std::nullopt);
  EXPECT_EQ(names_.device_of_primary(ContextHandle(3)), std::nullopt);
}

TEST_F(Names, OfDescriptorsAreLostWhenTheyAreClosed) {
  const ShareableHandle descriptor = {.type = HandleTypes::posix_file_descriptor,
                                      .file_descriptor = 5};
  const ShareableHandle windows = {.type = HandleTypes::win32, .win32 = 5};
  names_.name_exported(descriptor, f(0));
  EXPECT_EQ(to_string(names_.shareable(descriptor)), "f0");
  EXPECT_EQ(to_string(names_.shareable(windows)), "5") << "numbered apart";
  names_.name_exported(windows, f(1));
  EXPECT_EQ(to_string(names_.shareable(windows)), "f1");
  EXPECT_EQ(names_.take_descriptor(5), f(0));
  EXPECT_EQ(names_.take_descriptor(5), std::nullopt);
  EXPECT_EQ(to_string(names_.shareable(descriptor)), "5");
  EXPECT_EQ(to_string(names_.shareable(
                {.type = HandleTypes::posix_file_descriptor, .file_descriptor = -1})),
            "max");
}

}  // namespace
}  // namespace tessera
