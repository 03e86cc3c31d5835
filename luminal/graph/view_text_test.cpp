#include <gtest/gtest.h>

#include <string>

#include "luminal/graph/view.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

const Expr kN = Expr::variable("n", {1, 1000});
const Expr kM = Expr::variable("m", {1, 1000});
const Expr kPast = Expr::variable("past", {0, 1000});
const Scalar kZero = Scalar::of(DType::kF32, 0.0);

View padded(const View& view, int axis, Expr before, Expr after) {
  return view.pad(axis, before, after, kZero).value();
}

symbolic::Resolver named_dims() {
  return [](std::string_view name) -> std::optional<Expr> {
    for (const Expr& dim : {kN, kM, kPast})
      if (dim.name() == name) return dim;
    return std::nullopt;
  };
}

TEST(ViewText, IsReadable) {
  EXPECT_EQ(View().to_string(), "() -> ()");
  EXPECT_EQ(View::identity({2, 3}).permute(std::vector{1, 0}).to_string(), "(i0, i1) -> (i1, i0)");
  EXPECT_EQ(padded(View::identity({kN}), 0, 1, 2).to_string(),
            "(i0) -> (i0 - 1) where 0 <= i0 - 1 < n else 0");
  EXPECT_EQ(padded(View::identity({kN}), 0, 2, 0).to_string(),
            "(i0) -> (i0 - 2) where 0 <= i0 - 2 < n else 0");
}
TEST(ViewText, ReadsBackWithSymbolsConditionsAndFills) {
  const View pads = View::identity({kN, kM}).pad(0, kPast, 1, Scalar::lowest(DType::kF16)).value();
  for (const View& view :
       {View(), View::identity({kN}), View::identity({kN, kM}).merge(0, 2), pads,
        pads.pad(1, 2, 2, Scalar::lowest(DType::kF16)).value(), pads.merge(0, 2),
        View::identity({kN, kM}).diagonal(0, 1, 2), View::identity({4}).slice(0, 1, 1)})
    EXPECT_EQ(
        View::parse(view.to_string(), view.source(), view.domain(), DType::kF16, named_dims()),
        view)
        << view.to_string();
}
TEST(ViewText, WhatCannotBeReadIsSaid) {
  const auto error_of = [](std::string_view text) -> std::string {
    try {
      View::parse(text, {3, 4}, {4, 3}, DType::kF32, named_dims());
    } catch (const UserError& error) {
      return error.what();
    }
    return "no error";
  };
  const std::string cannot = "view: cannot read ";
  EXPECT_EQ(error_of("(i0, i1)"), cannot + "\"(i0, i1)\": expected (axes) -> (index)");
  EXPECT_EQ(error_of("i0 -> (i1, i0)"),
            cannot + "\"i0 -> (i1, i0)\": expected a list in parentheses");
  EXPECT_EQ(error_of("(i1, i0) -> (i1, i0)"),
            cannot + "\"(i1, i0) -> (i1, i0)\": the axes must be i0, i1, ... in order");
  EXPECT_EQ(error_of("(i0) -> (0, i0)"),
            cannot + "\"(i0) -> (0, i0)\": 1 axes for the domain [4, 3]");
  EXPECT_EQ(error_of("(i0, i1) -> (i1)"),
            cannot + "\"(i0, i1) -> (i1)\": 1 index expressions for the source [3, 4]");
  EXPECT_EQ(error_of("(i0, i1) -> (i1, i0) where 0 <= i0 < 2"),
            cannot +
                "\"(i0, i1) -> (i1, i0) where 0 <= i0 < 2\": expected conditions, then "
                "\"else\" and the fill");
  EXPECT_EQ(error_of("(i0, i1) -> (i1, i0) where i0 < 2 else 0"),
            cannot +
                "\"(i0, i1) -> (i1, i0) where i0 < 2 else 0\": \"i0 < 2\" is no condition 0 "
                "<= value < extent");
  EXPECT_NE(error_of("(i0, i1) -> (i1, i7)").find("i7"), std::string::npos);
}
}  // namespace
}  // namespace luminal::graph
