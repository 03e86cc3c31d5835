// Convolutions as generated products: windows are packed as they are read.
#include "checks.h"

namespace luminal::codegen {
namespace {

TEST(ConvolutionKernel, WindowsStridesPaddingAndGroups) {
  struct Case {
    int64_t batch, in, out, height, width, kernel, stride, padding, dilation, groups;
  };
  size_t turn = 0;
  for (const Case& each :
       {Case{1, 3, 8, 9, 9, 3, 1, 0, 1, 1}, Case{2, 3, 5, 11, 20, 3, 1, 1, 1, 1},
        Case{1, 4, 8, 40, 17, 3, 2, 1, 1, 1}, Case{2, 6, 12, 7, 7, 1, 1, 0, 1, 1},
        Case{1, 6, 12, 9, 5, 3, 1, 1, 1, 3}, Case{1, 4, 4, 14, 14, 5, 1, 2, 1, 4},
        Case{1, 2, 3, 20, 33, 3, 1, 2, 2, 1}, Case{1, 1, 7, 3, 2, 3, 1, 1, 1, 1}})
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      SCOPED_TRACE(fmt::format("{} channels {} to {} of {}x{} kernel {} stride {} padding {}",
                               dtype, each.in, each.out, each.height, each.width, each.kernel,
                               each.stride, each.padding));
      Graph g;
      Tensor x = g.input("x", {each.batch, each.in, each.height, each.width}, dtype);
      Tensor w = g.input("w", {each.out, each.in / each.groups, each.kernel, each.kernel}, dtype);
      Tensor y = conv2d(x, w, g.input("b", {each.out}, dtype),
                        {.stride = {each.stride},
                         .padding = {Padding{each.padding, each.padding}},
                         .dilation = {each.dilation},
                         .groups = each.groups});
      const kernel::test::Closeness near{dtype == DType::kF32 ? 1e-4 : 5e-2, 1e-2};
      // Windows are the same in every dtype, so the second one goes by turns.
      if (dtype == DType::kF32)
        check_all(sample_of({relu(y)}), near);
      else
        check_in_turn(sample_of({relu(y)}), turn++, near);
      if (HasFailure()) return;
    }
}

TEST(ConvolutionKernel, OneAndThreeAxes) {
  Graph g;
  check_all(sample_of({conv1d(g.input("x", {2, 5, 50}), g.input("w", {6, 5, 4}))}));
  check_all(sample_of({conv3d(g.input("v", {1, 2, 5, 6, 7}), g.input("u", {4, 2, 2, 3, 3}))}));
}

TEST(ConvolutionKernel, SymbolicBatch) {
  Graph g;
  Tensor x = g.input("x", {g.dim("b"), 3, 10, 18});
  Tensor y = relu(conv2d(x, g.input("w", {8, 3, 3, 3}), {}, {.padding = {Padding{1, 1}}}));
  for (const int64_t batch : {0, 1, 3}) check_all(sample_of({y}, {{"b", batch}}));
}

}  // namespace
}  // namespace luminal::codegen
