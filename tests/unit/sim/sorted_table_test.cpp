#include "sorted_table.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::sim {
namespace {

constexpr std::uint64_t max_key = std::numeric_limits<std::uint64_t>::max();

using Table = SortedTable<int>;
using Model = std::map<std::uint64_t, int>;

std::vector<std::uint64_t> keys_of(const Table& table) {
  std::vector<std::uint64_t> keys;
  for (Table::Cursor place = table.begin(); place; place = place.next()) {
    keys.push_back(place.key());
  }
  return keys;
}

Table table_with(std::uint64_t count, std::uint64_t step = 1) {
  Table table;
  for (std::uint64_t i = 0; i < count; ++i) {
    table.insert(i * step, static_cast<int>(i));
  }
  return table;
}

TEST(SortedTable, BeginsEmpty) {
  const Table table;
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.size(), 0U);
  EXPECT_FALSE(table.begin());
  EXPECT_FALSE(table.floor(max_key));
  EXPECT_FALSE(table.ceiling(0));
  EXPECT_FALSE(table.find(0));
  EXPECT_EQ(table.check_invariants(), "");
}

TEST(SortedTable, FindsAroundASingleKey) {
  Table table;
  table.insert(10, 7);
  EXPECT_FALSE(table.floor(9));
  EXPECT_EQ(table.floor(10).key(), 10U);
  EXPECT_EQ(table.floor(max_key).value(), 7);
  EXPECT_EQ(table.ceiling(0).key(), 10U);
  EXPECT_EQ(table.ceiling(10).key(), 10U);
  EXPECT_FALSE(table.ceiling(11));
  EXPECT_TRUE(table.find(10));
  EXPECT_FALSE(table.find(9));
  EXPECT_FALSE(table.begin().next());
}

TEST(SortedTable, TakesTheLowestAndHighestKeys) {
  Table table;
  table.insert(max_key, 2);
  table.insert(0, 1);
  EXPECT_EQ(keys_of(table), (std::vector<std::uint64_t>{0, max_key}));
  EXPECT_EQ(table.floor(max_key - 1).key(), 0U);
  EXPECT_EQ(table.ceiling(1).key(), max_key);
  EXPECT_EQ(table.floor(max_key).value(), 2);
  EXPECT_EQ(table.check_invariants(), "");
}

TEST(SortedTable, ChangesValuesInPlace) {
  Table table = table_with(3);
  table.find(1).value() = 41;
  EXPECT_EQ(table.find(1).value(), 41);
}

