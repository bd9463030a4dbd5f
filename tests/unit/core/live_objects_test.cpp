// What the books remember of what is gone.
#include "tessera/live_objects.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr DeviceAddress base{0x10'0000};

// Reservation `number`, made and ended by the calls of that number.
void make_and_end(LiveObjects& objects, std::uint64_t number) {
  const AddressRange range(base + 4_KiB * number, 4_KiB);
  objects.add_reservation(range, {}, {.call_number = number});
  objects.remove_reservation(range.begin(), {.call_number = number});
}
const DeadObject* gone(const LiveObjects& objects, std::uint64_t number, Bytes into = {}) {
  return objects.dead(DeadKind::reservation, (base + 4_KiB * number + into).value());
}

TEST(LiveObjects, KnowAllAddressesOfWhatIsGone) {
  LiveObjects objects;
  make_and_end(objects, 0);
  EXPECT_NE(gone(objects, 0), nullptr);
  EXPECT_NE(gone(objects, 0, 1_B), nullptr);
  EXPECT_NE(gone(objects, 0, 4_KiB - 1_B), nullptr);
  EXPECT_EQ(gone(objects, 1), nullptr);
  EXPECT_EQ(objects.dead(DeadKind::reservation, base.value() - 1), nullptr);
  EXPECT_EQ(objects.dead(DeadKind::mapping, base.value()), nullptr) << "of another kind";
}

TEST(LiveObjects, KnowTheLastThatWasThere) {
  LiveObjects objects;
  make_and_end(objects, 1);
  const AddressRange again(base + 4_KiB, 4_KiB);
  objects.add_reservation(again, {}, {.call_number = 7});
  objects.remove_reservation(again.begin(), {.call_number = 8});
  EXPECT_EQ(gone(objects, 1)->ended.call_number, 8U);
}

// The books have an end.
TEST(LiveObjects, ForgetTheOldest) {
  LiveObjects objects;
  constexpr std::uint64_t kept = 256;
  for (std::uint64_t number = 0; number < kept; ++number) {
    make_and_end(objects, number);
  }
  EXPECT_NE(gone(objects, 0), nullptr);
  make_and_end(objects, kept);
  EXPECT_EQ(gone(objects, 0), nullptr);
  EXPECT_NE(gone(objects, 1), nullptr);
  EXPECT_NE(gone(objects, kept), nullptr);
}

// A handle's value may be given again.
TEST(LiveObjects, LookForAHandleAnewOnceItIsGone) {
  LiveObjects objects;
  constexpr AllocationHandle handle{7};
  EXPECT_EQ(objects.handle(handle), nullptr);
  objects.add_memory(handle, 4_KiB, {}, {.call_number = 1});
  EXPECT_EQ(objects.handle(handle)->made.call_number, 1U);
  objects.remove_reference(handle, {.call_number = 2});
  EXPECT_EQ(objects.handle(handle), nullptr);
  objects.add_memory(handle, 4_KiB, {}, {.call_number = 3});
  EXPECT_EQ(objects.handle(handle)->made.call_number, 3U);
}

}  // namespace
}  // namespace tessera
