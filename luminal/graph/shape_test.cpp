#include "luminal/graph/shape.h"

#include <gtest/gtest.h>

#include "luminal/graph/ops.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

TEST(Shape, CountsElementsAndPrints) {
  const Expr seq = Expr::variable("seq");
  const Shape shape{2, seq, seq + 1};
  EXPECT_EQ(element_count(shape), 2 * seq * (seq + 1));
  EXPECT_EQ(element_count(Shape{}), Expr(1));
  EXPECT_EQ(to_string(Shape{}), "[]");
  EXPECT_EQ(to_string(Shape{2, seq}), "[2, seq]");
}

TEST(Shape, AxesCountFromEitherEnd) {
  EXPECT_EQ(normalize_axis("sum", 0, 3), 0);
  EXPECT_EQ(normalize_axis("sum", 2, 3), 2);
  EXPECT_EQ(normalize_axis("sum", -1, 3), 2);
  EXPECT_EQ(normalize_axis("sum", -3, 3), 0);
  try {
    normalize_axis("sum", 3, 3);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "sum: axis 3 is out of range for rank 3; use -3 to 2");
  }
  try {
    normalize_axis("sum", -1, 0);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(), "sum: axis -1 is out of range: the tensor has rank 0 and no axes");
  }
}

TEST(Ops, NamesReadBack) {
  for (const OpInfo& row : kOps) EXPECT_EQ(op_from_name(row.name), row.op);
  EXPECT_EQ(op_from_name("no_such_op"), std::nullopt);
  EXPECT_EQ(name(ScatterMode::kSet), "set");
  EXPECT_EQ(name(ScatterMode::kMin), "min");
}

}  // namespace
}  // namespace luminal::graph
