// A small book, told of what calls did: also of what it did not see being made.
#include "tessera/layers/live_bytes.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr AllocationHandle memory{1};
constexpr AllocationHandle unknown{2};
constexpr DeviceAddress address{0x10000};

TEST(LiveBytes, CountMemoryWhileItIsReferencedOrMapped) {
  LiveBytes live;
  live.created(memory, 4_KiB);
  live.created(memory, 4_KiB);  // a driver that gives a handle twice gave one memory
  live.mapped(address, memory);
  live.mapped(address, memory);
  live.released(memory);
  EXPECT_EQ(live.total(), 4_KiB);
  live.released(memory);  // one too many: the mapping holds it
  EXPECT_EQ(live.total(), 4_KiB);
  live.unmapped(address, 4_KiB);
  EXPECT_EQ(live.total(), 0_B);
}

TEST(LiveBytes, PassOverWhatWasMadeElsewhere) {
  LiveBytes live;
  live.allocated(address, 1_KiB);
  live.referenced(unknown);
  live.released(unknown);
  live.mapped(address, unknown);
  live.unmapped(address, 4_KiB);
  live.freed(address + 1_B);
  live.allocated(DeviceAddress(), 1_KiB);
  EXPECT_EQ(live.total(), 1_KiB);
}

// A driver may say OK to an unmap whose end is beyond 2^64.
TEST(LiveBytes, UnmapToTheEnd) {
  LiveBytes live;
  live.created(memory, 4_KiB);
  live.mapped(address, memory);
  live.mapped(address + 1_GiB, memory);
  live.released(memory);
  live.unmapped(address + 1_B, Bytes(~std::uint64_t{0}));
  EXPECT_EQ(live.total(), 4_KiB);
  live.unmapped(address, Bytes(~std::uint64_t{0}));
  EXPECT_EQ(live.total(), 0_B);
}

}  // namespace
}  // namespace tessera
