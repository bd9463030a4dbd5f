// A reader's error repeated a case's name as it stood, with bytes that a terminal obeys.
#include <string>
#include <variant>

#include <gmock/gmock.h>

#include "tessera/scenario/reader.h"

namespace tessera::scenario {
namespace {

TEST(CaseNameInError, IsPrintable) {
  for (const char* text : {"case a\x1b[2J\n", "case a\x1b[2J\ncase b\n"}) {
    const auto result = read_scenario(text, "test.vmm");
    ASSERT_TRUE(std::holds_alternative<ReadError>(result));
    EXPECT_THAT(to_string(std::get<ReadError>(result)), testing::Not(testing::HasSubstr("\x1b")));
  }
}

}  // namespace
}  // namespace tessera::scenario
