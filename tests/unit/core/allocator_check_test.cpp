// A good allocator passes; one with a planted bug fails, with a sequence of a few operations.
#include "tessera/testing/allocator_check.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "tessera/sim/sim_driver.h"

namespace tessera::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::StartsWith;

enum class Bug {
  none,
  maker_fails,
  null_address,
  odd_address,
  past_the_end,
  gives_cached_twice,
  takes_smaller_cached,
  shares_memory,
  forgets_access,
  forgets_handle,
  forgets_cached,
  keeps_no_access_undo,
  keeps_cached_when_full,
  frees_mapped_addresses,
  unmaps_again_at_the_end,
  other_error,
  free_fails,
  swallows_access_error,
  changes_error,
  free_fails_after_error,
  check_finds_something,
  throws_from_free,
  throws_at_the_end,
  throws_after_error,
};

constexpr Bytes unit = 2_MiB;

// Each block has a reservation and memory of its own; freed ones are kept for the next of their
// size.
class Allocator {
 public:
  Allocator(Driver& driver, Bug bug) : driver_(driver), bug_(bug) {}
  Allocator(const Allocator&) = delete;
  Allocator& operator=(const Allocator&) = delete;
  ~Allocator() {
    if (has(Bug::unmaps_again_at_the_end)) {
      for (const auto& [address, size] : cached_) {
        ignore(driver_.mem_unmap({.address = address, .size = size}));
      }
    }
    if (!has(Bug::forgets_cached)) {
      trim();
    }
    while (!used_.empty()) {
      unmap(used_.begin()->first, used_.begin()->second);
      used_.erase(used_.begin());
    }
    if (!shared_.is_null()) {
      ignore(driver_.mem_release(shared_));
    }
  }

  Result<DeviceAddress> allocate(Bytes asked) {
    if (has(Bug::null_address)) {
      return DeviceAddress();
    }
    const Bytes size = align_up(asked, unit);
    for (const auto& [address, cached] : cached_) {
      if (cached == size || (has(Bug::takes_smaller_cached) && cached < size)) {
        const DeviceAddress found = address;
        used_.emplace(found, cached);
        if (!has(Bug::gives_cached_twice)) {
          cached_.erase(found);
        }
        return found;
      }
    }
    Result<DeviceAddress> address = map(size);
    if (!address && address.error().code == ErrorCode::out_of_memory &&
        !has(Bug::keeps_cached_when_full)) {
      trim();
      address = map(size);
    }
    if (!address) {
      failed_ = address.error().code != ErrorCode::out_of_memory;
      return has(Bug::other_error) ? Error{.code = ErrorCode::invalid_value} : address.error();
    }
    used_.emplace(*address, size);
    return has(Bug::odd_address)    ? *address + 1_B
           : has(Bug::past_the_end) ? *address + size
                                    : *address;
  }

  Status free(DeviceAddress address) {
    if (has(Bug::free_fails) || (has(Bug::free_fails_after_error) && failed_)) {
      return Error{.code = ErrorCode::illegal_state};
    }
    if (has(Bug::throws_from_free) || (has(Bug::throws_at_the_end) && used_.size() == 1) ||
        (has(Bug::throws_after_error) && failed_)) {
      throw std::runtime_error("no such block");
    }
    cached_.insert(used_.extract(address));
    return {};
  }

  [[nodiscard]] std::string check() const {
    return has(Bug::check_finds_something) && cached_.size() == 2 ? "two are cached" : "";
  }

 private:
  static void ignore(const Status& status) { static_cast<void>(status); }
  [[nodiscard]] bool has(Bug bug) const { return bug_ == bug; }

  Result<AllocationHandle> memory(Bytes size) {
    if (has(Bug::shares_memory) && size == unit) {
      if (shared_.is_null()) {
        TESSERA_TRY_ASSIGN(shared_, driver_.mem_create({.size = unit}));
      }
      return shared_;
    }
    return driver_.mem_create({.size = size});
  }

