#include "luminal/tensor/effects.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "luminal/graph/npy.h"
#include "luminal/tensor/arithmetic.h"
#include "luminal/tensor/movement.h"
#include "luminal/tensor/test_support.h"

namespace luminal {
namespace {

using test::Data;
using test::expect_error;
using test::expect_type;
using test::expect_values;
using test::matrix;
using test::run;
using test::vector;

TEST(Effects, PrintWritesTheLabelAndGivesItsOperand) {
  Graph g;
  std::ostringstream text;
  Tensor x = transpose(matrix(g, {2, 3}, {1, 2, 3, 4, 5, 6}, f16));
  Tensor y = print(x, "the matrix") + 1;
  expect_type(y, "f16[3, 2]");
  expect_values(run(y, {.text = &text}), {3, 2}, {2, 5, 3, 6, 4, 7});
  EXPECT_NE(text.str().find("the matrix"), std::string::npos) << text.str();
  EXPECT_NE(text.str().find("f16"), std::string::npos) << text.str();
}

TEST(Effects, PrintOfEmptyTensorsDoesNotFail) {
  Graph g;
  std::ostringstream text;
  expect_values(run(print(g.constant(Array(f32, {0, 2})), "none"), {.text = &text}), {0, 2}, {});
  EXPECT_NE(text.str().find("none"), std::string::npos);
}

TEST(Effects, DiffReportsTheDistance) {
  Graph g;
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("luminal_effects_{}.npy", ::getpid()))
          .string();
  graph::save_npy(path, test::array(f32, {3}, {1, 2, 3}));
  std::ostringstream same, different;
  expect_values(run(diff(vector(g, {1, 2, 3}), path), {.text = &same}), {3}, {1, 2, 3});
  expect_values(run(diff(vector(g, {1, 2.5, 3}), path), {.text = &different}), {3}, {1, 2.5, 3});
  EXPECT_NE(same.str(), different.str());
  EXPECT_NE(different.str().find("0.5"), std::string::npos) << different.str();
  std::filesystem::remove(path);
}

TEST(Effects, GraphBreakIsTheIdentityAsANodeOfItsOwn) {
  Graph g;
  Tensor x = vector(g, {1, 2}, i8);
  Tensor y = graph_break(x);
  EXPECT_FALSE(y.is(x));
  expect_type(y, "i8[2]");
  expect_values(y, {1, 2});
}

TEST(Effects, CustomFunctionsSeeContiguousOperands) {
  Graph g;
  Tensor x = transpose(matrix(g, {2, 2}, {1, 2, 3, 4}));
  Tensor y = custom("weigh", {x, vector(g, {10}, i32)}, f64, {4},
                    [](std::span<const Array> operands, Array& result) {
                      const int32_t factor = operands[1].as<int32_t>()[0];
                      for (size_t i = 0; i < 4; ++i)
                        result.mutable_as<double>()[i] =
                            static_cast<double>(operands[0].as<float>()[i]) * factor;
                    });
  expect_type(y, "f64[4]");
  expect_values(y, {10, 30, 20, 40});
}

TEST(Effects, CustomFunctionsOfSymbolicShape) {
  Graph g;
  Dim n = g.dim("n");
  Tensor x = g.input("x", {n});
  Tensor y = custom("twice", {x}, f32, {n * 2}, [](std::span<const Array> operands, Array& result) {
    for (size_t i = 0; i < result.mutable_as<float>().size(); ++i)
      result.mutable_as<float>()[i] = operands[0].as<float>()[i / 2];
  });
  expect_values(run(y, {.inputs = {{"x", test::counting(f32, {2})}}}), {4}, {0, 0, 1, 1});
  expect_values(run(y, {.inputs = {{"x", Array(f32, {0})}}}), {0}, {});
}

TEST(Effects, CustomErrors) {
  Graph g, h;
  auto nothing = [](std::span<const Array>, Array&) {};
  expect_error([&] { custom("", {vector(g, {1})}, f32, {}, nothing); },
               "custom: a custom op needs a name");
  expect_error([&] { diff(vector(g, {1}), "file.npy", -1); },
               "diff: tolerances must not be negative, got atol -1 and rtol 1e-05");
  expect_error([&] { custom("f", {}, f32, {}, nothing); },
               "f: a custom op needs at least one operand");
  expect_error([&] { custom("f", {vector(g, {1})}, f32, {}, nullptr); },
               "f: the function of a custom op must not be empty");
  expect_error(
      [&] {
        custom("f", {vector(g, {1}), vector(h, {1})}, f32, {}, nothing);
      },
      "f: operands belong to different graphs");
}

}  // namespace
}  // namespace luminal
