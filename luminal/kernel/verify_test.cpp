#include "luminal/kernel/verify.h"

#include <gtest/gtest.h>

#include "luminal/support/error.h"

namespace luminal::kernel {
namespace {

/// y[i] = sum_r exp(x[i, r] - max_r x[i, r]), by hand.
struct Example {
  Arena arena;
  Kernel kernel;
  BodyId most, total;
  Example() {
    const NodeId x{0}, y{1};
    arena.declare_tensor(x, {DType::kF32, {4, 8}});
    arena.declare_tensor(y, {DType::kF32, {4}});
    const Expr i = Expr::axis(0, 4), r = bound_axis(1, 0, 8), t = bound_axis(2, 0, 8);
    most = arena.reduce(Op::kReduceMax, {r}, arena.load(x, {i, r}));
    const BodyId minus = arena.constant(Scalar::of(DType::kF32, -1));
    const BodyId negated = arena.op(Op::kMul, DType::kF32, {most, minus});
    const BodyId shifted = arena.op(Op::kAdd, DType::kF32, {arena.load(x, {i, t}), negated});
    total = arena.reduce(Op::kSum, {t}, arena.op(Op::kExp, DType::kF32, {shifted}));
    kernel = {{i}, {{y, total, {i}}}};
  }
};

TEST(Verify, WhatIsBuiltIsSound) {
  Example example;
  EXPECT_TRUE(problems(example.arena, example.kernel).empty());
  for (bool online : {false, true})
    EXPECT_TRUE(
        problems(example.arena, build_nest(example.arena, example.kernel, {.online = online}))
            .empty());
}

/// The first problem that a broken nest has.
std::string broken(const std::function<void(Nest&)>& change, bool online = false) {
  Example example;
  Nest nest = build_nest(example.arena, example.kernel, {.online = online});
  change(nest);
  const std::vector<std::string> found = problems(example.arena, nest);
  return found.empty() ? "none" : found.front();
}

/// for i: reset m; for r; finish m; reset s; (let) for t; finish s; store
std::vector<Statement>& row(Nest& nest) { return nest.body.at(0).body; }

void erase(std::vector<Statement>& block, StatementKind kind) {
  const auto found =
      std::find_if(block.begin(), block.end(), [&](const Statement& s) { return s.kind == kind; });
  block.erase(found);
}

TEST(Verify, BrokenNestsAreNamed) {
  EXPECT_EQ(broken([](Nest&) {}), "none");
  EXPECT_EQ(broken([](Nest& nest) { erase(row(nest), StatementKind::kReset); }),
            "accumulator 0 is added to but was not reset");
  EXPECT_NE(broken([](Nest& nest) {
              erase(row(nest), StatementKind::kFinish);
            }).find("is read before it is computed"),
            std::string::npos);
  EXPECT_EQ(broken([](Nest& nest) { erase(row(nest), StatementKind::kStore); }),
            "root 0 is stored 0 times");
  EXPECT_EQ(broken([](Nest& nest) { nest.body.push_back(row(nest).back()); }),
            "root 0 is stored outside of its loops");
  EXPECT_NE(broken([](Nest& nest) { nest.body = row(nest); }).find("outside of the loops"),
            std::string::npos);
  EXPECT_EQ(broken([](Nest& nest) {
              Statement again = nest.body[0];
              again.body = nest.body;
              nest.body = {again};
            }),
            "an axis of 1 loops is looped over twice");
  EXPECT_EQ(broken([](Nest& nest) { erase(row(nest)[2].body, StatementKind::kOnlineStep); }, true),
            "accumulator 1 is rescaled before its maximum grows");
}

TEST(Verify, BrokenKernelsAreNamed) {
  Example example;
  const auto first = [&](const Kernel& kernel) {
    const std::vector<std::string> found = problems(example.arena, kernel);
    return found.empty() ? "none" : found.front();
  };
  Kernel no_axes = example.kernel;
  no_axes.axes.clear();
  EXPECT_EQ(first(no_axes), "root t1 uses axes that are no outputs");
  Kernel wrong_rank = example.kernel;
  wrong_rank.roots[0].store.clear();
  EXPECT_EQ(first(wrong_rank), "root t1 is stored at 0 positions");
  Kernel wrong_axis = example.kernel;
  wrong_axis.axes = {Expr::axis(1, 4)};
  EXPECT_EQ(first(wrong_axis), "output axis 0 is i1");
  EXPECT_THROW(verify(example.arena, no_axes), InternalError);
}

TEST(Verify, AnAxisIsNeverCaptured) {
  Example example;
  const Expr i = Expr::axis(0, 4);
  // Putting the axis of the maximum where it would be bound by it must not pass.
  const symbolic::Binding binding{i, bound_axis(1, 0, 8)};
  EXPECT_THROW(example.arena.substitute(example.most, std::span(&binding, 1)), InternalError);
}

}  // namespace
}  // namespace luminal::kernel