  Status fill(DeviceAddress address, Bytes size) {
    TESSERA_TRY_ASSIGN(const AllocationHandle handle, memory(size));
    const Status mapped = driver_.mem_map({.address = address, .size = size, .handle = handle});
    if (handle != shared_ && !has(Bug::forgets_handle)) {
      ignore(driver_.mem_release(handle));
    }
    TESSERA_TRY(mapped);
    if (has(Bug::forgets_access)) {
      return {};
    }
    const std::array access = {AccessDescriptor{.location = {}, .flags = AccessFlags::read_write}};
    const Status allowed =
        driver_.mem_set_access({.address = address, .size = size, .descriptors = access});
    if (!allowed && has(Bug::swallows_access_error)) {
      return {};
    }
    if (!allowed && !has(Bug::keeps_no_access_undo)) {
      ignore(driver_.mem_unmap({.address = address, .size = size}));
    }
    return !allowed && has(Bug::changes_error) ? Error{.code = ErrorCode::launch_failed} : allowed;
  }

  Result<DeviceAddress> map(Bytes size) {
    TESSERA_TRY_ASSIGN(const DeviceAddress address, driver_.mem_address_reserve({.size = size}));
    if (const Status filled = fill(address, size); !filled) {
      ignore(driver_.mem_address_free({.address = address, .size = size}));
      return filled.error();
    }
    return address;
  }

  void unmap(DeviceAddress address, Bytes size) {
    if (!has(Bug::frees_mapped_addresses)) {
      ignore(driver_.mem_unmap({.address = address, .size = size}));
    }
    ignore(driver_.mem_address_free({.address = address, .size = size}));
  }
  void trim() {
    for (const auto& [address, size] : cached_) {
      unmap(address, size);
    }
    cached_.clear();
  }

  Driver& driver_;
  Bug bug_;
  bool failed_ = false;
  AllocationHandle shared_;
  std::map<DeviceAddress, Bytes> used_;
  std::map<DeviceAddress, Bytes> cached_;
};

std::unique_ptr<Driver> make_driver() {
  return std::make_unique<sim::SimDriver>(*sim::built_in_profile("h200"));
}

AllocatorTest allocator_with(Bug bug) {
  return {.make_driver = make_driver,
          .make_allocator = [bug](Driver& driver) -> Result<std::unique_ptr<AllocatorUnderTest>> {
            if (bug == Bug::maker_fails) {
              return Error{.code = ErrorCode::illegal_state};
            }
            return under_test<Allocator>(driver, bug);
          },
          .alignment = 256_B};
}

// The first seed of a few that fails.
AllocatorReport find(const AllocatorTest& test) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    AllocatorReport report = check_allocator(test, Choices(seed));
    if (!report.passed()) {
      return report;
    }
  }
  return {};
}
AllocatorReport find(Bug bug) { return find(allocator_with(bug)); }

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(AllocatorCheck, PassesAGoodAllocator) {
  std::size_t operations = 0;
  std::size_t refusals = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const AllocatorReport report = check_allocator(allocator_with(Bug::none), Choices(seed));
    ASSERT_TRUE(report.passed()) << "seed " << seed << '\n' << to_string(report);
    operations += report.operations;
    refusals += report.refusals;
  }
  EXPECT_EQ(operations, 30U * 64U);
  // Memory runs out often enough for what is done about it to be tested.
  EXPECT_GT(refusals, operations / 20);
  EXPECT_LT(refusals, operations / 2);
}

TEST(AllocatorCheck, TakesBytesOfAFuzzer) {
  constexpr std::array<std::uint8_t, 7> bytes = {3, 0, 4, 0, 0, 1, 1};
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto report =
        check_allocator(allocator_with(Bug::none), Choices(std::span(bytes).first(size)));
    EXPECT_TRUE(report.passed()) << to_string(report);
  }
  const auto report = check_allocator(allocator_with(Bug::free_fails), Choices(std::span(bytes)));
  EXPECT_FALSE(report.passed());
}

TEST(AllocatorCheck, PassesOnlyIfSomethingRan) { EXPECT_FALSE(AllocatorReport().passed()); }

struct Planted {
  const char* name;
  Bug bug;
  const char* failure;    // has this
  std::size_t lines_max;  // of the sequence
};

class PlantedBug : public ::testing::TestWithParam<Planted> {};

