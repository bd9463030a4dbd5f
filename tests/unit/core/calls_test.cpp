#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/driver.h"
#include "tessera/error.h"

namespace tessera {
namespace {

constexpr std::array all_calls = {
#define TESSERA_CALL(method, cuda_name) Call::method,
#include "tessera/calls.def"
#undef TESSERA_CALL
};

bool is_upper(char letter) { return letter >= 'A' && letter <= 'Z'; }

// Drop `cu`, snake_case. HtoD, DtoH and DtoD are one word each, as CUDA means them.
std::string name_by_rule(std::string_view cuda) {
  std::string words(cuda.substr(2));
  for (const std::string_view direction : {"HtoD", "DtoH", "DtoD"}) {
    if (const std::size_t at = words.find(direction); at != std::string::npos) {
      words[at + 3] = static_cast<char>(words[at + 3] - 'A' + 'a');
      words.insert(at, "_");
    }
  }
  std::string name;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!is_upper(words[i])) {
      name += words[i];
      continue;
    }
    if (i != 0 && words[i - 1] != '_') {
      name += '_';
    }
    name += static_cast<char>(words[i] - 'A' + 'a');
  }
  return name;
}

TEST(Calls, AreSixtySeven) {
  EXPECT_EQ(all_calls.size(), 67U);
  EXPECT_EQ(call_count, all_calls.size() + 1);
}

TEST(Calls, AreNamedByTheRule) {
  std::vector<std::string> others;
  for (const Call call : all_calls) {
    EXPECT_EQ(cuda_name(call).substr(0, 2), "cu");
    if (method_name(call) != name_by_rule(cuda_name(call))) {
      others.emplace_back(method_name(call));
    }
  }
  // A kernel of our own, launched with cuLaunchKernel: no call of CUDA's has its name.
  EXPECT_EQ(others, std::vector<std::string>{"launch_touch"});
}

TEST(Calls, RuleIsWhatTheSeamSays) {
  EXPECT_EQ(name_by_rule("cuMemAddressReserve"), "mem_address_reserve");
  EXPECT_EQ(name_by_rule("cuInit"), "init");
  EXPECT_EQ(name_by_rule("cuMemcpyHtoDAsync"), "memcpy_htod_async");
  EXPECT_EQ(name_by_rule("cuMemsetD8"), "memset_d8");
}

TEST(Calls, HaveNamesOfTheirOwn) {
  std::set<std::string_view> methods;
  std::set<std::string_view> cuda_names;
  for (const Call call : all_calls) {
    EXPECT_TRUE(methods.insert(method_name(call)).second) << method_name(call);
    EXPECT_TRUE(cuda_names.insert(cuda_name(call)).second) << cuda_name(call);
  }
}

TEST(Calls, AreMethodsOfDriver) {
#define TESSERA_CALL(method, cuda_name) \
  EXPECT_NE(&Driver::method, nullptr);  \
  EXPECT_EQ(method_name(Call::method), #method);
#include "tessera/calls.def"
#undef TESSERA_CALL
}

TEST(Calls, NamesStandForTheLibraryAndForUnknownCallsToo) {
  EXPECT_EQ(method_name(Call::none), "tessera");
  EXPECT_EQ(cuda_name(Call::none), "tessera");
  for (const int number : {static_cast<int>(call_count), 255}) {
    EXPECT_EQ(method_name(static_cast<Call>(number)), "unknown call");
    EXPECT_EQ(cuda_name(static_cast<Call>(number)), "unknown call");
  }
}

}  // namespace
}  // namespace tessera
