#include "luminal/egraph/table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace luminal::egraph {
namespace {

uint32_t put(Table& table, std::vector<Value> cells, Epoch epoch = 1, bool subsumed = false) {
  return table.append(cells.data(), subsumed, epoch);
}

uint32_t find(const Table& table, std::vector<Value> keys) {
  keys.push_back(0);  // room, so that a table without keys gets a valid pointer
  return table.find(keys.data());
}

TEST(Table, WithoutKeysHoldsOneRow) {
  Table table(0);
  EXPECT_EQ(find(table, {}), kNone);
  put(table, {7});
  put(table, {9});
  EXPECT_EQ(table.num_live(), 1u);
  EXPECT_EQ(table.value(find(table, {})), 9u);
}

TEST(Table, ASecondRowOfTheSameKeyReplacesTheFirst) {
  Table table(2);
  const uint32_t first = put(table, {1, 2, 3});
  const uint32_t second = put(table, {1, 2, 4}, 2);
  EXPECT_FALSE(table.live(first));
  EXPECT_EQ(find(table, {1, 2}), second);
  EXPECT_EQ(find(table, {2, 1}), kNone);
}

TEST(Table, ErasedRowsAreGoneAndTheirKeysCanComeBack) {
  Table table(1);
  table.erase(put(table, {1, 2}));
  EXPECT_EQ(find(table, {1}), kNone);
  EXPECT_EQ(table.num_live(), 0u);
  put(table, {1, 3});
  EXPECT_EQ(table.value(find(table, {1})), 3u);
}

TEST(Table, RowsSinceAnEpochAreARange) {
  Table table(1);
  put(table, {1, 0}, 3);
  put(table, {2, 0}, 3);
  put(table, {3, 0}, 8);
  EXPECT_EQ(table.first_row_since(0), 0u);
  EXPECT_EQ(table.first_row_since(3), 0u);
  EXPECT_EQ(table.first_row_since(4), 2u);
  EXPECT_EQ(table.first_row_since(8), 2u);
  EXPECT_EQ(table.first_row_since(9), 3u);
  EXPECT_EQ(table.epoch_of(1), 3u);
  EXPECT_EQ(table.epoch_of(2), 8u);
}

TEST(Table, SubsumedRowsAreLiveButNotVisible) {
  Table table(1);
  const uint32_t row = put(table, {1, 2}, 1, true);
  EXPECT_TRUE(table.live(row));
  EXPECT_FALSE(table.visible(row));
}

TEST(Table, IndexesFollowAppendedRows) {
  Table table(1);
  put(table, {1, 5});
  EXPECT_EQ(table.index(1).rows(5).size(), 1u);
  put(table, {2, 5});
  put(table, {3, 6});
  EXPECT_EQ(table.ready_index(1), nullptr);
  EXPECT_EQ(table.index(1).rows(5).size(), 2u);
  EXPECT_NE(table.ready_index(1), nullptr);
  EXPECT_TRUE(table.index(1).rows(7).empty());
}

TEST(Table, AgreesWithAMapUnderRandomOperations) {
  std::mt19937 random(11);
  Table table(2);
  std::map<std::pair<Value, Value>, Value> model;
  for (Epoch step = 1; step <= 20000; ++step) {
    const Value a = random() % 30, b = random() % 30, v = random() % 5;
    if (random() % 3 == 0) {
      const uint32_t row = find(table, {a, b});
      EXPECT_EQ(row != kNone, model.count({a, b}) != 0);
      if (row != kNone) table.erase(row);
      model.erase({a, b});
    } else {
      put(table, {a, b, v}, step);
      model[{a, b}] = v;
    }
    if (step % 50 == 0) table.compact_if_sparse();
  }
  EXPECT_EQ(table.num_live(), model.size());
  for (const auto& [keys, value] : model)
    EXPECT_EQ(table.value(find(table, {keys.first, keys.second})), value);
  for (Value v = 0; v < 5; ++v) {
    size_t live = 0, expected = 0;
    for (const uint32_t row : table.index(2).rows(v)) live += table.live(row);
    for (const auto& entry : model) expected += entry.second == v;
    EXPECT_EQ(live, expected);
  }
}

TEST(Table, KeepsItsRowsWhileItsHashGrowsAndFillsWithErasedSlots) {
  Table table(1);
  for (Value round = 0; round < 40; ++round) {
    for (Value i = 0; i < 100; ++i) put(table, {round * 100 + i, i});
    for (Value i = 0; i < 100; i += 2) table.erase(find(table, {round * 100 + i}));
  }
  EXPECT_EQ(table.num_live(), 2000u);
  for (Value key = 0; key < 4000; ++key) {
    const uint32_t row = find(table, {key});
    ASSERT_EQ(row != kNone, key % 2 == 1) << key;
    if (row == kNone) continue;
    EXPECT_EQ(table.value(row), key % 100);
  }
}

TEST(Table, CountsTheRowsAnIndexHasNotTakenUp) {
  Table table(1);
  for (Value i = 0; i < 10; ++i) put(table, {i, i});
  EXPECT_EQ(table.rows_behind(0), 10u);
  table.index(0);
  put(table, {10, 10});
  EXPECT_EQ(table.rows_behind(0), 1u);
  EXPECT_EQ(table.rows_behind(1), 11u);
}

TEST(RowIndex, FindsKeysOfEveryStride) {
  for (const Value stride : {1u, 7u, 16u, 1024u, 1u << 20}) {
    RowIndex index;
    for (uint32_t row = 0; row < 2000; ++row) index.add(row * stride, row);
    EXPECT_EQ(index.num_keys(), 2000u) << stride;
    for (uint32_t row = 0; row < 2000; ++row) {
      ASSERT_EQ(index.rows(row * stride).size(), 1u) << stride;
      EXPECT_EQ(index.rows(row * stride)[0], row) << stride;
    }
    EXPECT_TRUE(index.rows(2000 * stride).empty());
  }
}

TEST(RowIndex, KeepsRowsOfAKeyInOrder) {
  RowIndex index;
  for (uint32_t row = 0; row < 1000; ++row) index.add(row % 7, row);
  EXPECT_EQ(index.num_keys(), 7u);
  const auto rows = index.rows(3);
  ASSERT_EQ(rows.size(), 143u);
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], 3 + 7 * i);
}

}  // namespace
}  // namespace luminal::egraph
