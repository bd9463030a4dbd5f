// What a growing buffer costs on a real GPU beside the bare calls, both in one benchmark, and how
// fast copies in it are beside mem_alloc's memory: run those in random order:
//
//   cuda_buffers_bench --benchmark_filter=Grow
//   cuda_buffers_bench --benchmark_filter=Copy --benchmark_enable_random_interleaving=true
//     --benchmark_repetitions=9
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <random>
#include <string>
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

// What the driver takes for the same calls varies by a third from one time to the next, far more
// than a buffer adds. So both are timed in turn, in random order, and what counts is the middle of
// the ratios of pairs, with the range that holds the true one 95 times of 100 (of the order
// statistics: half the pairs, 0.98 roots of their number to either side).
class Pairs {
 public:
  void add(double bare, double buffer) {
    bare_.push_back(bare);
    buffer_.push_back(buffer);
    ratios_.push_back(buffer / bare);
  }
  void report(benchmark::State& state, const std::string& clock) {
    const double middle = 0.5;
    const double aside = 0.98 / std::sqrt(static_cast<double>(ratios_.size()));
    state.counters["bare_" + clock + "_ms"] = quantile(bare_, middle);
    state.counters["buffer_" + clock + "_ms"] = quantile(buffer_, middle);
    state.counters["ratio_" + clock] = quantile(ratios_, middle);
    state.counters["ratio_" + clock + "_from"] = quantile(ratios_, middle - aside);
    state.counters["ratio_" + clock + "_to"] = quantile(ratios_, middle + aside);
  }

 private:
  static double quantile(std::vector<double>& values, double part) {
    std::sort(values.begin(), values.end());
    const double at = std::clamp(part, 0.0, 1.0) * static_cast<double>(values.size() - 1);
    return values[static_cast<std::size_t>(std::lround(at))];
  }

  std::vector<double> bare_, buffer_, ratios_;
};

struct Times {
  double real_ms = 0;
  double processor_ms = 0;
};

double processor_ms() {
  timespec now = {};
  TESSERA_CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

Times timed(void (*grow)(Driver&, const std::vector<Bytes>&), Driver& driver,
            const std::vector<Bytes>& sizes) {
  const auto begin = std::chrono::steady_clock::now();
  const double processor_begin = processor_ms();
  grow(driver, sizes);
  const double processor_end = processor_ms();
  const std::chrono::duration<double, std::milli> real = std::chrono::steady_clock::now() - begin;
  return {.real_ms = real.count(), .processor_ms = processor_end - processor_begin};
}

template <std::vector<Bytes> (*sizes)()>
void BM_GrowBareAndBuffer(benchmark::State& state) {
  Driver* const driver = gpu();
  if (driver == nullptr) {
    state.SkipWithError("no GPU");
    return;
  }
  const std::vector<Bytes> all = sizes();
  grow_bare(*driver, all);
  grow_buffer(*driver, all);
  std::mt19937_64 random(1);
  Pairs real;
  Pairs processor;
  for (auto _ : state) {
    Times bare;
    Times buffer;
    if (random() % 2 == 0) {
      bare = timed(grow_bare, *driver, all);
      buffer = timed(grow_buffer, *driver, all);
    } else {
      buffer = timed(grow_buffer, *driver, all);
      bare = timed(grow_bare, *driver, all);
    }
    real.add(bare.real_ms, buffer.real_ms);
    processor.add(bare.processor_ms, buffer.processor_ms);
  }
  real.report(state, "real");
  processor.report(state, "processor");
}
BENCHMARK(BM_GrowBareAndBuffer<steps>)->Iterations(600)->Unit(benchmark::kMillisecond);
BENCHMARK(BM_GrowBareAndBuffer<doubling>)->Iterations(600)->Unit(benchmark::kMillisecond);

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