TEST_P(PlantedBug, IsFoundWithAShortSequence) {
  const AllocatorReport report = find(GetParam().bug);
  EXPECT_THAT(report.failure, HasSubstr(GetParam().failure));
  EXPECT_LE(lines(report.sequence), GetParam().lines_max) << to_string(report);
}

INSTANTIATE_TEST_SUITE_P(
    AllocatorCheck, PlantedBug,
    ::testing::Values(
        Planted{"MakerFails", Bug::maker_fails,
                "the allocator cannot be made: tessera: ILLEGAL_STATE", 0},
        Planted{"NullAddress", Bug::null_address, "b1 is at 0x0, where nothing can be", 1},
        Planted{"OddAddress", Bug::odd_address, "b1 is not aligned to 256 bytes", 1},
        Planted{"PastTheEnd", Bug::past_the_end, "b1 cannot be written: memset_d8: INVALID_VALUE",
                1},
        Planted{"GivesCachedTwice", Bug::gives_cached_twice, "b3 lies over b2", 4},
        Planted{"TakesSmallerCached", Bug::takes_smaller_cached, "b2 cannot be written", 3},
        Planted{"SharesMemory", Bug::shares_memory,
                "b1 lost what was written to it, at byte 0: it has what was written to b2", 2},
        Planted{"ForgetsAccess", Bug::forgets_access, "b1 cannot be written", 1},
        Planted{"ForgetsHandle", Bug::forgets_handle,
                "create reference never released; made by call 2 (mem_create)", 1},
        Planted{"ForgetsCached", Bug::forgets_cached, "this is left:", 1},
        Planted{"KeepsCachedWhenFull", Bug::keeps_cached_when_full,
                "too little memory, though nothing is allocated", 20},
        Planted{"FreesMappedAddresses", Bug::frees_mapped_addresses, "rule free_while_mapped", 2},
        Planted{"UnmapsAgainAtTheEnd", Bug::unmaps_again_at_the_end,
                "when the allocator is destroyed: ", 1},
        Planted{"OtherError", Bug::other_error, "allocate fails: tessera: INVALID_VALUE", 10},
        Planted{"FreeFails", Bug::free_fails, "free fails: tessera: ILLEGAL_STATE", 1},
        Planted{"ThrowsFromFree", Bug::throws_from_free, "an exception is thrown: no such block",
                2},
        Planted{"ThrowsAtTheEnd", Bug::throws_at_the_end, "an exception is thrown", 2},
        Planted{"CheckFindsSomething", Bug::check_finds_something, "two are cached", 4}),
    [](const auto& planted) { return planted.param.name; });

TEST(AllocatorCheck, PrintsTheShortestSequence) {
  EXPECT_THAT(to_string(find(Bug::gives_cached_twice)),
              MatchesRegex("allocator check: b3 lies over b2\n"
                           "the shortest sequence found:\n"
                           "  b1 = allocate 1 bytes at 0x[0-9a-f]+\n"
                           "  free b1\n"
                           "  b2 = allocate 1 bytes at 0x[0-9a-f]+\n"
                           "  b3 = allocate 1 bytes at 0x[0-9a-f]+\n"));
}

TEST(AllocatorCheck, PrintsWhatWasRefused) {
  EXPECT_THAT(find(Bug::keeps_cached_when_full).sequence, HasSubstr(": OUT_OF_MEMORY\n"));
}

TEST(AllocatorCheck, SaysWhatWasDone) {
  EXPECT_EQ(to_string(AllocatorReport{.operations = 64, .refusals = 3}),
            "allocator check: 64 operations, 3 of them found too little memory, nothing wrong\n");
  EXPECT_EQ(to_string(AllocatorReport{.operations = 1, .failure = "it leaks"}),
            "allocator check: it leaks\nthe shortest sequence found:\n  no operation\n");
}

TEST(AllocatorCheck, SaysThatADriverCannotBeUsed) {
  class NoDriver final : public DriverWrapper {
   public:
    NoDriver() : DriverWrapper(&simulator_) {}
    Status init(std::uint32_t /*flags*/) override { return Error{.code = ErrorCode::no_device}; }

   private:
    sim::SimDriver simulator_{*sim::built_in_profile("h200")};
  };
  AllocatorTest test = allocator_with(Bug::none);
  test.make_driver = [] { return std::make_unique<NoDriver>(); };
  EXPECT_THAT(check_allocator(test, Choices(1)).failure,
              StartsWith("the driver cannot be used: tessera: NO_DEVICE"));
}

