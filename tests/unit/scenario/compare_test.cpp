#include "tessera/scenario/compare.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/scenario/reader.h"

namespace tessera::scenario {
namespace {

// Whether the answer is right for a line with an expected one.
bool agrees_with(std::string_view line, std::string_view got, bool serial = false) {
  const auto call = read_call(line);
  return agrees(std::get<Call>(call), Answer::from_text(got), {.serial = serial});
}

TEST(Compare, WantsTheSameResult) {
  EXPECT_TRUE(agrees_with("release h0 => OK", "OK"));
  EXPECT_FALSE(agrees_with("release h0 => OK", "INVALID_VALUE"));
  EXPECT_FALSE(agrees_with("release h0 => INVALID_VALUE", "OK"));
}

TEST(Compare, TakesAnyErrorForACrash) {
  EXPECT_TRUE(agrees_with("release h0 => CRASH signal=11", "INVALID_VALUE"));
  EXPECT_TRUE(agrees_with("release h0 => CRASH signal=11", "CRASH signal=6"));
  EXPECT_FALSE(agrees_with("release h0 => CRASH signal=11", "OK"));
  EXPECT_FALSE(agrees_with("release h0 => INVALID_VALUE", "CRASH signal=11"));
  EXPECT_TRUE(agrees_with("release h0 => HANG", "INVALID_VALUE"));
  EXPECT_FALSE(agrees_with("release h0 => HANG", "OK"));
}

TEST(Compare, WantsTheExtrasThatTheFileHas) {
  EXPECT_TRUE(agrees_with("getaccess r0 => OK flags=3", "OK flags=3"));
  EXPECT_FALSE(agrees_with("getaccess r0 => OK flags=3", "OK flags=1"));
  EXPECT_FALSE(agrees_with("getaccess r0 => OK flags=3", "OK"));
  EXPECT_TRUE(agrees_with("retain h1 r0 => OK", "OK same=h0"));
  EXPECT_FALSE(agrees_with("devattr 1 dev=9 => INVALID_DEVICE v=-1", "INVALID_DEVICE v=0"));
}

TEST(Compare, TakesAlignmentFromWhatWasAskedUp) {
  EXPECT_TRUE(
      agrees_with("reserve r0 size=4u align=4M => OK aligned=8388608", "OK aligned=4194304"));
  EXPECT_FALSE(
      agrees_with("reserve r0 size=4u align=4M => OK aligned=8388608", "OK aligned=2097152"));
  EXPECT_TRUE(agrees_with("reserve r0 size=4u => OK aligned=2097152", "OK aligned=2097152"));
  EXPECT_FALSE(agrees_with("reserve r0 size=4u => OK aligned=2097152", "OK aligned=4096"));
  EXPECT_TRUE(agrees_with("alloc p0 size=1 => OK aligned=2097152", "OK aligned=512"));
  EXPECT_FALSE(agrees_with("alloc p0 size=1 => OK aligned=512", "OK aligned=4"));
  EXPECT_FALSE(agrees_with("alloc p0 size=1 => OK aligned=512", "OK"));
  EXPECT_FALSE(agrees_with("alloc p0 size=1 => OK aligned=banana", "OK aligned=512"));
  EXPECT_FALSE(agrees_with("alloc p0 size=1 => OK aligned=0", "OK aligned=512"));
}

TEST(Compare, TakesAnyDistanceToABeginThatIsNotTold) {
  EXPECT_TRUE(agrees_with("addrrange r0+9 => OK rel=-9 size=64", "OK rel=-9 size=64"));
  EXPECT_FALSE(agrees_with("addrrange r0+9 => OK rel=-9 size=64", "OK rel=-8 size=64"));
  EXPECT_FALSE(agrees_with("addrrange r0+9 => OK rel=-9 size=64", "OK size=64"));
  // Null is as far below as the place is high.
  EXPECT_TRUE(agrees_with("addrrange r0+9 => OK rel=-70000 size=64", "OK rel=-90000 size=64"));
  EXPECT_FALSE(agrees_with("addrrange r0+9 => OK rel=-70000 size=64", "OK rel=-9 size=64"));
  EXPECT_FALSE(agrees_with("addrrange r0+9 => OK rel=-9 size=64", "OK rel=-70000 size=64"));
}

TEST(Compare, LooksAtUsedMemoryOnlyInSerialCases) {
  EXPECT_TRUE(agrees_with("meminfo => OK used_delta=1", "OK used_delta=2"));
  EXPECT_FALSE(agrees_with("meminfo => OK used_delta=1", "OK used_delta=2", true));
  EXPECT_TRUE(agrees_with("meminfo => OK free=1", "OK free=2", true));
}

TEST(Compare, TakesWhatIsMarkedAsVarying) {
  EXPECT_TRUE(agrees_with("attr r0 which=mapped => OK|INVALID_VALUE v=*", "INVALID_VALUE"));
  EXPECT_TRUE(agrees_with("attr r0 which=mapped => OK|INVALID_VALUE v=*", "OK v=7"));
  EXPECT_FALSE(agrees_with("attr r0 which=mapped => OK|INVALID_VALUE v=*", "NOT_FOUND"));
}

TEST(Compare, LooksAtTheCallsOfAChildThatBothName) {
  const char* line =
      "ipc.child fd=f0 size=1u val=1 => OK child=[import:OK other:OK export:INVALID_VALUE]";
  EXPECT_TRUE(agrees_with(line, "OK child=[import:OK export:INVALID_VALUE more:OK]"));
  EXPECT_FALSE(agrees_with(line, "OK child=[import:OK export:OK]"));
  EXPECT_TRUE(agrees_with(line, "OK child=x")) << "it names no call";
}

// One extra that differs is enough, whatever comes after it.
TEST(Compare, LooksAtAllExtras) {
  EXPECT_FALSE(agrees_with("reserve r0 size=1u => OK at=1 aligned=4096", "OK aligned=4096"));
  EXPECT_FALSE(agrees_with("addrrange r0 => OK size=1 rel=0", "OK size=2 rel=0"));
  EXPECT_FALSE(agrees_with("ipc.child fd=f0 size=1u val=1 => OK v=1 child=[import:OK]",
                           "OK child=[import:OK]"));
  EXPECT_FALSE(agrees_with("meminfo => OK total=1 v=2", "OK total=2 v=2"));
}

TEST(Answer, HasExtrasThatAreNoPairs) {
  const auto extras_of = [](std::string_view text) {
    std::vector<std::string> extras;
    Answer::from_text(text).for_each_extra([&](const Answer::Extra& extra) {
      extras.push_back(std::string(extra.key) + "|" + std::string(extra.value));
    });
    return extras;
  };
  EXPECT_EQ(extras_of("OK word a=1"), (std::vector<std::string>{"word|", "a|1"}));
  EXPECT_EQ(extras_of("OK a="), std::vector<std::string>{"a|"});
  EXPECT_EQ(extras_of("OK word"), std::vector<std::string>{"word|"});
  EXPECT_EQ(extras_of("OK a=[b c"), std::vector<std::string>{"a|[b c"});
}

TEST(MergeAnswers, KeepsWhatIsTheSameAndMarksTheRest) {
  const auto merged = [](std::string_view first, std::string_view second) {
    return merge_answers(Answer::from_text(first), Answer::from_text(second)).text();
  };
  EXPECT_EQ(merged("OK a=1", "OK a=1"), "OK a=1");
  EXPECT_EQ(merged("OK a=1 b=2", "OK a=1 b=3"), "OK a=1 b=*");
  EXPECT_EQ(merged("OK a=1", "UNKNOWN"), "OK|UNKNOWN a=*");
  EXPECT_EQ(merged("OK a=1", "OK|UNKNOWN a=1"), "OK|UNKNOWN a=*");
  EXPECT_EQ(merged("OK|UNKNOWN a=*", "OK a=1"), "OK|UNKNOWN a=*");
  EXPECT_EQ(merged("OK|UNKNOWN a=*", "NOT_FOUND b=1"), "OK|UNKNOWN|NOT_FOUND a=* b=*");
}

// A recording that was made of several runs agrees with each of them.
TEST(MergeAnswers, AgreesWithEachOfTheRuns) {
  const Answer first = Answer::from_text("OK v=1 id=0");
  const Answer second = Answer::from_text("OK v=2");
  const Call call = {.operation = Version{}, .expected = merge_answers(first, second)};
  EXPECT_TRUE(agrees(call, first, {}));
  EXPECT_TRUE(agrees(call, second, {}));
}

}  // namespace
}  // namespace tessera::scenario
