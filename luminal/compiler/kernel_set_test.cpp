#include "luminal/compiler/kernel_set.h"

#include <gtest/gtest.h>

namespace luminal::compiler {
namespace {

TEST(KernelUse, TextsAreInTheDimsOfThePlan) {
  const Expr past = Expr::variable("past", {0, 100}), swapped = Expr::variable("S0", {1, 4});
  const KernelUse use{.kernel = 0, .tensors = {}, .dims = {past, past + 1, Expr(7), swapped}};
  EXPECT_EQ(use.renamed("for r<S0 + 1:\n  s0 += t0[S2*i0]"), "for r<past + 1:\n  s0 += t0[7*i0]");
  EXPECT_EQ(use.renamed("2*S1 items"), "2*(past + 1) items");
  // A dim of the user's may be called like one of ours: it is replaced once.
  EXPECT_EQ(use.renamed("S3 x S0"), "S0 x past");
  EXPECT_EQ(use.renamed("S0a aS0 S_0 Sums s1 S"), "S0a aS0 S_0 Sums s1 S");
  EXPECT_EQ(use.renamed(std::string()), "");
}

}  // namespace
}  // namespace luminal::compiler
