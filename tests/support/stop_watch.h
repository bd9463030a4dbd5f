// StopWatch: how long something took, for output only. No test asserts a time.
#pragma once

#include <chrono>

namespace tessera::test {

class StopWatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace tessera::test
