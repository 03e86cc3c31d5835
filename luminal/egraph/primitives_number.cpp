// Primitives of i64 (checked: an overflow has no value) and f64 (IEEE, a zero divisor has no
// value).
#include <bit>
#include <cmath>

#include "luminal/egraph/primitive_families.h"

namespace luminal::egraph {
namespace {

using Args = std::span<const Value>;
using Checked = std::optional<int64_t>;

template <typename Compute>
void add_i64_binary(PrimitiveRegistry& registry, std::string name, Compute compute) {
  add(registry, std::move(name), takes({kI64Sort, kI64Sort}, kI64Sort),
      [compute](Evaluator& eval, Args args) {
        const Checked result = compute(eval.values.i64(args[0]), eval.values.i64(args[1]));
        return result ? eval.values.from_i64(*result) : kNoValue;
      });
}

template <typename Compute>
void add_i64_unary(PrimitiveRegistry& registry, std::string name, Compute compute) {
  add(registry, std::move(name), takes({kI64Sort}, kI64Sort),
      [compute](Evaluator& eval, Args args) {
        const Checked result = compute(eval.values.i64(args[0]));
        return result ? eval.values.from_i64(*result) : kNoValue;
      });
}

template <typename Compute>
void add_f64_binary(PrimitiveRegistry& registry, std::string name, Compute compute) {
  add(registry, std::move(name), takes({kF64Sort, kF64Sort}, kF64Sort),
      [compute](Evaluator& eval, Args args) {
        const std::optional<double> result =
            compute(eval.values.f64(args[0]), eval.values.f64(args[1]));
        return result ? eval.values.from_f64(*result) : kNoValue;
      });
}

template <typename Compute>
void add_f64_unary(PrimitiveRegistry& registry, std::string name, Compute compute) {
  add(registry, std::move(name), takes({kF64Sort}, kF64Sort),
      [compute](Evaluator& eval, Args args) {
        const std::optional<double> result = compute(eval.values.f64(args[0]));
        return result ? eval.values.from_f64(*result) : kNoValue;
      });
}

bool divides(int64_t a, int64_t b) { return b != 0 && !(a == INT64_MIN && b == -1); }

void add_i64_arithmetic(PrimitiveRegistry& registry) {
  add_i64_binary(registry, "+", [](int64_t a, int64_t b) {
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? Checked() : Checked(r);
  });
  add_i64_binary(registry, "-", [](int64_t a, int64_t b) {
    int64_t r;
    return __builtin_sub_overflow(a, b, &r) ? Checked() : Checked(r);
  });
  add_i64_binary(registry, "*", [](int64_t a, int64_t b) {
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? Checked() : Checked(r);
  });
  add_i64_binary(registry, "/",
                 [](int64_t a, int64_t b) { return divides(a, b) ? Checked(a / b) : Checked(); });
  add_i64_binary(registry, "%",
                 [](int64_t a, int64_t b) { return divides(a, b) ? Checked(a % b) : Checked(); });
  add_i64_binary(registry, "min", [](int64_t a, int64_t b) { return Checked(std::min(a, b)); });
  add_i64_binary(registry, "max", [](int64_t a, int64_t b) { return Checked(std::max(a, b)); });
  add_i64_unary(registry, "abs",
                [](int64_t a) { return a == INT64_MIN ? Checked() : Checked(std::abs(a)); });
  add_i64_unary(registry, "log2", [](int64_t a) {
    return a <= 0 ? Checked() : Checked(63 - std::countl_zero(static_cast<uint64_t>(a)));
  });
}

void add_i64_bits(PrimitiveRegistry& registry) {
  add_i64_binary(registry, "&", [](int64_t a, int64_t b) { return Checked(a & b); });
  add_i64_binary(registry, "|", [](int64_t a, int64_t b) { return Checked(a | b); });
  add_i64_binary(registry, "^", [](int64_t a, int64_t b) { return Checked(a ^ b); });
  add_i64_binary(registry, "<<", [](int64_t a, int64_t b) {
    if (b < 0 || b > 63) return Checked();
    return Checked(static_cast<int64_t>(static_cast<uint64_t>(a) << b));
  });
  add_i64_binary(registry, ">>", [](int64_t a, int64_t b) {
    return b < 0 || b > 63 ? Checked() : Checked(a >> b);
  });
  add_i64_unary(registry, "not-i64", [](int64_t a) { return Checked(~a); });
}

/// NaN is one value here and the largest, as the order of interned floats wants it.
struct OrderedFloat {
  double value;
  bool operator<(const OrderedFloat& other) const {
    if (std::isnan(value)) return false;
    return std::isnan(other.value) || value < other.value;
  }
};

/// The nearest integer toward zero, the ends of the range beyond it, 0 for NaN.
int64_t saturating_i64(double value) {
  if (std::isnan(value)) return 0;
  if (value >= 9223372036854775808.0) return INT64_MAX;
  if (value <= -9223372036854775808.0) return INT64_MIN;
  return static_cast<int64_t>(value);
}

}  // namespace

void add_i64_primitives(PrimitiveRegistry& registry) {
  add_i64_arithmetic(registry);
  add_i64_bits(registry);
  add_comparisons(registry, kI64Sort, true,
                  [](Evaluator& eval, Value value) { return eval.values.i64(value); });
  add(registry, "to-string", takes({kI64Sort}, kStringSort), [](Evaluator& eval, Args args) {
    return eval.values.from_string(std::to_string(eval.values.i64(args[0])));
  });
  add(registry, "to-f64", takes({kI64Sort}, kF64Sort), [](Evaluator& eval, Args args) {
    return eval.values.from_f64(static_cast<double>(eval.values.i64(args[0])));
  });
}

void add_f64_primitives(PrimitiveRegistry& registry) {
  using Partial = std::optional<double>;
  add_f64_unary(registry, "neg", [](double a) { return Partial(-a); });
  add_f64_unary(registry, "abs", [](double a) { return Partial(std::fabs(a)); });
  add_f64_unary(registry, "exp", [](double a) { return Partial(std::exp(a)); });
  add_f64_unary(registry, "log", [](double a) { return a > 0 ? Partial(std::log(a)) : Partial(); });
  add_f64_unary(registry, "sqrt",
                [](double a) { return a >= 0 ? Partial(std::sqrt(a)) : Partial(); });
  add_f64_binary(registry, "+", [](double a, double b) { return Partial(a + b); });
  add_f64_binary(registry, "-", [](double a, double b) { return Partial(a - b); });
  add_f64_binary(registry, "*", [](double a, double b) { return Partial(a * b); });
  add_f64_binary(registry, "/",
                 [](double a, double b) { return b == 0 ? Partial() : Partial(a / b); });
  add_f64_binary(registry, "%",
                 [](double a, double b) { return b == 0 ? Partial() : Partial(std::fmod(a, b)); });
  add_f64_binary(registry, "^", [](double a, double b) { return Partial(std::pow(a, b)); });
  add_f64_binary(registry, "min", [](double a, double b) {
    return Partial(OrderedFloat{b} < OrderedFloat{a} ? b : a);
  });
  add_f64_binary(registry, "max", [](double a, double b) {
    return Partial(OrderedFloat{a} < OrderedFloat{b} ? b : a);
  });
  add_comparisons(registry, kF64Sort, false, [](Evaluator& eval, Value value) {
    return OrderedFloat{eval.values.f64(value)};
  });
  add(registry, "to-i64", takes({kF64Sort}, kI64Sort), [](Evaluator& eval, Args args) {
    return eval.values.from_i64(saturating_i64(eval.values.f64(args[0])));
  });
  add(registry, "to-string", takes({kF64Sort}, kStringSort), [](Evaluator& eval, Args args) {
    return eval.values.from_string(float_debug_text(eval.values.f64(args[0])));
  });
}

}  // namespace luminal::egraph
