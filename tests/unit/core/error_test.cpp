#include "tessera/error.h"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/printers.h"
#include "text.h"

namespace tessera {
namespace {

using testing::HasSubstr;

struct ListedCode {
  ErrorCode code;
  std::int32_t number;
  std::string_view name;
};
constexpr std::array listed_codes = {
#define TESSERA_ERROR_CODE(name, number) ListedCode{ErrorCode::name, number, #name},
#include "tessera/error_codes.def"
#undef TESSERA_ERROR_CODE
};

struct ListedReason {
  Reason reason;
  std::string_view name;
  std::string_view text;
};
constexpr std::array listed_reasons = {
#define TESSERA_REASON(name, text) ListedReason{Reason::name, #name, text},
#include "tessera/reasons.def"
#undef TESSERA_REASON
};

static_assert(std::is_trivially_copyable_v<Error> && sizeof(Error) <= 40, "small");

TEST(ErrorCode, IsListedOnceAndInOrder) {
  std::set<std::string_view> names;
  std::int32_t last = 0;  // success is no error
  for (const ListedCode& listed : listed_codes) {
    EXPECT_GT(listed.number, last) << listed.name;
    EXPECT_TRUE(names.insert(listed.name).second) << listed.name;
    last = listed.number;
  }
}

TEST(ErrorCode, HasTheNumbersOfCuda) {
  EXPECT_EQ(static_cast<int>(ErrorCode::invalid_value), 1);
  EXPECT_EQ(static_cast<int>(ErrorCode::out_of_memory), 2);
  EXPECT_EQ(static_cast<int>(ErrorCode::not_initialized), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::invalid_device), 101);
  EXPECT_EQ(static_cast<int>(ErrorCode::invalid_context), 201);
  EXPECT_EQ(static_cast<int>(ErrorCode::illegal_address), 700);
  EXPECT_EQ(static_cast<int>(ErrorCode::not_supported), 801);
  EXPECT_EQ(static_cast<int>(ErrorCode::unknown), 999);
}

TEST(ErrorCode, HasANameThatLeadsBack) {
  for (const ListedCode& listed : listed_codes) {
    const std::string name = code_name(listed.code);
    ASSERT_EQ(name.size(), listed.name.size());
    for (std::size_t i = 0; i < name.size(); ++i) {
      const bool is_letter = listed.name[i] >= 'a' && listed.name[i] <= 'z';
      EXPECT_EQ(name[i], is_letter ? listed.name[i] - 'a' + 'A' : listed.name[i]) << name;
    }
    EXPECT_EQ(code_from_name(name), listed.code) << name;
    EXPECT_EQ(code_from_name(std::to_string(listed.number)), listed.code) << name;
    EXPECT_EQ(code_from_name(listed.name), ErrorCode{0}) << "names are written in capitals";
    EXPECT_EQ(code_from_name(name + "_"), ErrorCode{0});
    EXPECT_EQ(code_from_name(std::string_view(name).substr(1)), ErrorCode{0}) << name;
  }
  EXPECT_EQ(code_name(ErrorCode::invalid_value), "INVALID_VALUE");
}

TEST(ErrorCode, IsKeptWhenItIsNotListed) {
  for (const std::int32_t number : {0, 998, 1000, -1, std::numeric_limits<std::int32_t>::max(),
                                    std::numeric_limits<std::int32_t>::min()}) {
    EXPECT_EQ(code_name(ErrorCode{number}), std::to_string(number));
    EXPECT_EQ(code_from_name(std::to_string(number)), ErrorCode{number});
  }
}

TEST(ErrorCode, IsZeroForWhatIsNoCode) {
  for (const std::string_view name : {"", " ", "1 ", " 1", "1x", "0x1", "+1", "--1", "1.0",
                                      "99999999999999999999", "SUCCESS", "CUDA_ERROR_UNKNOWN"}) {
    EXPECT_EQ(code_from_name(name), ErrorCode{0}) << '"' << name << '"';
  }
}

TEST(ErrorCode, MeansThatContextsAreLost) {
  for (const std::int32_t number : {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 911}) {
    EXPECT_TRUE(means_contexts_lost(ErrorCode{number})) << number;
  }
  std::size_t lost = 0;
  for (std::int32_t number = -1; number <= 1000; ++number) {
    lost += means_contexts_lost(ErrorCode{number}) ? 1U : 0U;
  }
  EXPECT_EQ(lost, 11U);
}

TEST(Origin, HasAName) {
  EXPECT_EQ(origin_name(Origin::driver), "the driver");
  EXPECT_EQ(origin_name(Origin::simulator), "the simulator");
  EXPECT_EQ(origin_name(Origin::injected), "fault injection");
  EXPECT_EQ(origin_name(Origin::validation), "validation");
  EXPECT_EQ(origin_name(Origin::library), "the library");
  EXPECT_EQ(origin_name(static_cast<Origin>(200)), "unknown origin");
}

// What {N:format} is replaced by, as reasons.def says.
std::string shown(std::uint64_t value, std::string_view format) {
  if (format == ":x") {
    return text::hexadecimal(value);
  }
  if (format == ":b") {
    return text::bytes(Bytes(value));
  }
  return format == ":i" ? std::to_string(static_cast<std::int64_t>(value)) : std::to_string(value);
}

TEST(Reason, IsListedWithTextOfItsOwn) {
  std::map<std::string_view, std::string_view> names;
  for (const ListedReason& listed : listed_reasons) {
    const auto [other, is_new] = names.emplace(listed.text, listed.name);
    EXPECT_TRUE(is_new) << listed.name << " has the text of " << other->second;
    EXPECT_NE(listed.reason, Reason::none);
    EXPECT_FALSE(listed.text.empty()) << listed.name;
    EXPECT_NE(listed.text.back(), '.') << listed.name << ": it ends a line, not a sentence";
    EXPECT_EQ(listed.text.find("  "), std::string_view::npos) << listed.name << ": two blanks";
  }
}

TEST(Reason, HasPlacesForValuesThatExist) {
  for (const ListedReason& listed : listed_reasons) {
    for (std::size_t at = 0; at < listed.text.size(); ++at) {
      const std::string_view rest = listed.text.substr(at);
      if (rest.front() == '{') {
        const std::size_t size = rest.find('}') + 1;
        ASSERT_TRUE(size == 3 || size == 5) << listed.name << ": " << rest;
        EXPECT_TRUE(rest[1] >= '0' && rest[1] <= '2') << listed.name << ": " << rest;
        const std::string_view format = rest.substr(2, size - 3);
        EXPECT_TRUE(format.empty() || format == ":x" || format == ":b" || format == ":i")
            << listed.name << ": " << rest;
        at += size - 1;
      } else {
        EXPECT_NE(rest.front(), '}') << listed.name;
      }
    }
  }
}

TEST(Reason, IsExplainedWithItsValues) {
  // All different, in each way of writing them; the first is negative where it is signed.
  constexpr std::array<std::uint64_t, 3> values = {0xffff'ffff'ffff'fffb, 3'145'728, 12'345};
  for (const ListedReason& listed : listed_reasons) {
    std::string expected(listed.text);
    for (std::size_t number = 0; number < values.size(); ++number) {
      for (const std::string_view format : {"", ":x", ":b", ":i"}) {
        const std::string place = "{" + std::to_string(number) + std::string(format) + "}";
        for (std::size_t at = 0; (at = expected.find(place)) != std::string::npos;) {
          expected.replace(at, place.size(), shown(values[number], format));
        }
      }
    }
    const Error error = {
        .code = ErrorCode::invalid_value, .reason = listed.reason, .values = values};
    EXPECT_EQ(explain(error), expected) << listed.name;
    EXPECT_EQ(explain(error).find_first_of("{}"), std::string::npos) << listed.name;
    EXPECT_EQ(to_string(error), "tessera: INVALID_VALUE (1) from the library: " + expected);
  }
}

TEST(Reason, IsNotExplainedWhereThereIsNone) {
  EXPECT_EQ(explain({.code = ErrorCode::unknown}), "");
  EXPECT_EQ(explain({.code = ErrorCode::unknown, .reason = static_cast<Reason>(60'000)}), "");
}

TEST(Error, IsWrittenInOneLine) {
  EXPECT_EQ(to_string({.code = ErrorCode::invalid_value,
                       .call = Call::mem_map,
                       .origin = Origin::simulator,
                       .reason = Reason::not_reserved,
                       .values = {0x7f00'0020'0000}}),
            "mem_map: INVALID_VALUE (1) from the simulator: address 0x7f0000200000 lies in no "
            "reservation");
  EXPECT_EQ(to_string({.code = ErrorCode{12'345}, .call = Call::init, .origin = Origin::driver}),
            "init: 12345 (12345) from the driver");
}

TEST(Error, NamesWhatWouldHaveWorked) {
  const Error error = {.code = ErrorCode::invalid_value,
                       .reason = Reason::size_not_aligned,
                       .values = {6912, (2_MiB).value(), (2_MiB).value()}};
  EXPECT_EQ(explain(error),
            "the size, 6912 bytes, is not a multiple of 2 MiB (2097152); the next that works is "
            "2 MiB (2097152)");
  EXPECT_THAT(explain({.code = ErrorCode::invalid_device,
                       .reason = Reason::no_such_device,
                       .values = {static_cast<std::uint64_t>(-1), 8}}),
              HasSubstr("no device -1; there are 8"));
}

TEST(Error, EqualsOneWithTheSameFields) {
  const Error error = {.code = ErrorCode::invalid_value};
  EXPECT_EQ(error, Error{.code = ErrorCode::invalid_value});
  EXPECT_FALSE(error == Error{.code = ErrorCode::unknown});
  EXPECT_FALSE((error == Error{.code = ErrorCode::invalid_value, .call = Call::init}));
  EXPECT_FALSE((error == Error{.code = ErrorCode::invalid_value, .origin = Origin::driver}));
  EXPECT_FALSE((error == Error{.code = ErrorCode::invalid_value, .rule = RuleId{1}}));
  EXPECT_FALSE((error == Error{.code = ErrorCode::invalid_value, .values = {0, 0, 1}}));
}

}  // namespace
}  // namespace tessera
