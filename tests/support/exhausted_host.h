// ExhaustedHost: while one lives, this thread gets no memory from `new`. Programs that use it have
// an `operator new` of their own. Not where the thread sanitizer brings its own: there is plenty.
#pragma once

#if defined(__SANITIZE_THREAD__)
#define TESSERA_HOST_IS_EXHAUSTIBLE 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TESSERA_HOST_IS_EXHAUSTIBLE 0
#endif
#endif
#ifndef TESSERA_HOST_IS_EXHAUSTIBLE
#define TESSERA_HOST_IS_EXHAUSTIBLE 1
#endif

namespace tessera::test {

class ExhaustedHost {
 public:
  static constexpr bool is_possible = TESSERA_HOST_IS_EXHAUSTIBLE == 1;

  ExhaustedHost() noexcept;
  ~ExhaustedHost();
  ExhaustedHost(const ExhaustedHost&) = delete;
  ExhaustedHost& operator=(const ExhaustedHost&) = delete;
};

}  // namespace tessera::test