// A leaf holds 64 keys: sizes around it and its multiples, filled in every order.
TEST(SortedTable, SplitsLeavesInEveryOrder) {
  std::mt19937_64 random(20240607);
  for (const std::uint64_t count : {63U, 64U, 65U, 127U, 128U, 129U, 1'000U}) {
    std::vector<std::uint64_t> ascending(count);
    std::iota(ascending.begin(), ascending.end(), 0U);
    std::vector<std::uint64_t> descending(ascending.rbegin(), ascending.rend());
    std::vector<std::uint64_t> shuffled = ascending;
    std::shuffle(shuffled.begin(), shuffled.end(), random);
    for (const auto& order : {ascending, descending, shuffled}) {
      Table table;
      for (const std::uint64_t key : order) {
        table.insert(key, static_cast<int>(key) + 5);
        ASSERT_EQ(table.check_invariants(), "");
      }
      EXPECT_EQ(table.size(), count);
      EXPECT_EQ(keys_of(table), ascending);
      for (const std::uint64_t key : order) {
        ASSERT_EQ(table.find(key).value(), static_cast<int>(key) + 5);
      }
    }
  }
}

TEST(SortedTable, FindsAcrossTheGapsBetweenLeaves) {
  const Table table = table_with(500, 10);
  for (std::uint64_t key = 0; key < 4'990; ++key) {
    ASSERT_EQ(table.floor(key).key(), key / 10 * 10);
    ASSERT_EQ(table.ceiling(key).key(), (key + 9) / 10 * 10);
    ASSERT_EQ(static_cast<bool>(table.find(key)), key % 10 == 0);
  }
  EXPECT_FALSE(table.ceiling(4'991));
}

TEST(SortedTable, ChangesKeysBetweenTheSameOthers) {
  Table table = table_with(300, 10);
  for (std::uint64_t i = 0; i < 300; ++i) {
    table.change_key(table.find(i * 10), i * 10 + i % 9);
    ASSERT_EQ(table.check_invariants(), "");
    ASSERT_EQ(table.find(i * 10 + i % 9).value(), static_cast<int>(i));
    ASSERT_EQ(static_cast<bool>(table.find(i * 10)), i % 9 == 0);
  }
  EXPECT_EQ(table.size(), 300U);
}

TEST(SortedTable, EraseGivesThePlaceOfTheNextKey) {
  Table table = table_with(300);
  std::uint64_t next = 0;
  for (Table::Cursor place = table.begin(); place; ++next) {
    ASSERT_EQ(place.key(), next);
    place = table.erase(place);
    ASSERT_EQ(table.check_invariants(), "");
  }
  EXPECT_EQ(next, 300U);
  EXPECT_TRUE(table.empty());
  EXPECT_FALSE(table.begin());
}

TEST(SortedTable, ErasesFromTheEnd) {
  Table table = table_with(300);
  for (std::uint64_t key = 300; key-- > 0;) {
    EXPECT_FALSE(table.erase(table.find(key)));
    ASSERT_EQ(table.check_invariants(), "");
    ASSERT_FALSE(table.find(key));
  }
  EXPECT_TRUE(table.empty());
}

TEST(SortedTable, FillsAgainAfterItWasEmptied) {
  Table table;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t key = 0; key < 200; ++key) {
      table.insert(key * 7, round);
    }
    EXPECT_EQ(table.size(), 200U);
    EXPECT_EQ(table.find(7).value(), round);
    for (Table::Cursor place = table.begin(); place;) {
      place = table.erase(place);
    }
    EXPECT_EQ(table.size(), 0U);
    EXPECT_FALSE(table.floor(max_key));
    EXPECT_EQ(table.check_invariants(), "");
  }
}

void compare_places(const Table& table, const Model& model, std::uint64_t key) {
  const auto above = model.lower_bound(key);
  const Table::Cursor ceiling = table.ceiling(key);
  ASSERT_EQ(static_cast<bool>(ceiling), above != model.end());
  if (above != model.end()) {
    ASSERT_EQ(ceiling.key(), above->first);
    ASSERT_EQ(ceiling.value(), above->second);
    const auto after = std::next(above);
    ASSERT_EQ(static_cast<bool>(ceiling.next()), after != model.end());
    ASSERT_TRUE(after == model.end() || ceiling.next().key() == after->first);
    ASSERT_EQ(static_cast<bool>(ceiling.previous()), above != model.begin());
    ASSERT_TRUE(above == model.begin() || ceiling.previous().key() == std::prev(above)->first);
  }
  const auto beyond = model.upper_bound(key);
  ASSERT_EQ(static_cast<bool>(table.above(key)), beyond != model.end());
  ASSERT_TRUE(beyond == model.end() || table.above(key).key() == beyond->first);
  ASSERT_EQ(static_cast<bool>(table.last()), !model.empty());
  ASSERT_TRUE(model.empty() || table.last().key() == model.rbegin()->first);
  const Table::Cursor floor = table.floor(key);
  ASSERT_EQ(static_cast<bool>(floor), beyond != model.begin());
  ASSERT_TRUE(!floor || floor.key() == std::prev(beyond)->first);
  ASSERT_EQ(static_cast<bool>(table.find(key)), model.contains(key));
}

// Grows and shrinks in turns, so that leaves split and vanish all over the table.
void compare_with_map(std::uint64_t seed, std::uint64_t key_count) {
  std::mt19937_64 random(seed);
  Table table;
  Model model;
  for (int step = 0; step < 6'000; ++step) {
    const std::uint64_t key = random() % key_count;
    const bool grows = step / 1'000 % 2 == 0;
    if (random() % 4 != 0 ? grows : !grows) {
      if (!model.contains(key)) {
        table.insert(key, step);
        model.emplace(key, step);
      }
    } else if (const auto victim = model.lower_bound(key); victim != model.end()) {
      const auto next = model.erase(victim);
      const Table::Cursor after = table.erase(table.ceiling(key));
      ASSERT_EQ(static_cast<bool>(after), next != model.end());
      ASSERT_TRUE(!after || after.key() == next->first);
    }
    ASSERT_EQ(table.size(), model.size());
    ASSERT_EQ(table.check_invariants(), "") << "step " << step;
    ASSERT_NO_FATAL_FAILURE(compare_places(table, model, key)) << "step " << step;
    ASSERT_NO_FATAL_FAILURE(compare_places(table, model, random() % key_count)) << "step " << step;
  }
  std::vector<std::uint64_t> keys;
  std::transform(model.begin(), model.end(), std::back_inserter(keys),
                 [](const auto& entry) { return entry.first; });
  EXPECT_EQ(keys_of(table), keys);
}

TEST(SortedTable, AgreesWithAMap) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    compare_with_map(seed, 300);
    compare_with_map(seed, 5'000);
    compare_with_map(seed, max_key);
  }
}

TEST(SortedTableDeathTest, RefusesAKeyThatItHas) {
  Table table = table_with(100);
  EXPECT_DEATH(table.insert(50, 1), "check failed");
  EXPECT_DEATH(table.insert(0, 1), "check failed");
  EXPECT_DEATH(table.insert(99, 1), "check failed");
}

}  // namespace
}  // namespace tessera::sim
