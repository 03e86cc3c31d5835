#include "luminal/graph/view.h"

#include <gtest/gtest.h>

#include "luminal/graph/view_reference.h"

namespace luminal::graph {
namespace {

const Expr kN = Expr::variable("n", {1, 1000});
const Expr kM = Expr::variable("m", {1, 1000});
const Expr kPast = Expr::variable("past", {0, 1000});
const Scalar kZero = Scalar::of(DType::kF32, 0.0);
const Scalar kOne = Scalar::of(DType::kF32, 1.0);

View padded(const View& view, int axis, Expr before, Expr after) {
  return view.pad(axis, before, after, kZero).value();
}
View split_axis(const View& view, int axis, std::vector<Expr> parts) {
  return view.split(axis, parts);
}
View permuted(const View& view, std::vector<int> axes) { return view.permute(axes); }

// Normal form: maps that read the same elements are one view.

TEST(ViewNormalForm, FlippingTwiceIsTheIdentity) {
  const View view = View::identity({3, kN});
  EXPECT_EQ(view.flip(1).flip(1), view);
  EXPECT_EQ(view.flip(0).flip(1).flip(0).flip(1), view);
  EXPECT_NE(view.flip(1), view);
}
TEST(ViewNormalForm, PermutingBackIsTheIdentity) {
  const View view = View::identity({2, kN, kM});
  EXPECT_EQ(permuted(permuted(view, {2, 0, 1}), {1, 2, 0}), view);
}
TEST(ViewNormalForm, MergingWhatWasSplitIsTheIdentity) {
  const View view = View::identity({24, 8 * kN});
  EXPECT_EQ(split_axis(view, 0, {2, 3, 4}).merge(0, 3), view);
  EXPECT_EQ(split_axis(view, 1, {kN, 8}).merge(1, 2), view);
  EXPECT_EQ(split_axis(view, 1, {8, kN}).merge(1, 2), view);
  EXPECT_EQ(split_axis(view, 1, {2, kN, 4}).merge(1, 3), view);
}
TEST(ViewNormalForm, SplittingWhatWasMergedIsTheIdentity) {
  const View view = View::identity({4, kN, kM});
  EXPECT_EQ(split_axis(view.merge(1, 2), 1, {kN, kM}), view);
  EXPECT_EQ(split_axis(view.merge(0, 3), 0, {4, kN, kM}), view);
  EXPECT_EQ(split_axis(view.merge(0, 2), 0, {4, kN}), view);
}
TEST(ViewNormalForm, CroppingThePaddingIsTheIdentity) {
  const View view = View::identity({kN, 5});
  EXPECT_EQ(padded(padded(view, 0, 2, 3), 0, -2, -3), view);
  EXPECT_EQ(padded(view, 0, 2, 3).slice(0, 2, kN + 2), view);
  EXPECT_EQ(padded(view, 1, kPast, 0).slice(1, kPast, kPast + 5), view);
}
TEST(ViewNormalForm, PaddingTwiceIsPaddingOnce) {
  const View view = View::identity({kN});
  EXPECT_EQ(padded(padded(view, 0, 1, 2), 0, 3, 4), padded(view, 0, 4, 6));
  EXPECT_EQ(padded(padded(view, 0, kPast, 0), 0, 1, 0), padded(view, 0, kPast + 1, 0));
}
TEST(ViewNormalForm, SlicingThePaddingAwayOnOneSideLeavesTheOther) {
  const View view = View::identity({kN});
  EXPECT_EQ(padded(view, 0, 2, 3).slice(0, 2, kN + 5), padded(view, 0, 0, 3));
  EXPECT_EQ(padded(view, 0, 2, 3).slice(0, 0, kN + 2), padded(view, 0, 2, 0));
}
TEST(ViewNormalForm, SlicingBeforeOrAfterPaddingIsTheSame) {
  const View view = View::identity({10});
  EXPECT_EQ(padded(view, 0, 2, 0).slice(0, 0, 6), padded(view.slice(0, 0, 4), 0, 2, 0));
  EXPECT_EQ(padded(view, 0, 0, 2).slice(0, 7, 12), padded(view.slice(0, 7, 10), 0, 0, 2));
}
TEST(ViewNormalForm, FlippingThePaddedEqualsPaddingTheFlipped) {
  const View view = View::identity({kN});
  EXPECT_EQ(padded(view, 0, 2, 3).flip(0), padded(view.flip(0), 0, 3, 2));
}
TEST(ViewNormalForm, AStridedSliceOfPaddingHasCoprimeConditions) {
  const View view = View::identity({6});
  const View even = padded(view, 0, 2, 2).slice(0, 0, 10, 2);
  ASSERT_EQ(even.conditions().size(), 1u);
  EXPECT_EQ(even.conditions()[0], (Condition{even.axis(0) - 1, 3}));
  EXPECT_EQ(even, padded(view.slice(0, 0, 6, 2), 0, 1, 1));
}
TEST(ViewNormalForm, ReadingOnlyPaddingForgetsTheIndex) {
  const View view = View::identity({4, 3});
  const View left = padded(view, 0, 5, 0).slice(0, 0, 5).slice(1, 1, 3);
  const View right = padded(view, 0, 0, 5).slice(0, 4, 9).slice(1, 0, 2).flip(1);
  EXPECT_EQ(left, right);
  EXPECT_EQ(left.index(), (std::vector<Expr>{0, 0}));
  EXPECT_EQ(left.to_string(), "(i0, i1) -> (0, 0) where 0 <= 0 < 0 else 0");
}
TEST(ViewNormalForm, AnEmptyDomainForgetsTheMap) {
  const View view = View::identity({4});
  EXPECT_EQ(view.slice(0, 1, 1), view.slice(0, 3, 3));
  EXPECT_EQ(view.slice(0, 1, 1), view.slice(0, 3, 1));
  EXPECT_EQ(padded(view, 0, 1, 0).slice(0, 0, 0), view.slice(0, 0, 0));
}
TEST(ViewNormalForm, AxesOfExtentOneAppearAsZero) {
  const View view = View::identity({1, kN});
  EXPECT_EQ(view.index()[0], Expr(0));
  EXPECT_EQ(view.flip(0), view);
  EXPECT_EQ(view.merge(0, 2), View::identity({1, kN}).squeeze(0));
}
TEST(ViewNormalForm, ConditionsThatBoundsProveVanishWithTheirFill) {
  const Expr i = Expr::axis(0, kN);
  const View view({kN + kPast}, {kN}, {i + kPast}, {{i + kPast, kN + kPast}}, kOne);
  EXPECT_TRUE(view.conditions().empty());
  EXPECT_EQ(view.fill(), Scalar());
  EXPECT_EQ(view, View::identity({kN + kPast}).slice(0, kPast, kN + kPast));
}
TEST(ViewNormalForm, ADiagonalOfWindowsOfSizeOneAndStrideOneIsTheAxis) {
  const View windows = View::identity({kN}).window(0, kM, 1);
  EXPECT_EQ(windows.select(1, 0), View::identity({kN}).slice(0, 0, kN - kM + 1));
  EXPECT_EQ(View::identity({kN}).window(0, 1).squeeze(1), View::identity({kN}));
  EXPECT_EQ(View::identity({5}).window(0, 3).diagonal(0, 1), View::identity({5}).slice(0, 0, 5, 2));
}
TEST(ViewNormalForm, NonOverlappingWindowsAreASplit) {
  EXPECT_EQ(View::identity({8 * kN}).window(0, 8, 8),
            split_axis(View::identity({8 * kN}), 0, {kN, 8}));
}
TEST(ViewNormalForm, TheDiagonalOfABroadcastVectorIsTheVector) {
  EXPECT_EQ(View::identity({kN}).insert_axis(0, kN).diagonal(0, 1), View::identity({kN}));
}
TEST(ViewNormalForm, SelectingFromAnInsertedAxisIsTheIdentity) {
  EXPECT_EQ(View::identity({kN}).insert_axis(1, kM).select(1, kM - 1), View::identity({kN}));
}
TEST(ViewNormalForm, TransposingByMergeAndSplitKeepsSimpleIndices) {
  const View heads = permuted(split_axis(View::identity({kN, 12 * 64}), 1, {12, 64}), {1, 0, 2});
  EXPECT_EQ(permuted(heads, {1, 0, 2}).merge(1, 2), View::identity({kN, 12 * 64}));
}

// Reshape.

TEST(ViewReshape, UntouchedAxesKeepSimpleIndices) {
  const View view = View::identity({kN, 6, kM}).reshape({kN, 2, 3, kM});
  EXPECT_EQ(view.index()[0], view.axis(0));
  EXPECT_EQ(view.index()[1], view.axis(1) * 3 + view.axis(2));
  EXPECT_EQ(view.index()[2], view.axis(3));
}
TEST(ViewReshape, ThereAndBackIsTheIdentity) {
  const View view = View::identity({kN, 6, kM});
  EXPECT_EQ(view.reshape({kN, 3, 2 * kM}).reshape({kN, 6, kM}), view);
  EXPECT_EQ(view.reshape({6 * kN, kM}).reshape({kN, 6, kM}), view);
  EXPECT_EQ(view.reshape({6 * kN * kM}).reshape({kN, 6, kM}), view);
  EXPECT_EQ(view.reshape({1, kN, 1, 6, kM, 1}).reshape({kN, 6, kM}), view);
}
TEST(ViewReshape, RegroupingSharedFactorsLeavesDivisionsByConstants) {
  const View view = View::identity({4, 6}).reshape({8, 3});
  const Expr i = view.axis(0), j = view.axis(1);
  EXPECT_EQ(view.index()[0], floor_div(i, 2));
  EXPECT_EQ(view.index()[1], mod(i, 2) * 3 + j);
}
TEST(ViewReshape, ScalarsAndOnesReshapeIntoEachOther) {
  EXPECT_EQ(View().reshape({1, 1}).reshape({}), View());
  EXPECT_EQ(View::identity({1}).reshape({}).domain(), Shape());
}
TEST(ViewReshape, SymbolicExtentsMaySwapPlaces) {
  const View view = View::identity({kN, kM}).reshape({kM, kN});
  const std::vector<symbolic::Binding> dims{{kN, 4}, {kM, 6}};
  EXPECT_EQ(reference::evaluate(view.substitute(dims)),
            reference::reshape(reference::numbered({4, 6}), {6, 4}));
}
TEST(ViewReshape, EmptyShapesReshapeFreely) {
  EXPECT_EQ(View::identity({0, 3}).reshape({5, 0}).domain(), (Shape{5, 0}));
  EXPECT_EQ(View::identity({0, kN}).reshape({0}).domain(), (Shape{0}));
}

// Composition.

TEST(ViewComposition, FailsOnlyIfBothPadWithDifferentFills) {
  const View zeros = padded(View::identity({4}), 0, 1, 1);
  EXPECT_FALSE(zeros.pad(0, 1, 1, kOne).has_value());
  EXPECT_TRUE(zeros.pad(0, 1, 1, kZero).has_value());
  EXPECT_TRUE(zeros.pad(0, -1, -1, kOne).has_value());
  // Where the outer view crops the inner padding away, only the outer fill is left.
  const View outer = View::identity({6}).slice(0, 1, 5).pad(0, 1, 1, kOne).value();
  const std::optional<View> both = View::compose(zeros, outer);
  EXPECT_EQ(both, std::nullopt);  // the crop holds only where the outer conditions do
  EXPECT_EQ(View::compose(zeros, View::identity({6}).slice(0, 1, 5))->pad(0, 1, 1, kOne),
            View::identity({4}).pad(0, 1, 1, kOne));
}
TEST(ViewComposition, AnOuterViewOfPaddingAloneHidesTheInnerFill) {
  const View inner = padded(View::identity({4}), 0, 1, 1);
  const View outer = View::identity({6}).pad(0, 3, 0, kOne)->slice(0, 0, 3);
  const std::optional<View> both = View::compose(inner, outer);
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->fill(), kOne);
}
TEST(ViewComposition, PaddingAnEmptyAxisReadsOnlyTheFill) {
  const View view = padded(View::identity({3}).slice(0, 2, 2), 0, 1, 1);
  EXPECT_EQ(reference::evaluate(view),
            (reference::Plain{{2}, {reference::kFill, reference::kFill}}));
}
TEST(ViewComposition, WithTheIdentityChangesNothing) {
  const View view = padded(View::identity({kN, kM}).flip(0), 1, 2, kPast);
  EXPECT_EQ(View::compose(view, View::identity(view.domain())), view);
  EXPECT_EQ(View::compose(View::identity(view.source()), view), view);
}

// Analysis.

TEST(ViewAnalysis, StridesOfTransposedSlicesAreKnown) {
  const View view = permuted(View::identity({kN, kM}).slice(1, 1, kM, 2), {1, 0});
  const std::optional<StridedLayout> layout = view.strided();
  ASSERT_TRUE(layout.has_value());
  EXPECT_EQ(layout->offset, Expr(1));
  EXPECT_EQ(layout->strides, (Shape{2, kM}));
}
TEST(ViewAnalysis, MergedWholeAxesAreStridedAndContiguous) {
  const View merged = View::identity({kN, kM}).merge(0, 2);
  ASSERT_TRUE(merged.strided().has_value());
  EXPECT_EQ(merged.strided()->strides, (Shape{1}));
  EXPECT_TRUE(merged.is_contiguous());
  EXPECT_FALSE(permuted(View::identity({kN, kM}), {1, 0}).merge(0, 2).strided().has_value());
}
TEST(ViewAnalysis, ContiguousMeansARunOfElements) {
  const View view = View::identity({kN, 4, 5});
  EXPECT_TRUE(view.is_contiguous());
  EXPECT_TRUE(view.select(0, 0).is_contiguous());
  EXPECT_TRUE(view.select(0, kN - 1).slice(0, 1, 3).is_contiguous());
  EXPECT_TRUE(view.slice(0, 1, kN).is_contiguous());
  EXPECT_TRUE(view.insert_axis(1, 1).is_contiguous());
  EXPECT_TRUE(view.slice(2, 2, 2).is_contiguous());  // nothing is a run of nothing
  EXPECT_FALSE(view.slice(1, 0, 3).is_contiguous());
  EXPECT_FALSE(view.flip(2).is_contiguous());
  EXPECT_FALSE(view.slice(2, 0, 5, 2).is_contiguous());
  EXPECT_FALSE(permuted(view, {1, 0, 2}).is_contiguous());
  EXPECT_FALSE(view.insert_axis(1, 2).is_contiguous());
  EXPECT_FALSE(padded(view, 0, 1, 0).is_contiguous());
}
TEST(ViewAnalysis, BroadcastAxesAreThoseThatNothingUses) {
  const View view = View::identity({kN, 1}).expand({3, kN, 4});
  EXPECT_EQ(view.broadcast_axes(), (std::vector<int>{0, 2}));
  EXPECT_EQ(View::identity({kN, 1}).broadcast_axes(), std::vector<int>());
  EXPECT_EQ(padded(View::identity({1}), 0, 1, 1).broadcast_axes(), std::vector<int>());
  EXPECT_EQ(view.slice(1, 0, 0).broadcast_axes(), std::vector<int>());
}
TEST(ViewAnalysis, IdentityIsRecognised) {
  EXPECT_TRUE(View().is_identity());
  EXPECT_TRUE(View::identity({0, kN}).is_identity());
  EXPECT_TRUE(View::identity({kN}).reshape({1, kN}).reshape({kN}).is_identity());
  EXPECT_FALSE(View::identity({kN}).reshape({1, kN}).is_identity());
  EXPECT_FALSE(View::identity({kN}).flip(0).is_identity());
}
TEST(ViewAnalysis, ViewsThatOnlyMoveReadEachElementOnce) {
  const View view = View::identity({kN, kM, 6});
  EXPECT_TRUE(view.reads_each_element_at_most_once());
  EXPECT_TRUE(permuted(view, {2, 0, 1}).flip(1).reads_each_element_at_most_once());
  EXPECT_TRUE(view.merge(0, 2).reads_each_element_at_most_once());
  EXPECT_TRUE(permuted(view, {1, 0, 2}).merge(0, 3).reads_each_element_at_most_once());
  EXPECT_TRUE(permuted(view, {1, 0, 2}).merge(0, 3).flip(0).reads_each_element_at_most_once());
  EXPECT_TRUE(split_axis(view, 2, {2, 3}).reads_each_element_at_most_once());
  EXPECT_TRUE(view.slice(2, 5, -1, -2).reads_each_element_at_most_once());
  EXPECT_TRUE(padded(padded(view, 0, 1, 1), 2, 3, kPast).reads_each_element_at_most_once());
  EXPECT_TRUE(View::identity({kN, kN}).diagonal(0, 1).reads_each_element_at_most_once());
}
TEST(ViewAnalysis, OverlapsAndBroadcastsReadElementsAgain) {
  const View view = View::identity({kN, kM, 6});
  EXPECT_FALSE(view.insert_axis(0, 2).reads_each_element_at_most_once());
  EXPECT_FALSE(view.window(2, 3, 2).reads_each_element_at_most_once());
  EXPECT_TRUE(view.window(2, 3, 3).reads_each_element_at_most_once());
  EXPECT_TRUE(view.window(2, 2, 3).reads_each_element_at_most_once());
  EXPECT_TRUE(view.window(2, 2, 1, 1).select(3, 0).reads_each_element_at_most_once());
  EXPECT_TRUE(View::identity({8 * kN}).window(0, kM, kM).reads_each_element_at_most_once());
  EXPECT_FALSE(View::identity({9})
                   .window(0, 2, 2, 2)
                   .slice(1, 0, 2)
                   .insert_axis(0, 2)
                   .reads_each_element_at_most_once());
}
TEST(ViewAnalysis, LinearIndexIsTheRowMajorPosition) {
  const View view = View::identity({kN, kM}).flip(1);
  EXPECT_EQ(view.linear_index(), view.axis(0) * kM + kM - 1 - view.axis(1));
}

// Symbolic against constant.

TEST(ViewSubstitution, BuildingWithSymbolsThenFixingThemEqualsBuildingWithNumbers) {
  using Build = std::function<View(Expr n, Expr m)>;
  const std::vector<std::pair<std::string, Build>> builds{
      {"slice", [](Expr n, Expr m) { return View::identity({n + m}).slice(0, m, n + m); }},
      {"stepped slice",
       [](Expr n, Expr m) {
         return View::identity({n, m}).slice(1, 0, m, 3);
       }},
      {"downward", [](Expr n, Expr) { return View::identity({n}).slice(0, n - 1, -1, -2); }},
      {"select",
       [](Expr n, Expr m) {
         return View::identity({n, m}).select(0, n - 1);
       }},
      {"flip",
       [](Expr n, Expr m) {
         return View::identity({n, m}).flip(0).flip(1);
       }},
      {"pad", [](Expr n, Expr m) { return padded(View::identity({n}), 0, m, 2 * m); }},
      {"crop", [](Expr n, Expr m) { return padded(View::identity({n + m}), 0, -n, 1); }},
      {"split",
       [](Expr n, Expr m) {
         return split_axis(View::identity({n * m}), 0, {m, n});
       }},
      {"merge",
       [](Expr n, Expr m) {
         return permuted(View::identity({n, m}), {1, 0}).merge(0, 2);
       }},
      {"merge flip",
       [](Expr n, Expr m) {
         return View::identity({n, m}).flip(1).merge(0, 2).flip(0);
       }},
      {"reshape",
       [](Expr n, Expr m) {
         return View::identity({n, 6, m}).reshape({2 * n, 3 * m});
       }},
      {"swap",
       [](Expr n, Expr m) {
         return View::identity({n, m}).reshape({m, n});
       }},
      {"window", [](Expr n, Expr m) { return View::identity({n + m}).window(0, m, 2); }},
      {"dilated", [](Expr n, Expr m) { return View::identity({3 * n + m}).window(0, 3, m, n); }},
      {"diagonal",
       [](Expr n, Expr m) {
         return View::identity({n, m, 2}).diagonal(1, 0, -1);
       }},
      {"expand",
       [](Expr n, Expr m) {
         return View::identity({n, 1}).expand({m, n, m});
       }},
      {"pad merge",
       [](Expr n, Expr m) {
         return padded(View::identity({n, m}).merge(0, 2), 0, 1, n);
       }},
      {"pad split",
       [](Expr n, Expr m) {
         return split_axis(padded(View::identity({n, m}), 1, 0, m), 1, {2, m}).merge(0, 2);
       }},
      {"pad flip", [](Expr n, Expr m) { return padded(View::identity({n}), 0, m, 1).flip(0); }},
  };
  for (const auto& [what, build] : builds) {
    const View symbolic_view = build(kN, kM);
    for (int64_t n = 1; n <= 6; ++n)
      for (int64_t m = 1; m <= 5; ++m) {
        const std::vector<symbolic::Binding> dims{{kN, n}, {kM, m}};
        const View fixed = symbolic_view.substitute(dims);
        const View expected = build(n, m);
        EXPECT_EQ(reference::evaluate(fixed), reference::evaluate(expected))
            << what << " for n = " << n << ", m = " << m;
        EXPECT_EQ(fixed, expected) << what << " for n = " << n << ", m = " << m << ": "
                                   << fixed.to_string() << " against " << expected.to_string();
      }
  }
}

// Hash.

TEST(ViewHash, EqualViewsHashEqualAndOthersDiffer) {
  const auto hash = [](const View& view) {
    support::Hasher hasher;
    view.add_to(hasher);
    return hasher.finish128();
  };
  const View view = View::identity({kN, kM});
  EXPECT_EQ(hash(view.flip(0).flip(0)), hash(view));
  EXPECT_NE(hash(view.flip(0)), hash(view));
  EXPECT_NE(hash(padded(view, 0, 1, 1)), hash(view.pad(0, 1, 1, kOne).value()));
  EXPECT_NE(hash(View::identity({2, 3})), hash(View::identity({3, 2})));
}

}  // namespace
}  // namespace luminal::graph
