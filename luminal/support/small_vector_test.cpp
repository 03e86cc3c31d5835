#include "luminal/support/small_vector.h"

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <random>
#include <sstream>
#include <string>
#include <unordered_set>
#include <vector>

namespace luminal::support {
namespace {

using Ints = SmallVector<std::int64_t, 4>;
using Strings = SmallVector<std::string, 2>;

static_assert(std::ranges::contiguous_range<Ints>);
static_assert(std::convertible_to<Ints&, std::span<std::int64_t>>);
static_assert(std::convertible_to<const Ints&, std::span<const std::int64_t>>);
static_assert(!std::convertible_to<std::vector<std::int64_t>, Ints>);
static_assert(std::is_nothrow_move_constructible_v<Ints> &&
              std::is_nothrow_move_assignable_v<Ints>);

/// Counts how many are alive and throws from a copy when told to.
struct Tracked {
  static inline int alive = 0;
  static inline int copies_until_throw = -1;
  int value = 0;

  Tracked() { ++alive; }
  explicit Tracked(int v) : value(v) { ++alive; }
  Tracked(const Tracked& other) : value(other.value) {
    if (copies_until_throw == 0) throw std::runtime_error("copy");
    if (copies_until_throw > 0) --copies_until_throw;
    ++alive;
  }
  Tracked(Tracked&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Tracked& operator=(const Tracked&) = default;
  Tracked& operator=(Tracked&& other) noexcept {
    value = std::exchange(other.value, -1);
    return *this;
  }
  ~Tracked() { --alive; }
};

TEST(SmallVector, StartsEmptyAndInline) {
  Ints v;
  EXPECT_TRUE(v.empty());
  EXPECT_EQ(v.size(), 0u);
  EXPECT_EQ(v.capacity(), 4u);
  EXPECT_TRUE(v.is_inline());
  EXPECT_EQ(v.begin(), v.end());
}

TEST(SmallVector, SpillsToTheHeapPastItsInlineCapacity) {
  Ints v;
  for (int i = 0; i < 4; ++i) v.push_back(i);
  EXPECT_TRUE(v.is_inline());
  v.push_back(4);
  EXPECT_FALSE(v.is_inline());
  EXPECT_EQ(v, (Ints{0, 1, 2, 3, 4}));
  EXPECT_GE(v.capacity(), 8u);
}

TEST(SmallVector, ConstructsFromCountsListsIteratorsAndRanges) {
  EXPECT_EQ(Ints(3), (Ints{0, 0, 0}));
  EXPECT_EQ(Ints(2, 7), (Ints{7, 7}));
  EXPECT_EQ((Ints{2, 7}).size(), 2u);
  const std::vector<int> source{1, 2, 3, 4, 5};
  EXPECT_EQ(Ints(source.begin(), source.end()), (Ints{1, 2, 3, 4, 5}));
  EXPECT_EQ(Ints(std::span(source).first(2)), (Ints{1, 2}));
  EXPECT_EQ(Ints(std::views::iota(0, 3)), (Ints{0, 1, 2}));
  EXPECT_EQ(Ints(SmallVector<std::int64_t, 1>{8, 9}), (Ints{8, 9}));
}

TEST(SmallVector, ReadsFromSinglePassIterators) {
  std::istringstream in("3 1 4 1 5 9");
  Ints v(std::istream_iterator<int>(in), std::istream_iterator<int>{});
  EXPECT_EQ(v, (Ints{3, 1, 4, 1, 5, 9}));
}

TEST(SmallVector, CopiesAreIndependent) {
  for (std::size_t size : {0u, 1u, 2u, 5u}) {
    Strings a(size, "a string too long for the small string optimisation");
    Strings b = a;
    EXPECT_EQ(a, b);
    b.push_back("x");
    EXPECT_EQ(a.size(), size);
    a = b;
    EXPECT_EQ(a, b);
    a = a;
    EXPECT_EQ(a, b);
  }
}

TEST(SmallVector, MovesLeaveTheSourceEmptyAndUsable) {
  for (std::size_t size : {0u, 1u, 2u, 5u}) {
    const Strings expected(size, "a string too long for the small string optimisation");
    Strings source = expected;
    Strings moved = std::move(source);
    EXPECT_EQ(moved, expected);
    EXPECT_TRUE(source.empty());
    EXPECT_TRUE(source.is_inline());
    source.push_back("again");
    EXPECT_EQ(source.back(), "again");
    for (std::size_t target_size : {0u, 2u, 6u}) {
      Strings target(target_size, "old");
      Strings from = expected;
      target = std::move(from);
      EXPECT_EQ(target, expected);
      EXPECT_TRUE(from.empty());
    }
  }
}

TEST(SmallVector, MovingAHeapVectorStealsItsBuffer) {
  Ints source(10, 1);
  const std::int64_t* buffer = source.data();
  Ints moved = std::move(source);
  EXPECT_EQ(moved.data(), buffer);
}

TEST(SmallVector, HoldsMoveOnlyTypes) {
  SmallVector<std::unique_ptr<int>, 2> v;
  for (int i = 0; i < 5; ++i) v.push_back(std::make_unique<int>(i));
  v.erase(v.begin() + 1);
  v.insert(v.begin(), std::make_unique<int>(9));
  auto moved = std::move(v);
  std::vector<int> values;
  for (const auto& p : moved) values.push_back(*p);
  EXPECT_EQ(values, (std::vector<int>{9, 0, 2, 3, 4}));
}

TEST(SmallVector, GrowingKeepsAnElementThatIsPushedAgain) {
  Strings v{"a string too long for the small string optimisation", "b"};
  v.push_back(v[0]);
  EXPECT_EQ(v[2], v[0]);
  v.resize(8, v[1]);
  EXPECT_EQ(v[7], "b");
  v.insert(v.begin() + 1, v[0]);
  EXPECT_EQ(v[1], v[0]);
  v.assign(3, v[2]);
  EXPECT_EQ(v, (Strings{"b", "b", "b"}));
}

TEST(SmallVector, InsertsAndErasesLikeStdVector) {
  std::mt19937 random(1234);
  SmallVector<std::string, 3> small;
  std::vector<std::string> model;
  for (int step = 0; step < 4000; ++step) {
    const std::size_t at = random() % (model.size() + 1);
    const std::string value = std::to_string(step) + std::string(random() % 30, 'x');
    switch (random() % 7) {
      case 0:
        EXPECT_EQ(*small.insert(small.begin() + at, value), value);
        model.insert(model.begin() + at, value);
        break;
      case 1: {
        const std::vector<std::string> several(random() % 4, value);
        small.insert(small.begin() + at, several.begin(), several.end());
        model.insert(model.begin() + at, several.begin(), several.end());
        break;
      }
      case 2:
        small.insert(small.begin() + at, 2, value);
        model.insert(model.begin() + at, 2, value);
        break;
      case 3:
        if (at < model.size()) {
          const auto next = small.erase(small.begin() + at);
          model.erase(model.begin() + at);
          EXPECT_EQ(next - small.begin(), static_cast<std::ptrdiff_t>(at));
        }
        break;
      case 4: {
        const std::size_t until = at + random() % (model.size() - at + 1);
        small.erase(small.begin() + at, small.begin() + until);
        model.erase(model.begin() + at, model.begin() + until);
        break;
      }
      case 5:
        small.resize(at);
        model.resize(at);
        break;
      default:
        small.emplace_back(value);
        model.push_back(value);
    }
    ASSERT_TRUE(std::equal(small.begin(), small.end(), model.begin(), model.end()))
        << "step " << step;
  }
}

TEST(SmallVector, ErasingNothingLeavesElementsAlone) {
  Strings v{"one", "two", "three"};
  v.erase(v.begin(), v.begin());
  EXPECT_EQ(v, (Strings{"one", "two", "three"}));
}

TEST(SmallVector, InsertsInitializerLists) {
  Ints v{1, 5};
  v.insert(v.begin() + 1, {2, 3, 4});
  EXPECT_EQ(v, (Ints{1, 2, 3, 4, 5}));
  v.append({6, 7});
  EXPECT_EQ(v.back(), 7);
  v = {9};
  EXPECT_EQ(v, (Ints{9}));
}

TEST(SmallVector, ComparesLexicographically) {
  EXPECT_LT((Ints{1, 2}), (Ints{1, 3}));
  EXPECT_LT((Ints{1}), (Ints{1, 0}));
  EXPECT_LT((Ints{}), (Ints{0}));
  EXPECT_GT((Ints{2}), (Ints{1, 9, 9, 9, 9}));
  EXPECT_NE((Ints{1, 2}), (Ints{2, 1}));
  EXPECT_EQ((Ints{1, 2}), (SmallVector<std::int64_t, 1>{1, 2}));
  EXPECT_LT((Ints{1, 2}), (SmallVector<std::int64_t, 1>{1, 3}));
}

TEST(SmallVector, ConvertsToSpans) {
  Ints v{1, 2, 3};
  const auto total = [](std::span<const std::int64_t> values) {
    return std::accumulate(values.begin(), values.end(), std::int64_t{0});
  };
  EXPECT_EQ(total(v), 6);
  std::span<std::int64_t> writable = v;
  writable[0] = 10;
  EXPECT_EQ(v.front(), 10);
}

TEST(SmallVector, IteratesBackwards) {
  const Ints v{1, 2, 3};
  EXPECT_EQ(Ints(v.rbegin(), v.rend()), (Ints{3, 2, 1}));
}

TEST(SmallVector, CheckedAccessNamesIndexAndSize) {
  const Ints v{1, 2};
  EXPECT_EQ(v.at(1), 2);
  try {
    v.at(2);
    FAIL() << "no error";
  } catch (const InternalError& error) {
    EXPECT_NE(std::string(error.what()).find("index 2 in a vector of 2 elements"),
              std::string::npos)
        << error.what();
  }
}

TEST(SmallVector, ReserveKeepsElementsAndAvoidsLaterMoves) {
  Ints v{1};
  v.reserve(100);
  EXPECT_EQ(v.capacity(), 100u);
  const std::int64_t* buffer = v.data();
  for (int i = 0; i < 99; ++i) v.push_back(i);
  EXPECT_EQ(v.data(), buffer);
  EXPECT_EQ(v.front(), 1);
}

TEST(SmallVector, SwapsInlineAndHeapVectors) {
  Strings a{"1"}, b{"2", "3", "4"};
  swap(a, b);
  EXPECT_EQ(a, (Strings{"2", "3", "4"}));
  EXPECT_EQ(b, (Strings{"1"}));
}

TEST(SmallVector, EveryElementIsDestroyedOnce) {
  ASSERT_EQ(Tracked::alive, 0);
  {
    SmallVector<Tracked, 2> v;
    for (int i = 0; i < 9; ++i) v.emplace_back(i);
    v.erase(v.begin() + 2, v.begin() + 5);
    v.pop_back();
    SmallVector<Tracked, 2> copy = v, moved = std::move(v);
    EXPECT_EQ(Tracked::alive, 10);
    copy.clear();
    EXPECT_EQ(Tracked::alive, 5);
    moved.resize(1);
    EXPECT_EQ(Tracked::alive, 1);
  }
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(SmallVector, AThrowingCopyLeaksNothingAndKeepsTheOldElements) {
  {
    SmallVector<Tracked, 2> v(2);
    v[0].value = 5;
    const Tracked extra(7);
    Tracked::copies_until_throw = 0;
    EXPECT_THROW(v.push_back(extra), std::runtime_error);
    EXPECT_EQ(v.size(), 2u);
    EXPECT_EQ(v[0].value, 5);
    Tracked::copies_until_throw = 2;
    EXPECT_THROW(v.insert(v.begin(), 4, extra), std::runtime_error);
    EXPECT_EQ(v.size(), 2u);
    EXPECT_EQ(v[0].value, 5);
    const SmallVector<Tracked, 2> source(std::views::iota(0, 4) |
                                         std::views::transform([](int i) { return Tracked(i); }));
    Tracked::copies_until_throw = 2;
    EXPECT_THROW((SmallVector<Tracked, 2>(source)), std::runtime_error);
    Tracked::copies_until_throw = -1;
  }
  EXPECT_EQ(Tracked::alive, 0);
}

TEST(SmallVector, RespectsOverAlignedTypes) {
  struct alignas(64) Wide {
    double lanes[8];
  };
  SmallVector<Wide, 1> v;
  for (int i = 0; i < 5; ++i) {
    v.emplace_back();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data()) % 64, 0u);
  }
}

TEST(SmallVector, EraseIfReportsHowManyWent) {
  Ints v{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(erase_if(v, [](std::int64_t x) { return x % 2 == 0; }), 3u);
  EXPECT_EQ(v, (Ints{1, 3, 5}));
}

TEST(SmallVector, IsAKeyOfHashTables) {
  std::unordered_set<Ints> set{{1, 2}, {2, 1}, {1, 2}, {}, {0}};
  EXPECT_EQ(set.size(), 4u);
  EXPECT_TRUE(set.contains(Ints{2, 1}));
}

TEST(SmallVector, NestsInItself) {
  SmallVector<Ints, 2> v{{1}, {2, 3}, {4, 5, 6, 7, 8}};
  auto copy = v;
  v[2].push_back(9);
  EXPECT_EQ(copy[2].size(), 5u);
  EXPECT_EQ(v[2].back(), 9);
}

}  // namespace
}  // namespace luminal::support
