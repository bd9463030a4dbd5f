// How a check looks at the blocks of an allocator, and what it leaves of the driver.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "tessera/sim/sim_driver.h"
#include "tessera/testing/allocator_check.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// A good allocator, but for what the test does after each allocation: to the first block, given to
// it with its size.
class Meddler {
 public:
  using Meddle = std::function<void(Driver&, DeviceAddress, Bytes)>;

  Meddler(Driver& driver, Meddle meddle) : driver_(driver), meddle_(std::move(meddle)) {}
  Meddler(const Meddler&) = delete;
  Meddler& operator=(const Meddler&) = delete;
  ~Meddler() {
    for (const auto& [address, size] : blocks_) {
      static_cast<void>(driver_.mem_free(address));
    }
  }

  Result<DeviceAddress> allocate(Bytes size) {
    TESSERA_TRY_ASSIGN(const DeviceAddress address, driver_.mem_alloc(size));
    blocks_.emplace_back(address, size);
    if (blocks_.size() == 2) {
      meddle_(driver_, blocks_.front().first, blocks_.front().second);
    }
    return address;
  }
  Status free(DeviceAddress address) {
    TESSERA_TRY(driver_.mem_free(address));
    std::erase_if(blocks_, [&](const auto& block) { return block.first == address; });
    return {};
  }

 private:
  Driver& driver_;
  Meddle meddle_;
  std::vector<std::pair<DeviceAddress, Bytes>> blocks_;
};

AllocatorTest meddling(Meddler::Meddle meddle, Bytes size_max = 8_MiB) {
  return {
      .make_driver =
          [] { return std::make_unique<sim::SimDriver>(*sim::built_in_profile("h200")); },
      .make_allocator = [meddle](Driver& driver) -> Result<std::unique_ptr<AllocatorUnderTest>> {
        return under_test<Meddler>(driver, meddle);
      },
      .size_max = size_max};
}

void nothing(Driver& /*driver*/, DeviceAddress /*address*/, Bytes /*size*/) {}

AllocatorReport find(const AllocatorTest& test) {
  AllocatorReport report;
  for (std::uint64_t seed = 1; report.failure.empty() && seed <= 50; ++seed) {
    report = check_allocator(test, Choices(seed));
  }
  return report;
}

// One byte is changed, `at` bytes into the first block.
AllocatorReport find_changed(const std::function<Bytes(Bytes size)>& at) {
  return find(meddling([at](Driver& driver, DeviceAddress address, Bytes size) {
    const Bytes offset = at(size);
    if (offset < size) {
      static_cast<void>(
          driver.memset_d8({.destination = address + offset, .value = 0, .size = 1_B}));
      static_cast<void>(driver.ctx_synchronize());
    }
  }));
}

TEST(AllocatorBlocks, AreLookedAtFromTheFirstByteToTheLast) {
  EXPECT_THAT(find_changed([](Bytes) { return Bytes(); }).failure,
              HasSubstr("b1 lost what was written to it, at byte 0"));
  // A block may be a byte long: here more is needed.
  EXPECT_THAT(find_changed([](Bytes size) { return size > 1_B ? size - 1_B : size; }).failure,
              MatchesRegex("b1 lost what was written to it, at byte [1-9][0-9]*"));
}

// Memory of one granule may be another's.
TEST(AllocatorBlocks, AreLookedAtOnBothSidesOfEachGranule) {
  EXPECT_THAT(find_changed([](Bytes) { return 2_MiB - 1_B; }).failure,
              HasSubstr("b1 lost what was written to it, at byte 2097151"));
  EXPECT_THAT(find_changed([](Bytes) { return 2_MiB; }).failure,
              HasSubstr("b1 lost what was written to it, at byte 2097152"));
  EXPECT_THAT(find_changed([](Bytes) { return 4_MiB - 1_B; }).failure,
              HasSubstr("b1 lost what was written to it, at byte 4194303"));
}

