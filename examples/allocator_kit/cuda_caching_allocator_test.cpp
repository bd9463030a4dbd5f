#include "cuda_caching_allocator.h"

#include <gtest/gtest.h>

#include "caching_allocator_kit.h"

using namespace tessera::testing;

// Its calls go to the driver that it is tested on.
class CudaAllocatorUnderTest final : public AllocatorUnderTest {
 public:
  explicit CudaAllocatorUnderTest(tessera::Driver& driver) : scope_(driver) {}
  tessera::Result<tessera::DeviceAddress> allocate(tessera::Bytes size) override {
    CUdeviceptr address = 0;
    TESSERA_TRY(to_status(allocator_.allocate(&address, size.value())));
    return tessera::DeviceAddress(address);
  }
  tessera::Status free(tessera::DeviceAddress address) override {
    return to_status(allocator_.free(address.value()));
  }

 private:
  CudaCallsScope scope_;
  CudaCachingAllocator allocator_{cuda_calls()};
};

AllocatorTest cuda_caching_allocator() {
  AllocatorTest test = caching_allocator();
  test.make_allocator = [](tessera::Driver& driver) {
    return std::unique_ptr<AllocatorUnderTest>(new CudaAllocatorUnderTest(driver));
  };
  return test;
}

TEST(CudaCachingAllocator, KeepsItsPromisesInAnyOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const AllocatorReport report = check_allocator(cuda_caching_allocator(), Choices(seed));
    ASSERT_TRUE(report.passed()) << "seed " << seed << '\n' << to_string(report);
  }
}

TEST(CudaCachingAllocator, GivesAllBackWhateverFails) {
  const SweepReport report = sweep_allocator(cuda_caching_allocator(), Choices(1));
  EXPECT_TRUE(report.passed()) << to_string(report);
}
