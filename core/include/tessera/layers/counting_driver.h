// CountingDriver: a layer that counts the calls that go through it, by kind, and those that failed.
// Any thread may call it, and read its counts meanwhile.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "tessera/layers/intercept.h"

namespace tessera {

// Counts by call; `failures` are among `calls`.
struct CallCounts {
  std::array<std::uint64_t, call_count> calls = {};
  std::array<std::uint64_t, call_count> failures = {};

  [[nodiscard]] std::uint64_t of(Call call) const noexcept {
    return calls[static_cast<std::size_t>(call)];
  }
  [[nodiscard]] std::uint64_t failures_of(Call call) const noexcept {
    return failures[static_cast<std::size_t>(call)];
  }
  [[nodiscard]] std::uint64_t total() const noexcept;
  [[nodiscard]] std::uint64_t total_failures() const noexcept;

  friend bool operator==(const CallCounts&, const CallCounts&) = default;
};

// One line a kind of call that was made: "mem_map: 4, 1 failed".
[[nodiscard]] std::string to_string(const CallCounts& counts);

class CountingDriver final : public InterceptingDriver<CountingDriver> {
 public:
  // The target outlives this object.
  explicit CountingDriver(Driver* target) noexcept;
  ~CountingDriver() override;

  // While other threads call, each count is right by itself; the sum may miss calls under way.
  [[nodiscard]] CallCounts counts() const noexcept;
  void reset() noexcept;

 private:
  friend InterceptAccess;
  template <Call call, class Request, class Forward>
  std::invoke_result_t<Forward> around(const Request& request, Forward forward);

  std::array<std::atomic<std::uint64_t>, call_count> calls_ = {};
  std::array<std::atomic<std::uint64_t>, call_count> failures_ = {};
};

extern template class InterceptingDriver<CountingDriver>;

}  // namespace tessera
