// ExhaustedHost: while one lives, this thread gets no memory from `new`. Programs that use it have
// an `operator new` of their own.
#pragma once

namespace tessera::test {

class ExhaustedHost {
 public:
  ExhaustedHost() noexcept;
  ~ExhaustedHost();
  ExhaustedHost(const ExhaustedHost&) = delete;
  ExhaustedHost& operator=(const ExhaustedHost&) = delete;
};

}  // namespace tessera::test
