// Matchers for Result: EXPECT_THAT(driver.mem_release(handle), is_ok());
#pragma once

#include <type_traits>

#include <gmock/gmock.h>

#include "support/printers.h"
#include "tessera/result.h"

namespace tessera::test {

MATCHER(is_ok, negation ? "is an error" : "is no error") {
  static_cast<void>(result_listener);
  return arg.has_value();
}

// `inner` is a value or a matcher for the value.
MATCHER_P(is_ok_and_holds, inner,
          (negation ? "is an error or holds a value that " : "holds a value that ") +
              ::testing::DescribeMatcher<typename std::decay_t<arg_type>::value_type>(inner,
                                                                                      negation)) {
  if (!arg.has_value()) {
    return false;
  }
  return ::testing::ExplainMatchResult(inner, arg.value(), result_listener);
}

MATCHER_P(fails_with, code, (negation ? "does not fail with " : "fails with ") + code_name(code)) {
  if (arg.has_value()) {
    *result_listener << "which succeeded";
    return false;
  }
  return arg.error().code == code;
}

}  // namespace tessera::test
