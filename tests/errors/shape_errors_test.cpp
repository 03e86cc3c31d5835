// Shapes and axes that do not fit: movement, broadcasting, reductions, creation.
#include "error_cases.h"

namespace luminal::errors {
namespace {

std::vector<ErrorCase> movement_cases() {
  return {
      {"ReshapeToAnotherCount",
       [] {
         reshape(tensor({2, 3}), {4, 2});
       },
       "reshape: [2, 3] has 6 elements, [4, 2] has 8"},
      {"ReshapeWithTwoUnknownExtents",
       [] {
         reshape(tensor({2, 3}), {-1, -1});
       },
       "reshape: only one extent may be -1, got [-1, -1]"},
      {"ReshapeThatDoesNotDivide",
       [] {
         reshape(tensor({2, 3}), {4, -1});
       },
       "reshape: cannot find the extent -1 in [4, -1]: 6 elements are not a known multiple of 4"},
      {"PermuteWithTooFewAxes",
       [] {
         permute(tensor({2, 3, 4}), {1, 0});
       },
       "permute: needs each of the 3 axes of [2, 3, 4] once"},
      {"PermuteWithARepeatedAxis",
       [] {
         permute(tensor({2, 3}), {0, 0});
       },
       "permute: needs each of the 2 axes of [2, 3] once"},
      {"PermuteOutOfRange",
       [] {
         permute(tensor({2, 3}), {0, 2});
       },
       "permute: axis 2 is out of range for rank 2; use -2 to 1"},
      {"TransposeOutOfRange",
       [] {
         transpose(tensor({2, 3}), 0, 5);
       },
       "transpose: axis 5 is out of range for rank 2; use -2 to 1"},
      {"ExpandAnExtentThatIsNotOne",
       [] {
         expand(tensor({2, 3}), {4, 3});
       },
       "expand: shapes [2, 3] and [4, 3] do not broadcast: axis 0 is 2 and 4; extents must be "
       "equal or 1"},
      {"ExpandToFewerAxes",
       [] {
         expand(tensor({2, 3}), {3});
       },
       "expand: cannot expand [2, 3] to [3]; only axes of extent 1 stretch"},
      {"SqueezeAnExtentThatIsNotOne",
       [] {
         squeeze(tensor({2, 1}), {0});
       },
       "squeeze: axis 0 of [2, 1] has extent 2, not 1"},
      {"UnsqueezeOutOfRange", [] { unsqueeze(tensor({2}), 3); },
       "unsqueeze: axis 3 is out of range for rank 2; use -2 to 1"},
      {"SplitDimsIntoAnotherProduct",
       [] {
         split_dims(tensor({6}), 0, {4, 2});
       },
       "split_dims: axis 0 of [6] has extent 6, but [4, 2] has 8 elements"},
      {"MergeTooManyDims",
       [] {
         merge_dims(tensor({2, 3}), 1, 2);
       },
       "merge_dims: cannot merge 2 axes from axis 1 of [2, 3]"},
      {"SliceWithStepZero", [] { slice(tensor({5}), 0, {.step = 0}); },
       "slice: the step must not be 0"},
      {"SliceAnAxisThatIsNotThere", [] { slice(tensor({5}), 1, {.begin = 1}); },
       "slice: axis 1 is out of range for rank 1; use -1 to 0"},
      {"SliceWithTooManyRanges",
       [] {
         slice(tensor({5}), {{.begin = 1}, {.end = 2}});
       },
       "slice: 2 ranges for a tensor of shape [5]"},
      {"SelectOutsideTheAxis",
       [] {
         select(tensor({2, 3}), 1, 3);
       },
       "select: position 3 is outside axis 1 of shape [2, 3]"},
      {"PadWithTooManyPaddings",
       [] {
         pad(tensor({3}), {{1, 1}, {1, 1}});
       },
       "pad: 2 paddings for a tensor of shape [3]"},
      {"PadReflectingMoreThanThereIs",
       [] { pad(tensor({3}), 0, {.before = 3}, PadMode::kReflect); },
       "pad: reflect padding of 3 is too large for axis 0 of shape [3]"},
      {"RepeatANegativeNumberOfTimes", [] { repeat(tensor({3}), -1, 0); },
       "repeat: cannot repeat -1 times"},
      {"ChunkIntoNoPieces", [] { chunk(tensor({3}), 0, 0); }, "chunk: cannot cut into 0 pieces"},
      {"SplitIntoPiecesThatDoNotAddUp",
       [] {
         split(tensor({5}), {2, 2}, 0);
       },
       "split: the pieces add up to 4, but axis 0 of [5] has extent 5"},
      {"ConcatOfNothing", [] { concat({}, 0); }, "concat: needs at least one tensor"},
      {"ConcatOfShapesThatDiffer",
       [] {
         concat(tensors({{2, 3}, {2, 4}}), 0);
       },
       "concat: shapes [2, 3] and [2, 4] differ outside of axis 0"},
      {"StackOfShapesThatDiffer",
       [] {
         stack(tensors({{2}, {3}}));
       },
       "stack: shapes [2] and [3] differ"},
      {"UnfoldAWindowLargerThanTheAxis", [] { unfold(tensor({3}), 0, 5); },
       "unfold: a window over 5 elements is larger than axis 0 of [3]; pad it first"},
      {"DiagonalOfOneAxis",
       [] {
         diagonal(tensor({3, 3}), 0, 1, 1);
       },
       "diagonal: needs two different axes of [3, 3], got 1 twice"},
  };
}

std::vector<ErrorCase> elementwise_cases() {
  return {
      {"AddOfShapesThatDoNotBroadcast",
       [] {
         const auto x = tensors({{2, 3}, {2, 4}});
         x[0] + x[1];
       },
       "add: shapes [2, 3] and [2, 4] do not broadcast: axis 1 is 3 and 4; extents must be equal "
       "or 1"},
      {"WhereOfShapesThatDoNotBroadcast",
       [] {
         const auto x = tensors({{2}, {3}});
         where(x[0] > 0, x[1], 0);
       },
       "where: shapes [2] and [3] and [3] do not broadcast: axis 0 is 2 and 3; extents must be "
       "equal or 1"},
      {"TensorsOfTwoGraphs", [] { tensor({2}) + tensor({2}); },
       "add: operands belong to different graphs; bring one over with transfer()"},
      {"AnEmptyTensor", [] { exp(Tensor()); },
       "tensor: this Tensor is empty; assign it the result of an op or of Graph::input first"},
      {"AddOfBools",
       [] {
         const auto x = tensors({{2}, {2}}, boolean);
         x[0] + x[1];
       },
       "add: is not defined for bool; cast to a number, or use the logical ops"},
      {"WhereWithoutACondition", [] { where(tensor({2}), 1.0, 2.0); },
       "where: the condition must be bool, got f32; compare it with 0"},
      {"ShiftOfFloats", [] { tensor({2}) << 1; }, "shift_left: needs integers, got f32 and f32"},
      {"BitAndOfFloats",
       [] {
         const auto x = tensors({{2}, {2}});
         x[0] & x[1];
       },
       "bit_and: needs an integer or bool, got f32; cast it first"},
      {"ANumberThatDoesNotFit", [] { tensor({2}, i8) + 300; },
       "add: 300 does not fit i8, the tensor's dtype; cast the tensor to a wider one"},
      {"BitcastToAnotherWidth", [] { bitcast(tensor({2}, f32), i16); },
       "bitcast: f32 has 32 bits and i16 has 16; only equal widths can be reinterpreted"},
      {"BitcastToBool", [] { bitcast(tensor({2}, u8), boolean); },
       "bitcast: u8 has bit patterns that are no bool; compare with 0 instead"},
  };
}

std::vector<ErrorCase> reduction_cases() {
  return {
      {"SumOverAnAxisThatIsNotThere",
       [] {
         sum(tensor({2, 3}), 2);
       },
       "sum: axis 2 is out of range for rank 2; use -2 to 1"},
      {"SumOverARepeatedAxis",
       [] {
         sum(tensor({2, 3}), {1, -1});
       },
       "sum: axis 1 is named twice"},
      {"ArgmaxOfAnEmptyAxis",
       [] {
         argmax(tensor({2, 0}), 1);
       },
       "argmax: axis 1 of [2, 0] is empty"},
      {"SoftmaxOutOfRange", [] { softmax(tensor({2}), 1); },
       "softmax: axis 1 is out of range for rank 1; use -1 to 0"},
      {"CumsumOutOfRange", [] { cumsum(tensor({2}), 1); },
       "cumsum: axis 1 is out of range for rank 1; use -1 to 0"},
      {"TopkOfMoreThanThereIs", [] { topk(tensor({3}), 4); },
       "topk: cannot take 4 of 3 elements along axis -1"},
      {"LayerNormWithAForeignWeight",
       [] {
         const auto x = tensors({{2, 3}, {4}});
         layer_norm(x[0], x[1]);
       },
       "layer_norm: weight [4] does not match the last axes of [2, 3]"},
      {"RmsNormWithAForeignWeight",
       [] {
         const auto x = tensors({{2, 3}, {2}});
         rms_norm(x[0], x[1]);
       },
       "rms_norm: weight [2] does not match the last axis of [2, 3]"},
      {"GroupNormThatDoesNotDivide",
       [] {
         group_norm(tensor({1, 5, 2}), 2);
       },
       "group_norm: 5 channels do not divide into 2 groups"},
      {"BatchNormWithoutChannels",
       [] {
         const auto x = tensors({{3}, {3}, {3}});
         batch_norm(x[0], x[1], x[2]);
       },
       "batch_norm: needs a batch axis and a channel axis, got shape [3]"},
      {"ArangeWithStepZero", [] { arange(Graph(), 0, 5, 0); }, "arange: the step must not be 0"},
      {"LinspaceOfANegativeCount", [] { linspace(Graph(), 0, 1, -1); },
       "linspace: cannot make -1 values"},
      {"TrilOfAVector", [] { tril(tensor({3})); }, "tril: needs at least two axes, got shape [3]"},
      {"OneHotOfFloats", [] { one_hot(tensor({3}), 4); },
       "one_hot: needs integer classes, got f32; cast them to i64"},
      {"RandomIntegers", [] { rand(Graph(), {2}, 1, i32); },
       "rand: gives floats, not i32; cast the result"},
  };
}

TEST_P(ErrorTest, NamesOpValuesAndRemedy) {
  EXPECT_EQ(message_of(GetParam().program), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Movement, ErrorTest, testing::ValuesIn(movement_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Elementwise, ErrorTest, testing::ValuesIn(elementwise_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Reduction, ErrorTest, testing::ValuesIn(reduction_cases()), name_of);

}  // namespace
}  // namespace luminal::errors
