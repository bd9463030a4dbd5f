#include "contexts.h"

#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "thread_number.h"

namespace tessera::sim {
namespace {

constexpr DeviceOrdinal device0(0);
constexpr DeviceOrdinal device1(1);

Context limits() {
  Context defaults;
  defaults.limits[0] = Bytes(1024);
  defaults.limits[2] = Bytes(8192);
  return defaults;
}

// Runs it on a new thread, to its end.
template <class Function>
void on_other_thread(Function function) {
  std::thread(function).join();
}

class ContextsTest : public testing::Test {
 protected:
  Contexts contexts_{2, limits()};
};

using PrimaryContext = ContextsTest;
using CreatedContext = ContextsTest;
using CurrentContext = ContextsTest;

TEST(ThreadNumber, IsNeverUsedAgain) {
  std::set<std::uint64_t> seen = {this_thread_number()};
  EXPECT_TRUE(seen.contains(this_thread_number()));
  for (int i = 0; i < 50; ++i) {
    std::uint64_t number = 0;
    on_other_thread([&] { number = this_thread_number(); });
    EXPECT_TRUE(seen.insert(number).second) << number;
  }
}

TEST_F(PrimaryContext, IsNotThereUntilRetained) {
  EXPECT_EQ(contexts_.primary(device0), nullptr);
  EXPECT_EQ(contexts_.size(), 0U);
  const auto retained = contexts_.retain_primary(device0);
  EXPECT_TRUE(retained.is_new);
  EXPECT_EQ(retained.context->device, device0);
  EXPECT_TRUE(retained.context->is_primary);
  EXPECT_FALSE(retained.context->handle.is_null());
  EXPECT_EQ(contexts_.primary(device0), retained.context);
  EXPECT_EQ(contexts_.primary(device1), nullptr);
  EXPECT_EQ(contexts_.size(), 1U);
}

TEST_F(PrimaryContext, IsNotMadeCurrentByRetain) {
  static_cast<void>(contexts_.retain_primary(device0));
  EXPECT_EQ(contexts_.current(), nullptr);
  EXPECT_TRUE(contexts_.current_handle().is_null());
}

TEST_F(PrimaryContext, StartsWithTheDefaultLimits) {
  const Context* context = contexts_.retain_primary(device1).context;
  EXPECT_EQ(context->limits, limits().limits);
  EXPECT_TRUE(context->peers_enabled.empty());
}

TEST_F(PrimaryContext, LivesUntilTheLastReference) {
  Context* context = contexts_.retain_primary(device0).context;
  const ContextHandle handle = context->handle;
  const auto again = contexts_.retain_primary(device0);
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(again.context, context);

  const auto first = contexts_.release_primary(device0);
  EXPECT_TRUE(first.released);
  EXPECT_FALSE(first.destroyed.has_value());
  EXPECT_EQ(contexts_.primary(device0), context);

  const auto last = contexts_.release_primary(device0);
  EXPECT_TRUE(last.released);
  ASSERT_TRUE(last.destroyed.has_value());
  EXPECT_EQ(last.destroyed->handle, handle);
  EXPECT_EQ(contexts_.primary(device0), nullptr);
  EXPECT_EQ(contexts_.find(handle), nullptr);
  EXPECT_TRUE(contexts_.is_destroyed(handle));

  EXPECT_FALSE(contexts_.release_primary(device0).released);
  EXPECT_FALSE(contexts_.release_primary(device1).released);
}

TEST_F(PrimaryContext, KeepsItsHandleAcrossReleaseAndReset) {
  const ContextHandle handle = contexts_.retain_primary(device0).context->handle;
  static_cast<void>(contexts_.release_primary(device0));
  const auto retained = contexts_.retain_primary(device0);
  EXPECT_TRUE(retained.is_new);
  EXPECT_EQ(retained.context->handle, handle);
  static_cast<void>(contexts_.reset_primary(device0));
  EXPECT_EQ(contexts_.retain_primary(device0).context->handle, handle);
  EXPECT_NE(contexts_.retain_primary(device1).context->handle, handle);
  EXPECT_FALSE(contexts_.is_destroyed(handle));
}

TEST_F(PrimaryContext, StaysInactiveAfterResetUntilRetained) {
  Context* context = contexts_.retain_primary(device0).context;
  const ContextHandle handle = context->handle;
  ASSERT_TRUE(contexts_.set_current(handle));
  context->limits[0] = Bytes(1 << 20);

  const std::optional<Context> destroyed = contexts_.reset_primary(device0);
  ASSERT_TRUE(destroyed.has_value());
  EXPECT_EQ(destroyed->limits[0], Bytes(1 << 20));
  EXPECT_FALSE(contexts_.reset_primary(device0).has_value()) << "again";

  EXPECT_EQ(contexts_.primary(device0), nullptr);
  EXPECT_EQ(contexts_.current_handle(), handle);
  EXPECT_EQ(contexts_.current(), nullptr);
  EXPECT_TRUE(contexts_.set_current(handle)) << "an inactive context can be made current";
  EXPECT_EQ(contexts_.current(), nullptr) << "which does not make it active";

  const auto retained = contexts_.retain_primary(device0);
  EXPECT_TRUE(retained.is_new);
  EXPECT_EQ(contexts_.current(), retained.context);
  EXPECT_EQ(retained.context->limits[0], Bytes(1024));
}

TEST_F(PrimaryContext, KeepsItsReferencesAcrossReset) {
  static_cast<void>(contexts_.retain_primary(device0));
  EXPECT_TRUE(contexts_.reset_primary(device0).has_value());
  static_cast<void>(contexts_.retain_primary(device0));
  EXPECT_FALSE(contexts_.release_primary(device0).destroyed.has_value());
  EXPECT_NE(contexts_.primary(device0), nullptr);
  EXPECT_TRUE(contexts_.release_primary(device0).destroyed.has_value());
  EXPECT_FALSE(contexts_.release_primary(device0).released);
}

TEST_F(PrimaryContext, IsReleasedWhileInactiveWithNothingToDestroy) {
  static_cast<void>(contexts_.retain_primary(device0));
  static_cast<void>(contexts_.reset_primary(device0));
  const auto released = contexts_.release_primary(device0);
  EXPECT_TRUE(released.released);
  EXPECT_FALSE(released.destroyed.has_value());
  EXPECT_FALSE(contexts_.release_primary(device0).released);
}

TEST_F(PrimaryContext, IsNotResetBeforeItIsRetained) {
  EXPECT_FALSE(contexts_.reset_primary(device0).has_value());
}

TEST_F(PrimaryContext, CannotBeDestroyed) {
  Context* context = contexts_.retain_primary(device0).context;
  ASSERT_TRUE(contexts_.set_current(context->handle));
  EXPECT_FALSE(contexts_.destroy(context->handle).has_value());
  EXPECT_EQ(contexts_.current(), context);
  EXPECT_FALSE(contexts_.is_destroyed(context->handle));
}

TEST_F(PrimaryContext, IsNotPoppedByTheLastRelease) {
  const ContextHandle handle = contexts_.retain_primary(device0).context->handle;
  ASSERT_TRUE(contexts_.set_current(handle));
  static_cast<void>(contexts_.release_primary(device0));
  EXPECT_EQ(contexts_.current_handle(), handle);
  EXPECT_EQ(contexts_.current(), nullptr);
}

TEST_F(PrimaryContext, ComesBackAsNoPeerOfOthers) {
  const ContextHandle peer = contexts_.retain_primary(device1).context->handle;
  Context* context = contexts_.retain_primary(device0).context;
  context->peers_enabled.insert(peer);
  static_cast<void>(contexts_.reset_primary(device1));
  static_cast<void>(contexts_.retain_primary(device1));
  EXPECT_TRUE(context->peers_enabled.empty());
}

TEST_F(CreatedContext, IsPushedAndCurrent) {
  Context* first = contexts_.create(device0);
  EXPECT_EQ(contexts_.current(), first);
  EXPECT_FALSE(first->is_primary);
  Context* second = contexts_.create(device1);
  EXPECT_EQ(second->device, device1);
  EXPECT_EQ(contexts_.current(), second);
  EXPECT_NE(first->handle, second->handle);
  EXPECT_EQ(contexts_.find(first->handle), first);
  EXPECT_EQ(contexts_.size(), 2U);
}

TEST_F(CreatedContext, IsPoppedWhenDestroyedOnTop) {
  Context* first = contexts_.create(device0);
  const ContextHandle second = contexts_.create(device0)->handle;
  const std::optional<Context> destroyed = contexts_.destroy(second);
  ASSERT_TRUE(destroyed.has_value());
  EXPECT_EQ(destroyed->handle, second);
  EXPECT_EQ(contexts_.current(), first);
  EXPECT_EQ(contexts_.find(second), nullptr);
  ASSERT_TRUE(contexts_.destroy(first->handle).has_value());
  EXPECT_TRUE(contexts_.current_handle().is_null());
  EXPECT_EQ(contexts_.size(), 0U);
}

TEST_F(CreatedContext, StaysOnTheStackWhenDestroyedBelowTheTop) {
  const ContextHandle first = contexts_.create(device0)->handle;
  Context* second = contexts_.create(device0);
  ASSERT_TRUE(contexts_.destroy(first).has_value());
  EXPECT_EQ(contexts_.current(), second);
  ASSERT_TRUE(contexts_.destroy(second->handle).has_value());
  EXPECT_EQ(contexts_.current_handle(), first);
  EXPECT_EQ(contexts_.current(), nullptr);
  EXPECT_TRUE(contexts_.is_destroyed(first));
  EXPECT_TRUE(contexts_.set_current(ContextHandle()));
  EXPECT_TRUE(contexts_.current_handle().is_null());
}

TEST_F(CreatedContext, IsPoppedOnceAlthoughTwiceOnTheStack) {
  const ContextHandle first = contexts_.create(device0)->handle;
  static_cast<void>(contexts_.create(device0));
  ASSERT_TRUE(contexts_.set_current(first));
  ASSERT_TRUE(contexts_.destroy(first).has_value());
  EXPECT_EQ(contexts_.current_handle(), first);
  EXPECT_EQ(contexts_.current(), nullptr);
}

TEST_F(CreatedContext, IsDestroyedOnce) {
  const ContextHandle handle = contexts_.create(device0)->handle;
  EXPECT_FALSE(contexts_.is_destroyed(handle));
  ASSERT_TRUE(contexts_.destroy(handle).has_value());
  EXPECT_FALSE(contexts_.destroy(handle).has_value());
  EXPECT_TRUE(contexts_.is_destroyed(handle));
}

TEST_F(CreatedContext, HandleIsNeverReused) {
  std::set<ContextHandle> seen;
  for (int i = 0; i < 100; ++i) {
    const ContextHandle handle = contexts_.create(device0)->handle;
    EXPECT_TRUE(seen.insert(handle).second);
    ASSERT_TRUE(contexts_.destroy(handle).has_value());
  }
}

TEST_F(CreatedContext, PointersOutliveOtherContexts) {
  Context* kept = contexts_.create(device0);
  std::vector<ContextHandle> others;
  others.reserve(1000);
  for (int i = 0; i < 1000; ++i) others.push_back(contexts_.create(device1)->handle);
  for (const ContextHandle other : others) ASSERT_TRUE(contexts_.destroy(other).has_value());
  EXPECT_EQ(kept->device, device0);
  EXPECT_EQ(contexts_.find(kept->handle), kept);
}

TEST_F(CreatedContext, MadeUpHandlesAreNone) {
  const ContextHandle real = contexts_.create(device0)->handle;
  for (const ContextHandle made_up :
       {ContextHandle(), ContextHandle(1), ContextHandle(real.value() + 1),
        ContextHandle(real.value() - 1), ContextHandle(~std::uint64_t{0})}) {
    EXPECT_EQ(contexts_.find(made_up), nullptr) << made_up.value();
    EXPECT_FALSE(contexts_.destroy(made_up).has_value()) << made_up.value();
    EXPECT_FALSE(contexts_.is_destroyed(made_up)) << made_up.value();
  }
}

TEST_F(CurrentContext, IsNoneAtFirst) {
  EXPECT_EQ(contexts_.current(), nullptr);
  EXPECT_TRUE(contexts_.current_handle().is_null());
  EXPECT_TRUE(contexts_.set_current(ContextHandle())) << "popping nothing is harmless";
}

TEST_F(CurrentContext, SetReplacesTheTop) {
  Context* first = contexts_.create(device0);
  Context* second = contexts_.create(device0);
  Context* primary = contexts_.retain_primary(device0).context;
  EXPECT_TRUE(contexts_.set_current(primary->handle));
  EXPECT_EQ(contexts_.current(), primary);
  EXPECT_TRUE(contexts_.set_current(ContextHandle()));
  EXPECT_EQ(contexts_.current(), first);
  EXPECT_TRUE(contexts_.set_current(second->handle));
  EXPECT_TRUE(contexts_.set_current(ContextHandle()));
  EXPECT_EQ(contexts_.current(), nullptr);
}

TEST_F(CurrentContext, SetRefusesMadeUpHandlesAndChangesNothing) {
  Context* context = contexts_.create(device0);
  EXPECT_FALSE(contexts_.set_current(ContextHandle(17)));
  EXPECT_FALSE(contexts_.set_current(ContextHandle(context->handle.value() + 1)));
  EXPECT_EQ(contexts_.current(), context);
  on_other_thread([this] {
    EXPECT_FALSE(contexts_.set_current(ContextHandle(17)));
    EXPECT_TRUE(contexts_.current_handle().is_null());
  });
}

TEST_F(CurrentContext, SetAcceptsADestroyedOneThatIsOfNoUse) {
  const ContextHandle handle = contexts_.create(device0)->handle;
  ASSERT_TRUE(contexts_.destroy(handle).has_value());
  EXPECT_TRUE(contexts_.set_current(handle));
  EXPECT_EQ(contexts_.current_handle(), handle);
  EXPECT_EQ(contexts_.current(), nullptr);
}

TEST_F(CurrentContext, BelongsToTheThread) {
  Context* mine = contexts_.create(device0);
  on_other_thread([this, mine] {
    EXPECT_EQ(contexts_.current(), nullptr);
    Context* theirs = contexts_.create(device1);
    EXPECT_EQ(contexts_.current(), theirs);
    EXPECT_TRUE(contexts_.set_current(mine->handle));
    EXPECT_EQ(contexts_.current(), mine);
  });
  EXPECT_EQ(contexts_.current(), mine);
}

TEST_F(CurrentContext, IsNotInheritedFromADeadThread) {
  for (int i = 0; i < 20; ++i) {
    on_other_thread([this] {
      EXPECT_EQ(contexts_.current(), nullptr);
      EXPECT_TRUE(contexts_.current_handle().is_null());
      static_cast<void>(contexts_.create(device0));
    });
  }
  EXPECT_EQ(contexts_.size(), 20U) << "contexts outlive the threads that made them";
}

TEST_F(CurrentContext, IsADeadHandleAfterAnotherThreadDestroyedIt) {
  const ContextHandle handle = contexts_.create(device0)->handle;
  on_other_thread([this, handle] {
    ASSERT_TRUE(contexts_.set_current(handle));
    ASSERT_TRUE(contexts_.destroy(handle).has_value());
    EXPECT_TRUE(contexts_.current_handle().is_null()) << "popped here";
  });
  EXPECT_EQ(contexts_.current_handle(), handle) << "not popped there";
  EXPECT_EQ(contexts_.current(), nullptr);
  EXPECT_TRUE(contexts_.set_current(ContextHandle()));
  EXPECT_TRUE(contexts_.current_handle().is_null());
}

TEST(ContextsDeathTest, ADeviceThatIsNotThereIsABug) {
  Contexts contexts(1, limits());
  EXPECT_DEATH(static_cast<void>(contexts.retain_primary(device1)), "index");
  EXPECT_DEATH(static_cast<void>(contexts.create(DeviceOrdinal(-1))), "value");
}

}  // namespace
}  // namespace tessera::sim