TEST(AllocatorCheck, SaysWhichFiguresMakeNoSense) {
  const auto failure = [](auto&& change) {
    AllocatorTest test = allocator_with(Bug::none);
    change(test);
    const AllocatorReport report = check_allocator(test, Choices(1));
    EXPECT_FALSE(report.passed());
    return report.failure;
  };
  EXPECT_THAT(failure([](AllocatorTest& test) { test.size_max = 1_TiB; }),
              MatchesRegex("the test cannot be run: size_max is 1 TiB .*, and may be 1 byte to the "
                           "capacity, 24 MiB .*"));
  EXPECT_THAT(failure([](AllocatorTest& test) { test.size_max = {}; }), HasSubstr("size_max is 0"));
  EXPECT_EQ(failure([](AllocatorTest& test) { test.blocks_max = 0; }),
            "the test cannot be run: blocks_max is 0, and may be 1 to 1048576");
  EXPECT_THAT(failure([](AllocatorTest& test) { test.operations_max = ~std::size_t{0}; }),
              HasSubstr("operations_max is 18446744073709551615, and may be 1 to"));
  EXPECT_THAT(failure([](AllocatorTest& test) { test.swept_operations_max = 0; }),
              HasSubstr("swept_operations_max is 0"));
  EXPECT_THAT(failure([](AllocatorTest& test) { test.alignment = {}; }),
              HasSubstr("alignment is 0 bytes, and may be 1 byte or more"));
  EXPECT_THAT(failure([](AllocatorTest& test) { test.validation.findings_max = 0; }),
              HasSubstr("findings_max is 0"));
}

TEST(AllocatorCheck, LooksOnlyAtTheRulesAskedFor) {
  AllocatorTest test = allocator_with(Bug::frees_mapped_addresses);
  test.validation.ignored = {RuleId::free_while_mapped};
  // What follows from the mistake is found all the same.
  EXPECT_THAT(find(test).failure, HasSubstr("this is left:"));
}

TEST(SweepAllocator, PassesAGoodAllocator) {
  const SweepReport report = sweep_allocator(allocator_with(Bug::none), Choices(1));
  EXPECT_TRUE(report.passed()) << to_string(report);
  EXPECT_GT(report.faults, report.calls);
}

TEST(SweepAllocator, FindsWhatOnlyFailingCallsShow) {
  const std::map<Bug, const char*> found = {
      {Bug::keeps_no_access_undo, "it leaves "},
      {Bug::swallows_access_error, "cannot be written"},
      {Bug::changes_error, "another error than the first"},
      {Bug::throws_after_error, "an exception is thrown: no such block"},
      {Bug::free_fails_after_error, "after the error free fails: tessera: ILLEGAL_STATE"}};
  for (const auto& [bug, what] : found) {
    const AllocatorTest test = allocator_with(bug);
    const SweepReport report = sweep_allocator(test, Choices(1));
    EXPECT_FALSE(report.passed());
    EXPECT_THAT(to_string(report), HasSubstr(what));
  }
}

TEST(SweepAllocator, TakesTheSweepsOptions) {
  SweepOptions options = {.make_world = {}, .may_recover = false};
  // Memory that could not be had at once was had after giving back what was cached.
  EXPECT_THAT(to_string(sweep_allocator(allocator_with(Bug::none), Choices(1), options)),
              HasSubstr("the error was swallowed"));
}

TEST(SweepAllocator, ChecksTheAllocatorWithoutFaultsFirst) {
  const SweepReport report = sweep_allocator(allocator_with(Bug::free_fails), Choices(1));
  ASSERT_EQ(report.failures.size(), 1U);
  EXPECT_THAT(report.failures[0].what, AllOf(StartsWith("without faults: allocator check: "),
                                             HasSubstr("  b1 = allocate 1 bytes at 0x")));
}

}  // namespace
}  // namespace tessera::testing
