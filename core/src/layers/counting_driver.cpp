#include "tessera/layers/counting_driver.h"

#include <numeric>

namespace tessera {

std::uint64_t CallCounts::total() const noexcept {
  return std::accumulate(calls.begin(), calls.end(), std::uint64_t{0});
}

std::uint64_t CallCounts::total_failures() const noexcept {
  return std::accumulate(failures.begin(), failures.end(), std::uint64_t{0});
}

std::string to_string(const CallCounts& counts) {
  std::string lines;
  for (std::size_t i = 0; i < call_count; ++i) {
    const auto call = static_cast<Call>(i);
    if (counts.of(call) == 0) {
      continue;
    }
    lines += method_name(call);
    lines += ": " + std::to_string(counts.of(call));
    if (counts.failures_of(call) != 0) {
      lines += ", " + std::to_string(counts.failures_of(call)) + " failed";
    }
    lines += '\n';
  }
  return lines;
}

CountingDriver::CountingDriver(Driver* target) noexcept : InterceptingDriver(target) {}

CountingDriver::~CountingDriver() = default;

CallCounts CountingDriver::counts() const noexcept {
  CallCounts counts;
  for (std::size_t i = 0; i < call_count; ++i) {
    counts.calls[i] = calls_[i].load(std::memory_order_relaxed);
    counts.failures[i] = failures_[i].load(std::memory_order_relaxed);
  }
  return counts;
}

void CountingDriver::reset() noexcept {
  for (std::size_t i = 0; i < call_count; ++i) {
    calls_[i].store(0, std::memory_order_relaxed);
    failures_[i].store(0, std::memory_order_relaxed);
  }
}

template <Call call, class Request, class Forward>
std::invoke_result_t<Forward> CountingDriver::around(const Request& /*request*/, Forward forward) {
  constexpr auto index = static_cast<std::size_t>(call);
  calls_[index].fetch_add(1, std::memory_order_relaxed);
  auto answer = forward();
  if (!answer) {
    failures_[index].fetch_add(1, std::memory_order_relaxed);
  }
  return answer;
}

template class InterceptingDriver<CountingDriver>;

}  // namespace tessera
