// Random index expressions of the kind that view algebra builds, and random values for their
// symbols.
#pragma once

#include <random>
#include <vector>

#include "luminal/support/error.h"
#include "tests/rules/view_corpus.h"

namespace luminal::rules {

/// A source of views, expressions and values with a fixed seed.
class RandomViews {
 public:
  explicit RandomViews(uint64_t seed) : random_(seed) {}

  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(random_() % static_cast<uint64_t>(hi - lo + 1));
  }

  /// A dim: a number, a variable, or a sum or product with one.
  Expr dim() {
    const Expr variables[] = {corpus::batch(), corpus::seq(), corpus::past() + 1, corpus::width()};
    const int64_t numbers[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 96};
    const Expr variable = variables[between(0, 3)], number = numbers[between(0, 9)];
    switch (between(0, 5)) {
      case 0:
        return variable;
      case 1:
        return variable * number;
      default:
        return number;
    }
  }

  /// A view of a few random steps.
  View view() {
    Shape source;
    for (int64_t k = between(1, 4); k > 0; --k) source.push_back(dim());
    View result = View::identity(source);
    for (int64_t k = between(1, 6); k > 0; --k) {
      try {
        if (auto next = step(result)) result = *std::move(next);
      } catch (const UserError&) {
        // The step does not fit the shape, so the view stays as it is.
      }
    }
    return result;
  }

  /// An expression over the axes of a view's domain and named dims.
  Expr expr(const std::vector<Expr>& symbols, int depth) {
    if (depth == 0) {
      const int64_t pick = between(0, static_cast<int64_t>(symbols.size()) + 1);
      return pick < static_cast<int64_t>(symbols.size()) ? symbols[static_cast<size_t>(pick)]
                                                         : Expr(between(-20, 20));
    }
    const Expr a = expr(symbols, depth - 1), b = expr(symbols, depth - 1);
    const int64_t divisors[] = {2, 3, 4, 7, 8, 12, 64, 96};
    const Expr divisor = between(0, 3) == 0 ? corpus::seq() : Expr(divisors[between(0, 7)]);
    switch (between(0, 10)) {
      case 0:
        return a - b;
      case 1:
        return a * between(-8, 8) + b;
      case 2:
        return floor_div(a, divisor);
      case 3:
        return mod(a, divisor) + b;
      case 4:
        return symbolic::min(a, b);
      case 5:
        return symbolic::max(a, b) * between(1, 4);
      case 6:
        return symbolic::less(a, b);
      case 7:
        return symbolic::select(symbolic::equal(mod(a, 2), 0), a, b);
      case 8:
        return symbolic::logical_or(symbolic::less(a, b), symbolic::equal(a, b + 1));
      case 9:
        return symbolic::logical_and(symbolic::less_equal(0, a), symbolic::less(a, divisor));
      default:
        return a + b;
    }
  }

  /// Values of the symbols of some expressions; nothing if an axis has no value.
  std::optional<symbolic::Values> values(std::span<const Expr> exprs) {
    symbolic::Values values;
    for (const Expr& variable :
         {corpus::batch(), corpus::seq(), corpus::past(), corpus::height(), corpus::width()})
      values[variable.name()] = between(variable.bounds().lo, between(0, 1) == 0 ? 5 : 40);
    for (const Expr& expr : exprs) {
      for (const Expr& axis : expr.axes()) {
        const int64_t extent = symbolic::evaluate(axis.axis_extent(), values);
        if (extent <= 0) return std::nullopt;
        if (!values.contains(axis.name())) values[axis.name()] = between(0, extent - 1);
      }
    }
    return values;
  }

 private:
  std::optional<View> step(const View& view) {
    if (view.rank() == 0) return std::nullopt;
    const int axis = static_cast<int>(between(0, view.rank() - 1));
    const Expr extent = view.domain()[static_cast<size_t>(axis)];
    switch (between(0, 8)) {
      case 0:
        return view.merge(0, view.rank());
      case 1:
        return axis + 1 < view.rank() ? std::optional(view.merge(axis, 2)) : std::nullopt;
      case 2: {
        const Expr inner = between(2, 8);
        const auto outer = symbolic::exact_div(extent, inner);
        if (!outer) return std::nullopt;
        return corpus::split(view, axis, {*outer, inner});
      }
      case 3: {
        std::vector<int> axes;
        for (int k = 0; k < view.rank(); ++k) axes.push_back((k + axis) % view.rank());
        return view.permute(axes);
      }
      case 4:
        return view.window(axis, between(1, 3), between(1, 2), between(1, 2));
      case 5:
        return view.flip(axis);
      case 6:
        return view.pad(axis, between(0, 2), between(0, 2), graph::Scalar());
      case 7:
        return view.slice(axis, between(0, 1), extent, between(1, 2));
      default:
        return view.insert_axis(axis, dim());
    }
  }

  std::mt19937_64 random_;
};

}  // namespace luminal::rules