// What makes a failure is said first, and its sizes are as plain as they get.
TEST(AllocatorBlocks, HaveThePlainestSizesThatFail) {
  const AllocatorReport report = find_changed([](Bytes) { return 2_MiB; });
  EXPECT_THAT(report.sequence,
              MatchesRegex("  b1 = allocate [0-9]+ MiB \\([0-9]+\\) at 0x[0-9a-f]+\n"
                           "  b2 = allocate 1 bytes at 0x[0-9a-f]+\n"));
}

TEST(AllocatorBlocks, ThatCannotBeReadAreAFailure) {
  const AllocatorReport report =
      find(meddling([](Driver& driver, DeviceAddress address, Bytes /*size*/) {
        static_cast<void>(driver.mem_free(address));
      }));
  EXPECT_THAT(report.failure, HasSubstr("b1 cannot be read: memcpy_dtoh: INVALID_VALUE"));
}

TEST(AllocatorBlocks, ThatBreakSeveralRulesHaveALineForEach) {
  const AllocatorReport report =
      find(meddling([](Driver& driver, DeviceAddress address, Bytes /*size*/) {
        static_cast<void>(driver.mem_free(address + 1_B));
        static_cast<void>(driver.mem_release(AllocationHandle(0x77)));
      }));
  EXPECT_THAT(report.failure, HasSubstr("rule free_unknown_memory"));
  EXPECT_THAT(report.failure, HasSubstr("\ncall 6, mem_release: rule unknown_handle"));
  EXPECT_NE(report.failure.front(), '\n');
  EXPECT_EQ(report.failure.find("\n\n"), std::string::npos);
}

TEST(AllocatorBlocks, LeaveTheDriverAsItWas) {
  struct Seen {
    std::size_t contexts = 99;
    std::size_t allocations = 99;
    bool is_current = true;
  };
  class Watched final : public DriverWrapper {
   public:
    explicit Watched(Seen& seen)
        : DriverWrapper(&simulator_), seen_(seen), simulator_(*sim::built_in_profile("h200")) {}
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;
    ~Watched() override {
      seen_ = {.contexts = simulator_.books().contexts,
               .allocations = simulator_.books().legacy_allocations,
               .is_current = simulator_.ctx_synchronize().has_value()};
    }

   private:
    Seen& seen_;
    sim::SimDriver simulator_;
  };
  Seen seen;
  AllocatorTest test = meddling(nothing);
  test.make_driver = [&] { return std::make_unique<Watched>(seen); };
  EXPECT_TRUE(check_allocator(test, Choices(1)).passed());
  EXPECT_EQ(seen.contexts, 0U);
  EXPECT_EQ(seen.allocations, 0U);
  EXPECT_FALSE(seen.is_current);
}

// Runs so many operations at most, because it runs them very often.
TEST(SweepAllocator, SweepsAShortSequence) {
  std::size_t most = 0;
  AllocatorTest test = meddling(nothing);
  test.make_allocator = [&](Driver& driver) -> Result<std::unique_ptr<AllocatorUnderTest>> {
    class Counting {
     public:
      Counting(Driver& driver, std::size_t& most) : inner_(driver, nothing), most_(most) {}
      Result<DeviceAddress> allocate(Bytes size) {
        most_ = std::max(most_, ++calls_);
        return inner_.allocate(size);
      }
      Status free(DeviceAddress address) { return inner_.free(address); }

     private:
      Meddler inner_;
      std::size_t& most_;
      std::size_t calls_ = 0;
    };
    return under_test<Counting>(driver, most);
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    test.swept_operations_max = 2;
    EXPECT_TRUE(sweep_allocator(test, Choices(seed)).passed());
  }
  EXPECT_LE(most, 2U);
  EXPECT_GE(most, 1U);
}

// Sequences that find too little memory are swept without what found it.
TEST(SweepAllocator, LeavesOutWhatFindsTooLittleMemory) {
  AllocatorTest test = meddling(nothing);
  test.capacity = 8_MiB;
  std::size_t refused = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    refused += check_allocator(test, Choices(seed)).refusals;
    const SweepReport report = sweep_allocator(test, Choices(seed));
    EXPECT_TRUE(report.passed()) << to_string(report);
  }
  EXPECT_GT(refused, 0U);
}

}  // namespace
}  // namespace tessera::testing
