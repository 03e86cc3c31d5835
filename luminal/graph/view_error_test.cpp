// One bad argument each; the message must name the op, the axis, the extents and what to do.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "luminal/graph/view.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

const Expr kSeq = Expr::variable("seq", {1, 4096});
const View kMatrix = View::identity({2, 3});
const View kRagged = View::identity({kSeq, 4});

std::string error_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ViewErrors, PermuteOfTooFewAxesSaysHowMany) {
  EXPECT_EQ(error_of([] { kMatrix.permute(std::vector{0}); }),
            "permute: 1 axes given for shape [2, 3] of rank 2; name every axis once");
}
TEST(ViewErrors, PermuteNamesTheAxisThatIsOutOfRange) {
  EXPECT_EQ(error_of([] {
              kMatrix.permute(std::vector{0, 2});
            }),
            "permute: axis 2 is out of range for shape [2, 3] of rank 2");
}
TEST(ViewErrors, PermuteNamesTheAxisThatComesTwice) {
  EXPECT_EQ(error_of([] {
              kMatrix.permute(std::vector{1, 1});
            }),
            "permute: axis 1 is named twice; name every axis of shape [2, 3] once");
}
TEST(ViewErrors, InsertAxisKnowsThePositions) {
  EXPECT_EQ(error_of([] { kMatrix.insert_axis(3, 1); }),
            "insert_axis: position 3 is not in 0..2 for shape [2, 3]");
}
TEST(ViewErrors, InsertAxisRefusesNegativeExtents) {
  EXPECT_EQ(error_of([] { kMatrix.insert_axis(0, -1); }), "insert_axis: extent -1 is negative");
}
TEST(ViewErrors, SqueezeNamesTheExtentThatIsNotOne) {
  EXPECT_EQ(error_of([] { kRagged.squeeze(0); }),
            "squeeze: axis 0 of shape [seq, 4] has extent seq, only axes of extent 1 can be "
            "removed; select one position of it instead");
}
TEST(ViewErrors, ExpandNamesTheAxisThatCannotStretch) {
  EXPECT_EQ(error_of([] {
              kMatrix.expand({2, 6});
            }),
            "expand: cannot stretch axis 1 of shape [2, 3] from 3 to 6 of shape [2, 6]; only axes "
            "of extent 1 stretch");
}
TEST(ViewErrors, ExpandNeverRemovesAxes) {
  EXPECT_EQ(error_of([] { kMatrix.expand({3}); }),
            "expand: shape [3] has fewer axes than [2, 3]; expanding never removes axes");
}
TEST(ViewErrors, ExpandRefusesNegativeExtents) {
  EXPECT_EQ(error_of([] { View::identity({1}).expand({-2}); }),
            "expand: axis 0 of shape [-2] is negative");
}
TEST(ViewErrors, SliceNamesTheBoundThatIsOutside) {
  EXPECT_EQ(error_of([] { kMatrix.slice(1, 0, 4); }),
            "slice: end 4 is not in 0..3 for axis 1 of shape [2, 3]; clip it first");
  EXPECT_EQ(error_of([] { kMatrix.slice(1, -1, 3); }),
            "slice: begin -1 is not in 0..3 for axis 1 of shape [2, 3]; clip it first");
  EXPECT_EQ(error_of([] { kRagged.slice(0, 0, kSeq + 1); }),
            "slice: end seq + 1 is not in 0..seq for axis 0 of shape [seq, 4]; clip it first");
}
TEST(ViewErrors, SliceDownwardsStartsAtTheLastElementAtMost) {
  EXPECT_EQ(error_of([] { kMatrix.slice(1, 3, -1, -1); }),
            "slice: begin 3 is not in -1..2 for axis 1 of shape [2, 3]; clip it first");
}
TEST(ViewErrors, SliceMustMove) {
  EXPECT_EQ(error_of([] { kMatrix.slice(1, 0, 3, 0); }),
            "slice: step of axis 1 is 0; it must move");
}
TEST(ViewErrors, SelectNamesThePositionAndTheLastOneThereIs) {
  EXPECT_EQ(error_of([] { kMatrix.select(0, 2); }),
            "select: position 2 is not in 0..1 for axis 0 of shape [2, 3]");
  EXPECT_EQ(error_of([] { kRagged.select(0, kSeq); }),
            "select: position seq is not in 0..seq - 1 for axis 0 of shape [seq, 4]");
}
TEST(ViewErrors, EveryOpChecksItsAxis) {
  const std::string tail = ": axis 5 is out of range for shape [2, 3] of rank 2";
  const std::vector<Expr> parts{1, 3};
  EXPECT_EQ(error_of([] { kMatrix.squeeze(5); }), "squeeze" + tail);
  EXPECT_EQ(error_of([] { kMatrix.slice(5, 0, 1); }), "slice" + tail);
  EXPECT_EQ(error_of([] { kMatrix.select(5, 0); }), "select" + tail);
  EXPECT_EQ(error_of([] { kMatrix.flip(5); }), "flip" + tail);
  EXPECT_EQ(error_of([] { kMatrix.pad(5, 0, 0, Scalar()); }), "pad" + tail);
  EXPECT_EQ(error_of([&] { kMatrix.split(5, parts); }), "split" + tail);
  EXPECT_EQ(error_of([] { kMatrix.window(5, 1); }), "window" + tail);
  EXPECT_EQ(error_of([] { kMatrix.diagonal(0, 5); }), "diagonal" + tail);
  EXPECT_EQ(error_of([] { kMatrix.diagonal(5, 0); }), "diagonal" + tail);
}
TEST(ViewErrors, PadThatCropsMoreThanThereIsSaysWhatWouldBeLeft) {
  EXPECT_EQ(error_of([] { kMatrix.pad(1, -2, -2, Scalar()); }),
            "pad: cropping 2 and 2 elements leaves axis 1 of shape [2, 3] with extent -1");
}
TEST(ViewErrors, SplitNamesTheProductAndTheExtent) {
  const std::vector<Expr> parts{2, 2}, negative{-1, -3};
  EXPECT_EQ(error_of([&] { kMatrix.split(1, parts); }),
            "split: the product of [2, 2] is 4, not the extent 3 of axis 1 of shape [2, 3]; pad or "
            "slice the axis first");
  EXPECT_EQ(error_of([&] { kMatrix.split(1, negative); }),
            "split: part -1 of [-1, -3] is negative");
}
TEST(ViewErrors, SplitOfASymbolicExtentMustBeKnownToDivideIt) {
  const std::vector<Expr> parts{floor_div(kSeq, 2), 2};
  EXPECT_NE(error_of([&] { kRagged.split(0, parts); }).find("not the extent seq of axis 0"),
            std::string::npos);
}
TEST(ViewErrors, MergeNamesTheRange) {
  EXPECT_EQ(error_of([] { kMatrix.merge(1, 2); }),
            "merge: axes 1..2 are out of range for shape [2, 3] of rank 2");
  EXPECT_EQ(error_of([] { kMatrix.merge(0, 0); }), "merge: cannot merge 0 axes; name at least one");
}
TEST(ViewErrors, ReshapeNamesBothElementCounts) {
  EXPECT_EQ(error_of([] {
              kMatrix.reshape({4, 2});
            }),
            "reshape: [2, 3] has 6 elements, [4, 2] has 8; they must be equal");
  EXPECT_EQ(error_of([] {
              kRagged.reshape({kSeq, 5});
            }),
            "reshape: [seq, 4] has 4*seq elements, [seq, 5] has 5*seq; they must be equal");
  EXPECT_EQ(error_of([] {
              kMatrix.reshape({-2, -3});
            }),
            "reshape: axis 0 of shape [-2, -3] is negative");
}
TEST(ViewErrors, WindowNamesTheParameterBelowOne) {
  EXPECT_EQ(error_of([] { kMatrix.window(1, 0); }),
            "window: size of axis 1 is 0; it must be at least 1");
  EXPECT_EQ(error_of([] { kMatrix.window(1, 2, 0); }),
            "window: stride of axis 1 is 0; it must be at least 1");
  EXPECT_EQ(error_of([] { kMatrix.window(1, 2, 1, -1); }),
            "window: dilation of axis 1 is -1; it must be at least 1");
}
TEST(ViewErrors, WindowLargerThanTheAxisSaysHowFarItReaches) {
  EXPECT_EQ(error_of([] { kMatrix.window(1, 3, 1, 2); }),
            "window: a window of 3 elements 2 apart reaches over 5, more than axis 1 of shape [2, "
            "3]; pad it first");
}
TEST(ViewErrors, DiagonalNeedsTwoAxes) {
  EXPECT_EQ(error_of([] { kMatrix.diagonal(1, 1); }),
            "diagonal: axis 1 is named twice; a diagonal needs two axes");
}
TEST(ViewErrors, ComposingViewsThatDoNotMeetIsOurBug) {
  EXPECT_THROW(View::compose(kMatrix, kRagged), InternalError);
  EXPECT_THROW(View({2}, {2}, {}), InternalError);
  EXPECT_THROW(View({2}, {2}, {Expr::axis(0, 3)}), InternalError);
}

}  // namespace
}  // namespace luminal::graph
