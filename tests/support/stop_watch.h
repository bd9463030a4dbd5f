// StopWatch: the processor time that something took, for output only. No test asserts a time.
#pragma once

#include <ctime>

namespace tessera::test {

class StopWatch {
 public:
  [[nodiscard]] double milliseconds() const {
    return static_cast<double>(std::clock() - begin_) * 1000 / CLOCKS_PER_SEC;
  }

 private:
  std::clock_t begin_ = std::clock();
};

}  // namespace tessera::test
