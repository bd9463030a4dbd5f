#include "tessera/scenario/reader.h"

#include <random>
#include <string>

#include <gmock/gmock.h>

#include "tessera/scenario/writer.h"

namespace tessera::scenario {
namespace {

using testing::HasSubstr;

Scenario read(std::string_view text) {
  auto result = read_scenario(text, "test.vmm");
  const auto* error = std::get_if<ReadError>(&result);
  EXPECT_EQ(error, nullptr) << to_string(*error);
  return error == nullptr ? std::get<Scenario>(std::move(result)) : Scenario{};
}

ReadError read_error(std::string_view text) {
  const auto result = read_scenario(text, "test.vmm");
  const auto* error = std::get_if<ReadError>(&result);
  EXPECT_NE(error, nullptr) << text;
  return error == nullptr ? ReadError{} : *error;
}

// The error of one line inside a case.
ReadError line_error(const std::string& line) { return read_error("case a\n" + line + "\nend\n"); }

TEST(Reader, ReadsCasesWithFlagsCallsAndAnswers) {
  const Scenario scenario = read(
      "case one noctx serial\n"
      "  reserve r0 size=2u at=0x1000 => OK aligned=2097152 at=other\n"
      "  release h0\n"
      "end\n");
  ASSERT_EQ(scenario.cases.size(), 1U);
  const Case& one = scenario.cases.front();
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.start, Start::no_context);
  EXPECT_TRUE(one.serial);
  ASSERT_EQ(one.calls.size(), 2U);
  const Call& call = one.calls[0];
  EXPECT_EQ(call.line, 2U);
  EXPECT_EQ(std::get<Reserve>(call.operation),
            (Reserve{.result = symbols::r(0), .size = granules(2), .hint = Operand::of("0x1000")}));
  ASSERT_TRUE(call.expected.has_value());
  EXPECT_EQ(call.expected->result(), "OK");
  EXPECT_EQ(call.expected->find("at"), "other");
  EXPECT_FALSE(one.calls[1].expected.has_value());
}

TEST(Reader, KnowsTheLinesOfCasesAndCalls) {
  const Scenario scenario = read("# first\ncase a\nend\n\ncase b\n\n  version\nend\n");
  ASSERT_EQ(scenario.cases.size(), 2U);
  EXPECT_EQ(scenario.cases[0].line, 2U);
  EXPECT_EQ(scenario.cases[1].line, 5U);
  EXPECT_EQ(scenario.cases[1].calls.at(0).line, 7U);
}

TEST(Reader, TakesTheLastOfAKeyGivenTwice) {
  const Scenario scenario =
      read("case a\n  create h0 size=1u comp=1 handle=fd size=3u comp=2 handle=win32\nend\n");
  const auto& create = std::get<Create>(scenario.cases[0].calls[0].operation);
  EXPECT_EQ(create.properties.compression, 2);
  EXPECT_EQ(create.size, granules(3));
  EXPECT_EQ(create.properties.handle_types, HandleTypes::win32);
}

TEST(Reader, ReadsValuesInBrackets) {
  const Scenario scenario =
      read("case a\n  ipc.child fd=f0 size=1u val=1 => OK child=[map:OK read:OK] x=1\nend\n");
  const Answer& answer = *scenario.cases[0].calls[0].expected;
  EXPECT_EQ(answer.find("child"), "[map:OK read:OK]");
  EXPECT_EQ(answer.find("x"), "1");
}

struct WrongLine {
  const char* line;
  std::uint32_t column;
  const char* found;
  const char* message;
};

TEST(Reader, SaysWhereALineIsWrongAndWhatWasExpected) {
  const WrongLine wrong_lines[] = {
      {"  reserve r0 sz=2M", 14, "sz", "did you mean `size`?; reserve takes R, size=, align="},
      {"  reserv r0 size=2M", 3, "reserv", "did you mean `reserve`?"},
      {"  xyzzy", 3, "xyzzy", "unknown operation `xyzzy`"},
      {"  reserve r0", 13, "", "size= is missing"},
      {"  reserve", 10, "", "R is missing"},
      {"  reserve h0 size=1u", 11, "h0", "expected a name like r0 or a0"},
      {"  reserve r4294967296 size=1u", 11, "r4294967296", "a name such as r0"},
      {"  reserve r0x size=1u", 11, "r0x", "a name such as r0"},
      {"  map +r0 size=1u handle=h0", 7, "+r0", "a value such as"},
      {"  map r0 size=1q handle=h0", 16, "q", "a unit (K, M, G, T or u)"},
      {"  map r0 size=1K2 handle=h0", 16, "K2", "a unit"},
      {"  map r0 size= handle=h0", 15, "", "found nothing, expected a value such as"},
      {"  map r0 size=99999999999999999999 handle=h0", 15, "99999999999999999999", "below 2^64"},
      {"  map r0 size=16777216T handle=h0", 15, "16777216T", "below 2^64"},
      {"  map r0 size=1u+ handle=h0", 18, "", "a value such as"},
      {"  map r0 size=1+1+1+1+1+1+1 handle=h0", 26, "+1", "at most 6 terms"},
      {"  memset r0 size=1 val=256", 24, "256", "a number from 0 to 255"},
      {"  create h0 size=1u usage=65536", 27, "65536", "a number from 0 to 65535"},
      {"  create h0 size=1u flags=-1", 27, "-1", "a number from 0 to 18446744073709551615"},
      {"  create h0 size=1u loc=hst", 25, "hst", "none, device, host"},
      {"  create h0 size=1u handle=fd+fb", 31, "fb", "fabric"},
      {"  create h0 size=1u out=nil", 25, "nil", "expected null"},
      {"  attr r0 which=range", 17, "range", "an attribute's name"},
      {"  setaccess r0 size=1u desc=device:0", 29, "device:0", "LOCATION:ID:PROTECTION"},
      {"  setaccess r0 size=1u desc=device:0:r,host", 40, "host", "LOCATION:ID:PROTECTION"},
      {"  release h0 h1", 14, "h1", "unexpected `h1`; release takes H"},
      {"  ctx.sync now", 12, "now", "ctx.sync takes nothing"},
      {"  => OK", 3, "=>", "expected an operation before"},
      {"  release h0 =>", 16, "", "expected an answer"},
      {"  release h0 => INVALID_VALU", 17, "INVALID_VALU", "unknown result"},
      {"  release h0 => OK|", 20, "", "unknown result"},
      {"  release h0 => OK x", 20, "x", "key=value"},
      {"  release h0 => OK =x", 20, "=x", "key=value"},
      {"  release h0 => OK x=[a b", 26, "", "`[` is not closed"},
      {"  release h0 => OK x=[a]b", 25, "b", "after `]`"},
      {"case b", 1, "case", "`end` is missing"},
      {"end x", 5, "x", "nothing after `end`"},
  };
  for (const WrongLine& wrong : wrong_lines) {
    const ReadError error = line_error(wrong.line);
    EXPECT_EQ(error.file, "test.vmm");
    EXPECT_EQ(error.line, 2U) << wrong.line;
    EXPECT_EQ(error.column, wrong.column) << wrong.line;
    EXPECT_EQ(error.found, wrong.found) << wrong.line;
    EXPECT_THAT(error.message, HasSubstr(wrong.message));
  }
}

TEST(Reader, SaysWhatIsWrongWithCases) {
  EXPECT_THAT(to_string(read_error("case\n")), HasSubstr("test.vmm:1:5: expected the case's name"));
  EXPECT_THAT(to_string(read_error("case a noint\nend\n")), HasSubstr("did you mean `noinit`?"));
  EXPECT_THAT(to_string(read_error("case a noinit noctx\nend\n")), HasSubstr("contradicts"));
  EXPECT_THAT(to_string(read_error("case a serial serial\nend\n")), HasSubstr("repeats"));
  EXPECT_THAT(to_string(read_error("reserve r0 size=1u\n")), HasSubstr("expected `case NAME`"));
  EXPECT_THAT(to_string(read_error("case a\nend\nend\n")), HasSubstr("test.vmm:3:1:"));
  EXPECT_THAT(to_string(read_error("case a\n  release h0\n")),
              HasSubstr("test.vmm:3:1: the file ends inside case a"));
}

TEST(Reader, KeepsMessagesPrintable) {
  const ReadError error = line_error("  \x1b[31m\xff" + std::string(200, 'x'));
  EXPECT_THAT(error.message, HasSubstr("\\x1b[31m\\xff"));
  EXPECT_LT(error.message.size(), 200U);
}

TEST(Reader, ReadsOneCall) {
  const auto good = read_call("release h0 => OK");
  ASSERT_TRUE(std::holds_alternative<Call>(good));
  EXPECT_EQ(to_string(std::get<Call>(good).operation), "release h0");
  for (const char* text : {"", "  ", "release h0\nrelease h1", "relase h0"}) {
    EXPECT_TRUE(std::holds_alternative<ReadError>(read_call(text))) << text;
  }
}

// What a fuzzer does at length: damaged text is read, or refused at a place that exists.
TEST(Reader, SurvivesDamagedText) {
  const std::string good =
      "# comment\ncase a serial\n  reserve r0 size=2u+4K at=0x7f00 => OK aligned=512 at=hint\n"
      "  setaccess r0 size=1u desc=device:0:rw,host:0:r count=2\n  create h0 size=max "
      "handle=fd+fabric loc=host_numa => OK\n  ipc.child fd=f0 size=1u val=1 => OK child=[a:OK]\n"
      "end\n";
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string text = good;
    for (unsigned change = random() % 4; change < 4; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 16));
      }
    }
    const auto result = read_scenario(text, "damaged");
    if (const auto* scenario = std::get_if<Scenario>(&result)) {
      EXPECT_EQ(to_string(*scenario), text);
    } else {
      EXPECT_GE(std::get<ReadError>(result).column, 1U);
      EXPECT_FALSE(std::get<ReadError>(result).message.empty());
    }
  }
}

}  // namespace
}  // namespace tessera::scenario
