// What a scenario can say and a program cannot: each such line is refused by its own words.
#include <array>
#include <string>
#include <utility>
#include <variant>

#include <gmock/gmock.h>

#include "tessera/scenario/reader.h"
#include "tessera/scenario/writer.h"
#include "tessera/testing/program_text.h"

namespace tessera::testing {
namespace {

using ::testing::HasSubstr;

std::variant<Program, NotAProgram> converted(const std::string& line, const std::string& head) {
  const auto read = scenario::read_scenario(head + "\n  " + line + "\nend\n", "test");
  const auto* scenario = std::get_if<scenario::Scenario>(&read);
  if (scenario == nullptr) {
    ADD_FAILURE() << to_string(std::get<scenario::ReadError>(read));
    return Program();
  }
  return from_case(scenario->cases.at(0));
}

class NotSayable : public ::testing::TestWithParam<const char*> {};

TEST_P(NotSayable, IsRefusedByItsWords) {
  const auto answer = converted(GetParam(), "case one");
  const auto* fault = std::get_if<NotAProgram>(&answer);
  ASSERT_NE(fault, nullptr);
  EXPECT_THAT(fault->message,
              HasSubstr(std::string("case one: programs cannot say `") + GetParam()));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, NotSayable,
    ::testing::Values(
        "granularity prop=null", "granularity out=null", "granularity prop=null out=null",
        "map -r0 size=1u handle=h0", "release r0", "release null+1", "reserve r0 size=1u out=null",
        "create h0 size=1u type=invalid", "create h0 size=1u comp=2", "create h0 size=1u rdma=2",
        "create h0 size=1u usage=2", "create h0 size=1u reserved=1",
        "create h0 size=1u win32meta=1", "create h0 size=1u prop=null",
        "create h0 size=1u out=null", "props h0 out=null", "export f0 handle=h0 out=null",
        "import h0 fd=f0 type=win32", "setaccess r0 size=1u desc=device:0:rw,host:0:rw",
        "setaccess r0 size=1u desc=device:0:rw,device:16:rw",
        "setaccess r0 size=1u desc=device:0:rw,device:-1:rw",
        "setaccess r0 size=1u desc=device:0:rw,device:1:16",
        "setaccess r0 size=1u desc=device:0:rw,device:1:rw,device:1:r",
        "setaccess r0 size=1u count=0", "getaccess r0 out=null", "getaccess r0 location=null",
        "reserve a0 size=1u", "reserve r16 size=1u", "release h16", "release 7", "close null",
        "map r0 size=1u handle=max", "map h0 size=1u handle=h0", "map r0+r1 size=1u handle=h0",
        "map r0+1K size=1u handle=h0", "unmap r0+200u size=1u", "unmap r0 size=max",
        "unmap r0 size=r1", "unmap r0 size=1u+2u", "unmap r0 size=99999u", "limit.get which=300",
        "kread r0", "ctx.retain dev=200"));

TEST(ProgramFromCase, WantsACaseThatBeginsWithAContext) {
  const auto answer = converted("reserve r0 size=1u", "case two noctx");
  ASSERT_TRUE(std::holds_alternative<NotAProgram>(answer));
  EXPECT_EQ(std::get<NotAProgram>(answer).message, "case two: programs begin with a context");
}

// Each of these says the same as the one after it.
TEST(ProgramFromCase, TakesWhatIsSaidInOtherWords) {
  constexpr std::array same = {
      std::pair("map r0 size=1u handle=h0 off=0", "map r0 size=1u handle=h0"),
      std::pair("setaccess r0 size=1u desc=device:0:rw", "setaccess r0 size=1u"),
      std::pair("mc.bind h0 mem=h1 size=1u off=0", "mc.bind h0 mem=h1 size=1u"),
      std::pair("mc.unbind h0 dev=0 size=1u off=0", "mc.unbind h0 dev=0 size=1u"),
      std::pair("close max", "close max"),
      std::pair("release null", "release null"),
      std::pair("unmap null size=0u", "unmap null size=0"),
  };
  for (const auto& [one, other] : same) {
    const auto first = converted(one, "case one");
    const auto second = converted(other, "case one");
    ASSERT_TRUE(std::holds_alternative<Program>(first)) << one;
    ASSERT_TRUE(std::holds_alternative<Program>(second)) << other;
    EXPECT_EQ(scenario::to_string(to_case(std::get<Program>(first), "x")),
              scenario::to_string(to_case(std::get<Program>(second), "x")));
  }
}

}  // namespace
}  // namespace tessera::testing
