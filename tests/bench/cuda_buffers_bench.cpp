// What a growing buffer costs on a real GPU beside the bare calls, and how fast copies in it are
// beside mem_alloc's memory. Run both of a pair in one run, in random order:
//
//   cuda_buffers_bench --benchmark_enable_random_interleaving=true --benchmark_repetitions=9
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "tessera/buffers/growable_buffer.h"
#include "tessera/cuda/cuda_driver.h"

namespace tessera {
namespace {

constexpr DeviceOrdinal device{0};
constexpr std::array read_write = {
    AccessDescriptor{.location = on_device(device), .flags = AccessFlags::read_write}};

template <class T>
T must(Result<T> result) {
  TESSERA_CHECK(result.has_value());
  return std::move(result).value();
}
void must(const Status& status) { TESSERA_CHECK(status.has_value()); }

// The driver with device 0's primary context current; null without a GPU.
Driver* gpu() {
  static auto opened = cuda::CudaDriver::open();
  static Driver* const driver = []() -> Driver* {
    if (!opened || !(*opened)->init(0)) {
      return nullptr;
    }
    must((*opened)->ctx_set_current(must((*opened)->device_primary_ctx_retain(device))));
    return opened->get();
  }();
  return driver;
}

// The sizes that a buffer takes one after the other.
std::vector<Bytes> doubling() {
  std::vector<Bytes> sizes;
  for (Bytes size = 16_MiB; size <= 16_GiB; size = size * 2) {
    sizes.push_back(size);
  }
  return sizes;
}
std::vector<Bytes> steps() {
  std::vector<Bytes> sizes;
  for (Bytes size = 64_MiB; size <= 8_GiB; size += 64_MiB) {
    sizes.push_back(size);
  }
  return sizes;
}

void grow_bare(Driver& driver, const std::vector<Bytes>& sizes) {
  const DeviceAddress base = must(driver.mem_address_reserve({.size = 16_GiB}));
  std::vector<std::pair<AllocationHandle, AddressRange>> pieces;
  Bytes mapped;
  for (const Bytes size : sizes) {
    const AddressRange range(base + mapped, size - mapped);
    const AllocationHandle handle = must(driver.mem_create({.size = range.size()}));
    must(driver.mem_map({.address = range.begin(), .size = range.size(), .handle = handle}));
    must(driver.mem_set_access(
        {.address = range.begin(), .size = range.size(), .descriptors = read_write}));
    pieces.emplace_back(handle, range);
    mapped = size;
  }
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    must(driver.mem_unmap({.address = piece->second.begin(), .size = piece->second.size()}));
    must(driver.mem_release(piece->first));
  }
  must(driver.mem_address_free({.address = base, .size = 16_GiB}));
}

void grow_buffer(Driver& driver, const std::vector<Bytes>& sizes) {
  GrowableBuffer buffer =
      must(GrowableBuffer::make(driver, {.reserve = 16_GiB, .growth = GrowthPolicy::exact()}));
  for (const Bytes size : sizes) {
    must(buffer.grow_to(size));
  }
  must(buffer.close(Quiescence::promised()));
}

template <void (*grow)(Driver&, const std::vector<Bytes>&), std::vector<Bytes> (*sizes)()>
void BM_Grow(benchmark::State& state) {
  Driver* const driver = gpu();
  if (driver == nullptr) {
    state.SkipWithError("no GPU");
    return;
  }
  const std::vector<Bytes> all = sizes();
  for (auto _ : state) {
    grow(*driver, all);
  }
}
BENCHMARK(BM_Grow<grow_bare, doubling>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Grow<grow_buffer, doubling>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Grow<grow_bare, steps>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Grow<grow_buffer, steps>)->UseRealTime()->Unit(benchmark::kMillisecond);

// --- Copies ---

constexpr Bytes copy_size = 1_GiB;

enum class Copy { to, from, on };

// Two gigabytes to copy from and to, of one buffer made of large handles.
class InBuffer {
 public:
  explicit InBuffer(Driver& driver)
      : buffer_(must(GrowableBuffer::make(
            driver, {.reserve = copy_size * 2, .growth = GrowthPolicy::exact()}))) {
    must(buffer_.grow_to(copy_size));
    must(buffer_.grow_to(copy_size * 2));
  }
  [[nodiscard]] DeviceAddress address() const { return buffer_.address(); }

 private:
  GrowableBuffer buffer_;
};

class InAllocation {
 public:
  explicit InAllocation(Driver& driver)
      : driver_(driver), address_(must(driver.mem_alloc(copy_size * 2))) {}
  InAllocation(const InAllocation&) = delete;
  InAllocation& operator=(const InAllocation&) = delete;
  ~InAllocation() { must(driver_.mem_free(address_)); }
  [[nodiscard]] DeviceAddress address() const { return address_; }

 private:
  Driver& driver_;
  DeviceAddress address_;
};

template <class Memory, Copy copy>
void BM_Copy(benchmark::State& state) {
  Driver* const driver = gpu();
  if (driver == nullptr) {
    state.SkipWithError("no GPU");
    return;
  }
  const Memory memory(*driver);
  std::byte* const host = must(driver->mem_host_alloc({.size = copy_size}));
  const std::span<std::byte> bytes(host, static_cast<std::size_t>(copy_size.value()));
  std::fill(bytes.begin(), bytes.end(), std::byte{1});
  for (auto _ : state) {
    if constexpr (copy == Copy::to) {
      must(driver->memcpy_htod({.destination = memory.address(), .source = bytes}));
    } else if constexpr (copy == Copy::from) {
      must(driver->memcpy_dtoh({.destination = bytes, .source = memory.address()}));
    } else {
      must(driver->memcpy_dtod({.destination = memory.address() + copy_size,
                                .source = memory.address(),
                                .size = copy_size}));
    }
    must(driver->ctx_synchronize());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(copy_size.value()));
  must(driver->mem_free_host(host));
}
BENCHMARK(BM_Copy<InAllocation, Copy::to>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Copy<InBuffer, Copy::to>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Copy<InAllocation, Copy::from>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Copy<InBuffer, Copy::from>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Copy<InAllocation, Copy::on>)->UseRealTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_Copy<InBuffer, Copy::on>)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tessera
