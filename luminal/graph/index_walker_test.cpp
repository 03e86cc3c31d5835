#include "luminal/graph/index_walker.h"

#include <gtest/gtest.h>

#include <random>

#include "luminal/graph/interpreter_harness.h"
#include "luminal/graph/view_reference.h"

namespace luminal::graph {
namespace {

/// The source position of every element, kFill where it is padding.
std::vector<int64_t> positions(const std::vector<IndexRun>& runs) {
  std::vector<int64_t> result;
  for (const IndexRun& run : runs)
    for (int64_t i = 0; i < run.elements.count; ++i)
      result.push_back(run.filled ? reference::kFill
                                  : run.elements.position + i * run.elements.stride);
  return result;
}

/// Walks whole, in pieces and one by one, and compares with the plain evaluation.
void expect_walks_like_reference(const View& view) {
  const std::vector<int64_t> expected = reference::evaluate(view).values;
  const IndexWalker walker(view, {}, "test");
  ASSERT_EQ(walker.size(), static_cast<int64_t>(expected.size())) << view.to_string();
  std::vector<IndexRun> runs;
  walker.walk(0, walker.size(), runs);
  EXPECT_EQ(positions(runs), expected) << view.to_string();
  std::vector<int64_t> pieces;
  for (int64_t begin = 0; begin < walker.size(); begin += 5) {
    walker.walk(begin, std::min<int64_t>(5, walker.size() - begin), runs);
    for (const int64_t position : positions(runs)) pieces.push_back(position);
  }
  EXPECT_EQ(pieces, expected) << view.to_string();
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_EQ(walker.at(static_cast<int64_t>(i)).value_or(reference::kFill), expected[i])
        << view.to_string();
}

View whole(Shape shape) { return View::identity(std::move(shape)); }

/// A view of every kind.
std::vector<View> views_of_every_kind() {
  const int rotated[] = {2, 0, 1};
  const Expr halves[] = {2, 3};
  const Scalar fill = Scalar::of(DType::kF32, 0.5);
  const View cube = whole({4, 5, 6});
  const View padded = *whole({3, 4}).pad(0, 2, 1, fill)->pad(1, 0, 3, fill);
  return {
      cube,
      cube.permute(rotated),
      whole({4, 1}).expand({3, 4, 7}),
      cube.insert_axis(1, 3),
      cube.slice(1, 1, 5, 2),
      cube.slice(2, 5, 0, -2),
      cube.select(1, 3),
      cube.flip(0).flip(2),
      padded,
      padded.flip(1).slice(0, 1, 6, 2),
      *padded.flip(0).pad(0, 1, 1, fill),
      *cube.pad(1, -1, -2, fill),
      cube.split(2, halves),
      cube.merge(0, 3),
      cube.permute(rotated).merge(0, 3),
      cube.permute(rotated).reshape({10, 12}),
      padded.merge(0, 2),
      whole({12}).window(0, 3, 2, 2),
      padded.window(0, 3, 2).window(1, 2),
      whole({5, 7}).diagonal(0, 1, 2),
      whole({5, 7}).diagonal(0, 1, -1),
      whole({}),
      whole({}).insert_axis(0, 4),
      whole({1, 1, 1}),
      whole({3, 0, 2}),
      whole({0}).reshape({0, 5}),
  };
}

TEST(IndexWalker, EveryKindOfViewIsWalkedAsItIsDefined) {
  for (const View& view : views_of_every_kind()) expect_walks_like_reference(view);
}

TEST(IndexWalker, RandomChainsOfMovementsAreWalkedAsTheyAreDefined) {
  constexpr uint64_t kSeed = 5;
  SCOPED_TRACE(fmt::format("seed {}", kSeed));
  std::mt19937_64 random(kSeed);
  const auto below = [&](int64_t count) { return static_cast<int64_t>(random() % count); };
  const Scalar fill = Scalar::of(DType::kF32, 0.5);
  for (int chain = 0; chain < 400; ++chain) {
    View view = whole({1 + below(5), 1 + below(5), 1 + below(5)});
    for (int step = 0; step < 5 && view.rank() > 0; ++step) {
      const int axis = static_cast<int>(below(view.rank()));
      const int64_t extent = *view.domain()[static_cast<size_t>(axis)].constant_value();
      switch (below(8)) {
        case 0:
          view = view.flip(axis);
          break;
        case 1:
          if (extent > 1) view = view.slice(axis, below(extent), extent, 1 + below(2));
          break;
        case 2:
          view = *view.pad(axis, below(3), below(3), fill);
          break;
        case 3:
          view = view.merge(0, view.rank());
          break;
        case 4:
          if (extent > 1) view = view.window(axis, 1 + below(extent), 1 + below(2));
          break;
        case 5:
          view = view.insert_axis(axis, 1 + below(3));
          break;
        case 6:
          if (extent % 2 == 0) {
            const Expr parts[] = {2, extent / 2};
            view = view.split(axis, parts);
          }
          break;
        default: {
          std::vector<int> axes;
          for (int k = 0; k < view.rank(); ++k) axes.push_back((k + 1) % view.rank());
          view = view.permute(axes);
        }
      }
      if (*element_count(view.domain()).constant_value() > 500) break;
    }
    expect_walks_like_reference(view);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(IndexWalker, IdentitiesAreOneRun) {
  std::vector<IndexRun> runs;
  const IndexWalker walker(whole({4, 1, 5, 6}), {}, "test");
  walker.walk(0, 120, runs);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].elements.stride, 1);
  EXPECT_EQ(runs[0].elements.count, 120);
}

TEST(IndexWalker, DimsAreReplacedByTheirValues) {
  const Expr seq = Expr::variable("seq", {1, 100});
  const View view = whole({seq, 3}).slice(0, 0, seq - 1);
  const IndexWalker walker(view, {{seq, 4}}, "test");
  EXPECT_EQ(walker.domain(), (Extents{3, 3}));
  EXPECT_EQ(walker.at(8), 8);
  EXPECT_EQ(evaluate_shape({seq, 2 * seq}, {{seq, 4}}), (Extents{4, 8}));
}

TEST(IndexWalker, ReadingOutsideOfTheSourceIsAnError) {
  const Expr past = Expr::variable("past", {0, 100});
  const Expr seq = Expr::variable("seq", {1, 100});
  // Two positions from `past` on, of a table of four rows.
  const Expr i0 = Expr::axis(0, seq);
  const View affine({4}, {seq}, {i0 + past});
  const IndexWalker fits(affine, {{past, 2}, {seq, 2}}, "embed");
  EXPECT_EQ(fits.at(1), 3);
  const IndexWalker tall(affine, {{past, 3}, {seq, 2}}, "embed");
  std::vector<IndexRun> runs;
  const std::string message =
      "embed: an operand is read at index 4 of its axis 0, which has extent 4 in this run; check "
      "the dims against the slices and windows taken";
  EXPECT_EQ(error_of([&] { tall.walk(0, 2, runs); }), message);
  EXPECT_EQ(tall.at(0), 3);
  EXPECT_EQ(error_of([&] { tall.at(1); }), message);
  const View general({4}, {seq}, {symbolic::mod(i0, Expr(3)) + past});
  const IndexWalker wide(general, {{past, 3}, {seq, 5}}, "embed");
  EXPECT_EQ(error_of([&] { wide.walk(0, 5, runs); }), message);
  EXPECT_EQ(error_of([&] {
              evaluate_shape({seq - past}, {{past, 3}, {seq, 2}});
            }),
            "run: axis 0 of a tensor of shape [-past + seq] would have extent -1");
}

}  // namespace
}  // namespace luminal::graph
