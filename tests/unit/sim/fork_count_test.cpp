#include "fork_count.h"

#include <cstdint>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tessera::sim {
namespace {

// Runs `check` in a child, which ends there, and gives its answer.
template <class Check>
bool holds_in_child(Check check) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(check() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

TEST(ForkCount, StaysWithoutAFork) {
  const std::uint64_t before = fork_count();
  EXPECT_EQ(fork_count(), before);
}

TEST(ForkCount, IsOneMoreInAChild) {
  const std::uint64_t before = fork_count();
  EXPECT_TRUE(holds_in_child([&] { return fork_count() == before + 1; }));
  EXPECT_TRUE(holds_in_child([&] { return fork_count() == before + 1; })) << "a second child";
  EXPECT_EQ(fork_count(), before) << "the parent was not forked";
}

TEST(ForkCount, CountsGenerations) {
  const std::uint64_t before = fork_count();
  EXPECT_TRUE(holds_in_child([&] {
    return holds_in_child([&] { return fork_count() == before + 2; }) && fork_count() == before + 1;
  }));
}

}  // namespace
}  // namespace tessera::sim
