#include "tessera/ids.h"

#include <cstdint>
#include <type_traits>
#include <unordered_set>

#include <gtest/gtest.h>

#include "support/printers.h"

namespace tessera {
namespace {

static_assert(!std::is_convertible_v<std::uint64_t, AllocationHandle>);
static_assert(!std::is_convertible_v<AllocationHandle, std::uint64_t>);
static_assert(!std::is_constructible_v<AllocationHandle, ContextHandle>);
static_assert(!std::is_constructible_v<StreamHandle, EventHandle>);
static_assert(!std::is_convertible_v<int, DeviceOrdinal>);
static_assert(sizeof(StreamHandle) == sizeof(std::uint64_t));

TEST(Handle, BeginsAtNull) {
  EXPECT_TRUE(AllocationHandle().is_null());
  EXPECT_EQ(AllocationHandle().value(), 0U);
  EXPECT_FALSE(AllocationHandle(~0ULL).is_null());
}

TEST(Handle, KeepsItsValue) {
  constexpr EventHandle event(0x8000'0000'0000'0001);
  static_assert(event.value() == 0x8000'0000'0000'0001);
  EXPECT_EQ(event, EventHandle(0x8000'0000'0000'0001));
}

TEST(Handle, IsOrdered) {
  EXPECT_LT(StreamHandle(1), StreamHandle(2));
  EXPECT_NE(StreamHandle(1), StreamHandle(2));
  EXPECT_GT(StreamHandle(~0ULL), StreamHandle());
}

TEST(Handle, IsAKeyOfHashedContainers) {
  std::unordered_set<ContextHandle> contexts = {ContextHandle(1), ContextHandle(2)};
  EXPECT_FALSE(contexts.insert(ContextHandle(2)).second);
  EXPECT_TRUE(contexts.contains(ContextHandle(1)));
  EXPECT_FALSE(contexts.contains(ContextHandle()));
}

TEST(DeviceOrdinal, BeginsAtTheFirstDevice) { EXPECT_EQ(DeviceOrdinal().value(), 0); }

TEST(DeviceOrdinal, SaysAlsoWhatNoDriverAccepts) {
  EXPECT_EQ(DeviceOrdinal(-1).value(), -1);
  EXPECT_EQ(DeviceOrdinal(99).value(), 99);
  EXPECT_LT(DeviceOrdinal(-1), DeviceOrdinal(0));
  EXPECT_EQ(DeviceOrdinal(3), DeviceOrdinal(3));
}

}  // namespace
}  // namespace tessera
