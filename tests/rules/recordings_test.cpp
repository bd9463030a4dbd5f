// The rules and what drivers answered, in both directions, over all shipped recordings: what a rule
// calls refused is refused; what is refused, some rule names, or a resource had run out. A rule
// that fires on a correct call, or misses a wrong one, shows here.
#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "check.h"
#include "tessera/scenario/reader.h"
#include "text_file.h"

namespace tessera::tools {
namespace {

struct CheckedFile {
  const char* name;
  std::int32_t devices;
};
constexpr CheckedFile files[] = {
    {"single.vmm", 1},        {"dual.vmm", 2},           {"measured.vmm", 1},
    {"explored.vmm", 1},      {"host_copies.vmm.gz", 1}, {"contexts.vmm", 1},
    {"rdma.vmm.gz", 1},       {"dual_rdma.vmm.gz", 2},   {"dual_explored.vmm", 2},
    {"random-101.vmm.gz", 1}, {"hard-303.vmm.gz", 1},    {"peer-505.vmm.gz", 2}};

// Answers that no rule is about: something had run out, a fault had lost the contexts, or only
// trying tells.
bool is_no_rule_broken(const scenario::Operation& operation, std::string_view result) {
  // Where memory is short, a tile pool is refused so.
  const auto* create = std::get_if<scenario::Create>(&operation);
  if (create != nullptr && (create->properties.usage.value_or(0) & usage_tile_pool) != 0 &&
      result == "INVALID_VALUE") {
    return true;
  }
  static const std::set<std::string_view> results = {
      "OUT_OF_MEMORY", "NOT_PERMITTED", "ILLEGAL_ADDRESS", "NOT_READY", "OPERATING_SYSTEM"};
  return results.contains(result);
}

// Operations that ask what is there, which any program may do, and those that call no driver.
bool is_question(const scenario::Operation& operation) {
  return std::holds_alternative<scenario::Attribute>(operation) ||
         std::holds_alternative<scenario::AddressRangeOf>(operation) ||
         std::holds_alternative<scenario::SameBlock>(operation) ||
         std::holds_alternative<scenario::HostRead>(operation) ||
         std::holds_alternative<scenario::HostWrite>(operation);
}

bool any_with(const std::vector<Finding>& findings, bool (*wanted)(const Rule&)) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& finding) { return wanted(rule_of(finding.rule)); });
}
bool is_refusal(const Rule& rule) {
  return rule.consequence == Consequence::refused || rule.consequence == Consequence::crashes;
}

struct Agreement {
  std::size_t calls = 0;
  std::size_t correct = 0;            // no finding, and OK
  std::size_t named = 0;              // an error, with a finding
  std::size_t silently_wrong = 0;     // OK, with a finding that says so
  std::vector<std::string> unnamed;   // an error that no rule names
  std::vector<std::string> overdone;  // OK, though a rule says refused
};

void compare(const CheckedFile& file, const scenario::Case& one, const CheckedCase& checked,
             Agreement& agreement) {
  for (std::size_t i = 0; i < checked.calls.size(); ++i) {
    const auto& answer = checked.calls[i].answer;
    const auto& findings = checked.calls[i].findings;
    ++agreement.calls;
    const auto place = [&, line = one.calls[i].line] {
      std::string text = std::string(file.name) + ":" + std::to_string(line) + " " + answer.text();
      for (const Finding& finding : findings) {
        text += "\n    " + to_string(finding);
      }
      return text;
    };
    if (answer.is_ok()) {
      if (any_with(findings, is_refusal)) {
        agreement.overdone.push_back(place());
      }
      ++(findings.empty() ? agreement.correct : agreement.silently_wrong);
    } else if (!findings.empty()) {
      ++agreement.named;
    } else if (!is_no_rule_broken(one.calls[i].operation, answer.result()) &&
               !is_question(one.calls[i].operation)) {
      agreement.unnamed.push_back(place());
    }
  }
}

Agreement agreement_on(const std::string& profile,
                       std::initializer_list<std::string_view> without) {
  Agreement agreement;
  for (const CheckedFile& file : files) {
    if (std::any_of(without.begin(), without.end(), [&](std::string_view part) {
          return std::string_view(file.name).find(part) != std::string_view::npos;
        })) {
      continue;
    }
    const auto path = std::filesystem::path(TESSERA_RECORDINGS_DIR) / "h200-580.159.04" / file.name;
    const auto text = std::get<std::string>(read_text_file(path.string()));
    const auto read = std::get<scenario::Scenario>(scenario::read_scenario(text, file.name));
    const BackendOptions options = {.profile = profile, .devices = file.devices};
    const auto backend = std::get<std::unique_ptr<Backend>>(open_backend(options));
    for (const scenario::Case& one : read.cases) {
      compare(file, one, check_case(*backend, one, false), agreement);
    }
  }
  return agreement;
}

void expect_at_most(const std::vector<std::string>& places, std::size_t most) {
  EXPECT_LE(places.size(), most);
  for (std::size_t i = 0; i < std::min<std::size_t>(places.size(), 10); ++i) {
    EXPECT_LE(places.size(), most) << places[i];
  }
}

TEST(RuleAgreement, WithTheRecordedH200) {
  const Agreement agreement = agreement_on("h200", {});
  EXPECT_EQ(agreement.calls, 220'821U);
  expect_at_most(agreement.unnamed, 0);
  // Ranges whose end lies in the driver's own mappings, which set access finds there; and a little
  // that the CPU would have read, had the stream been idle.
  expect_at_most(agreement.overdone, 27);
  for (const std::string& place : agreement.overdone) {
    EXPECT_TRUE(place.find("set_access_not_mapped") != std::string::npos ||
                place.find("copy_no_access_on_host") != std::string::npos)
        << place;
  }
  EXPECT_GT(agreement.correct, 60'000U);
  EXPECT_GT(agreement.silently_wrong, 10'000U);
}

// But for memory for GPU-direct RDMA, which by the documentation needs no first mapping, and for
// copies, which by it are the device's.
TEST(RuleAgreement, WithTheDocumentationReadStrictly) {
  const Agreement agreement = agreement_on("documented", {"rdma", "copies"});
  // Two dma-bufs of 4 KiB, on a machine whose host pages have 64.
  expect_at_most(agreement.unnamed, 2);
  // Two reservations of less than 2 MiB, which the documentation allows and no driver does.
  expect_at_most(agreement.overdone, 2);
  // What is accepted silently, the strict reading refuses, but for what it leaves open.
  EXPECT_LT(agreement.silently_wrong, 300U);
}

}  // namespace
}  // namespace tessera::tools
