#include "tessera/layers/call_errors.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "conformance/every_call.h"
#include "support/must.h"
#include "tessera/layers/call_set.h"
#include "tessera/sim/sim_driver.h"

namespace tessera {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> listed_calls() {
  return {
#define TESSERA_CALL_ERRORS(method, need, ...) #method,
#include "tessera/layers/call_errors.def"
#undef TESSERA_CALL_ERRORS
  };
}

std::vector<std::string> all_calls() {
  return {
#define TESSERA_CALL(method, cuda_name) #method,
#include "tessera/calls.def"
#undef TESSERA_CALL
  };
}

bool has_error(Call call, ErrorCode code) {
  const auto errors = call_errors(call);
  return std::find(errors.begin(), errors.end(), code) != errors.end();
}

TEST(CallErrors, ListEachCallOnceInOrder) { EXPECT_EQ(listed_calls(), all_calls()); }

TEST(CallErrors, GiveTheOwnErrorsOfACallFirst) {
  EXPECT_THAT(
      call_errors(Call::mem_map),
      ElementsAre(ErrorCode::invalid_value, ErrorCode::not_supported, ErrorCode::out_of_memory,
                  ErrorCode::unknown, ErrorCode::not_initialized));
  EXPECT_THAT(call_errors(Call::mem_alloc), Contains(ErrorCode::illegal_address));
  EXPECT_THAT(call_errors(Call::driver_get_version), IsEmpty());
  EXPECT_THAT(call_errors(Call::none), IsEmpty());
}

TEST(CallErrors, NameNoErrorOfACallTwice) {
  for (std::size_t i = 0; i < call_count; ++i) {
    const auto errors = call_errors(static_cast<Call>(i));
    EXPECT_EQ(std::set(errors.begin(), errors.end()).size(), errors.size())
        << method_name(static_cast<Call>(i));
  }
}

// Every call with arguments that name nothing: what a simulated machine answers must be listed.
void expect_answers_are_listed(Driver& driver) {
  for (const conformance::EveryCall& entry : conformance::every_call()) {
    if (const auto code = entry.make(driver)) {
      EXPECT_TRUE(has_error(entry.call, *code)) << method_name(entry.call) << code_name(*code);
    }
  }
}

TEST(CallErrors, HaveWhatTheSimulatorAnswersBeforeInitAndWithoutAContext) {
  sim::SimDriver driver(*sim::built_in_profile("h200"));
  expect_answers_are_listed(driver);
  test::must(driver.init(0));
  expect_answers_are_listed(driver);
}

TEST(CallErrors, HaveWhatTheSimulatorAnswersInALostProcess) {
  sim::SimDriver driver(*sim::built_in_profile("h200"));
  test::must(driver.init(0));
  test::must(driver.ctx_set_current(test::must(driver.device_primary_ctx_retain({}))));
  test::must(driver.launch_touch({.address = DeviceAddress(4096), .touch = Touch::read}));
  EXPECT_FALSE(driver.ctx_synchronize());
  expect_answers_are_listed(driver);
}

TEST(CallSet, HoldsWhatWasAdded) {
  CallSet set = {Call::mem_map, Call::mem_create};
  EXPECT_TRUE(set.contains(Call::mem_map));
  EXPECT_FALSE(set.contains(Call::mem_unmap));
  set.add(Call::mem_unmap);
  set.remove(Call::mem_map);
  EXPECT_EQ(set, (CallSet{Call::mem_unmap, Call::mem_create}));
  EXPECT_FALSE(set.is_empty());
  EXPECT_TRUE(CallSet().is_empty());
}

TEST(CallSet, OfUndoingHasWhatGivesBackAndNothingThatMakes) {
  for (const Call call : {Call::mem_unmap, Call::mem_release, Call::mem_address_free}) {
    EXPECT_TRUE(undo_calls().contains(call));
  }
  for (const Call call : {Call::mem_create, Call::mem_map, Call::ctx_synchronize}) {
    EXPECT_FALSE(undo_calls().contains(call));
  }
}

}  // namespace
}  // namespace tessera
