// Primitives of BigInt and BigRat, on GMP. Results too large to be worth computing (shifts and
// powers beyond a million bits, numbers beyond two million) have no value, like other partial
// operations: a program that squares without end stops there.
#include "luminal/egraph/big_store.h"
#include "luminal/egraph/primitive_families.h"

namespace luminal::egraph {
namespace {

using Args = std::span<const Value>;
using MaybeInt = std::optional<mpz_class>;
using MaybeRat = std::optional<mpq_class>;

constexpr unsigned long kMaxBits = 1000000;
/// No number larger than this is kept. Operands are, so a single step cannot overshoot by much.
constexpr size_t kMaxKeptBits = size_t{1} << 21;

bool worth_keeping(const mpz_class& number) {
  return mpz_sizeinbase(number.get_mpz_t(), 2) <= kMaxKeptBits;
}

const mpz_class& integer(Evaluator& eval, Value value) { return eval.values.big().integers[value]; }
const mpq_class& rational(Evaluator& eval, Value value) {
  return eval.values.big().rationals[value];
}
Value add_integer(Evaluator& eval, const mpz_class& number) {
  return worth_keeping(number) ? eval.values.big().integers.add(number) : kNoValue;
}
Value add_rational(Evaluator& eval, mpq_class number) {
  number.canonicalize();
  if (!worth_keeping(number.get_num()) || !worth_keeping(number.get_den())) return kNoValue;
  return eval.values.big().rationals.add(number);
}

template <typename Compute>
void add_int_binary(PrimitiveRegistry& registry, std::string name, Compute compute) {
  add(registry, std::move(name), takes({kBigIntSort, kBigIntSort}, kBigIntSort),
      [compute](Evaluator& eval, Args args) {
        const MaybeInt result = compute(integer(eval, args[0]), integer(eval, args[1]));
        return result ? add_integer(eval, *result) : kNoValue;
      });
}

template <typename Compute>
void add_rat_binary(PrimitiveRegistry& registry, std::string name, Compute compute) {
  add(registry, std::move(name), takes({kBigRatSort, kBigRatSort}, kBigRatSort),
      [compute](Evaluator& eval, Args args) {
        const MaybeRat result = compute(rational(eval, args[0]), rational(eval, args[1]));
        return result ? add_rational(eval, *result) : kNoValue;
      });
}

template <typename Compute>
void add_rat_unary(PrimitiveRegistry& registry, std::string name, Compute compute) {
  add(registry, std::move(name), takes({kBigRatSort}, kBigRatSort),
      [compute](Evaluator& eval, Args args) {
        const MaybeRat result = compute(rational(eval, args[0]));
        return result ? add_rational(eval, *result) : kNoValue;
      });
}

mpz_class floor_of(const mpq_class& number) {
  mpz_class result;
  mpz_fdiv_q(result.get_mpz_t(), number.get_num_mpz_t(), number.get_den_mpz_t());
  return result;
}

/// Half away from zero.
mpz_class round_of(const mpq_class& number) {
  const mpq_class half(1, 2);
  return number < 0 ? mpz_class(-floor_of(-number + half)) : floor_of(number + half);
}

MaybeRat power(const mpq_class& base, const mpq_class& exponent) {
  if (exponent.get_den() != 1 || !exponent.get_num().fits_slong_p()) return std::nullopt;
  const long n = exponent.get_num().get_si();
  if (n < 0 && base == 0) return std::nullopt;
  const unsigned long size =
      n < 0 ? 0ul - static_cast<unsigned long>(n) : static_cast<unsigned long>(n);
  const size_t bits =
      mpz_sizeinbase(base.get_num_mpz_t(), 2) + mpz_sizeinbase(base.get_den_mpz_t(), 2);
  if (size > kMaxBits || size * bits > kMaxBits) return std::nullopt;
  mpz_class top, bottom;
  mpz_pow_ui(top.get_mpz_t(), base.get_num_mpz_t(), size);
  mpz_pow_ui(bottom.get_mpz_t(), base.get_den_mpz_t(), size);
  return n < 0 ? mpq_class(bottom, top) : mpq_class(top, bottom);
}

MaybeRat square_root(const mpq_class& number) {
  if (number < 0) return std::nullopt;
  if (!mpz_perfect_square_p(number.get_num_mpz_t()) ||
      !mpz_perfect_square_p(number.get_den_mpz_t()))
    return std::nullopt;
  return mpq_class(sqrt(number.get_num()), sqrt(number.get_den()));
}

void add_int_shifts(PrimitiveRegistry& registry) {
  add(registry, "<<", takes({kBigIntSort, kI64Sort}, kBigIntSort), [](Evaluator& eval, Args args) {
    const int64_t by = eval.values.i64(args[1]);
    if (by < 0 || static_cast<uint64_t>(by) > kMaxBits) return kNoValue;
    return add_integer(eval, integer(eval, args[0]) << static_cast<unsigned long>(by));
  });
  add(registry, ">>", takes({kBigIntSort, kI64Sort}, kBigIntSort), [](Evaluator& eval, Args args) {
    const int64_t by = eval.values.i64(args[1]);
    if (by < 0) return kNoValue;
    mpz_class result;
    mpz_fdiv_q_2exp(result.get_mpz_t(), integer(eval, args[0]).get_mpz_t(),
                    static_cast<unsigned long>(by));
    return add_integer(eval, result);
  });
}

void add_int_conversions(PrimitiveRegistry& registry) {
  add(registry, "bigint", takes({kI64Sort}, kBigIntSort), [](Evaluator& eval, Args args) {
    return add_integer(eval, mpz_class(std::to_string(eval.values.i64(args[0]))));
  });
  add(registry, "not-Z", takes({kBigIntSort}, kBigIntSort),
      [](Evaluator& eval, Args args) { return add_integer(eval, ~integer(eval, args[0])); });
  add(registry, "bits", takes({kBigIntSort}, kBigIntSort), [](Evaluator& eval, Args args) {
    const mpz_class& number = integer(eval, args[0]);
    const size_t bits = number == 0 ? 0 : mpz_sizeinbase(number.get_mpz_t(), 2);
    return add_integer(eval, mpz_class(static_cast<unsigned long>(bits)));
  });
  add(registry, "to-string", takes({kBigIntSort}, kStringSort), [](Evaluator& eval, Args args) {
    return eval.values.from_string(integer(eval, args[0]).get_str());
  });
  add(registry, "from-string", takes({kStringSort}, kBigIntSort), [](Evaluator& eval, Args args) {
    std::string_view text = eval.values.string(args[0]);
    if (!text.empty() && text[0] == '+') text.remove_prefix(1);
    const size_t sign = !text.empty() && text[0] == '-' ? 1 : 0;
    if (text.size() == sign || text.find_first_not_of("0123456789", sign) != std::string_view::npos)
      return kNoValue;
    // In base 10: left to itself, GMP takes a leading 0 for octal.
    return add_integer(eval, mpz_class(std::string(text), 10));
  });
}

void add_rat_conversions(PrimitiveRegistry& registry) {
  add(registry, "bigrat", takes({kBigIntSort, kBigIntSort}, kBigRatSort),
      [](Evaluator& eval, Args args) {
        if (integer(eval, args[1]) == 0) return kNoValue;
        return add_rational(eval, mpq_class(integer(eval, args[0]), integer(eval, args[1])));
      });
  add(registry, "numer", takes({kBigRatSort}, kBigIntSort), [](Evaluator& eval, Args args) {
    return add_integer(eval, rational(eval, args[0]).get_num());
  });
  add(registry, "denom", takes({kBigRatSort}, kBigIntSort), [](Evaluator& eval, Args args) {
    return add_integer(eval, rational(eval, args[0]).get_den());
  });
  add(registry, "to-f64", takes({kBigRatSort}, kF64Sort), [](Evaluator& eval, Args args) {
    return eval.values.from_f64(rational(eval, args[0]).get_d());
  });
  add(registry, "to-i64", takes({kBigRatSort}, kI64Sort), [](Evaluator& eval, Args args) {
    const mpq_class& number = rational(eval, args[0]);
    mpz_class whole;
    mpz_tdiv_q(whole.get_mpz_t(), number.get_num_mpz_t(), number.get_den_mpz_t());
    return whole.fits_slong_p() ? eval.values.from_i64(whole.get_si()) : kNoValue;
  });
}

}  // namespace

void add_bigint_primitives(PrimitiveRegistry& registry) {
  using Int = const mpz_class&;
  add_int_conversions(registry);
  add_int_binary(registry, "+", [](Int a, Int b) { return MaybeInt(a + b); });
  add_int_binary(registry, "-", [](Int a, Int b) { return MaybeInt(a - b); });
  add_int_binary(registry, "*", [](Int a, Int b) { return MaybeInt(a * b); });
  add_int_binary(registry, "/", [](Int a, Int b) { return b == 0 ? MaybeInt() : MaybeInt(a / b); });
  add_int_binary(registry, "%", [](Int a, Int b) { return b == 0 ? MaybeInt() : MaybeInt(a % b); });
  add_int_binary(registry, "&", [](Int a, Int b) { return MaybeInt(a & b); });
  add_int_binary(registry, "|", [](Int a, Int b) { return MaybeInt(a | b); });
  add_int_binary(registry, "^", [](Int a, Int b) { return MaybeInt(a ^ b); });
  add_int_binary(registry, "min", [](Int a, Int b) { return MaybeInt(b < a ? b : a); });
  add_int_binary(registry, "max", [](Int a, Int b) { return MaybeInt(a < b ? b : a); });
  add_int_shifts(registry);
  add_comparisons(registry, kBigIntSort, true,
                  [](Evaluator& eval, Value value) { return integer(eval, value); });
}

void add_bigrat_primitives(PrimitiveRegistry& registry) {
  using Rat = const mpq_class&;
  add_rat_conversions(registry);
  add_rat_binary(registry, "+", [](Rat a, Rat b) { return MaybeRat(a + b); });
  add_rat_binary(registry, "-", [](Rat a, Rat b) { return MaybeRat(a - b); });
  add_rat_binary(registry, "*", [](Rat a, Rat b) { return MaybeRat(a * b); });
  add_rat_binary(registry, "/", [](Rat a, Rat b) { return b == 0 ? MaybeRat() : MaybeRat(a / b); });
  add_rat_binary(registry, "min", [](Rat a, Rat b) { return MaybeRat(b < a ? b : a); });
  add_rat_binary(registry, "max", [](Rat a, Rat b) { return MaybeRat(a < b ? b : a); });
  add_rat_binary(registry, "pow", [](Rat a, Rat b) { return power(a, b); });
  add_rat_unary(registry, "neg", [](Rat a) { return MaybeRat(-a); });
  add_rat_unary(registry, "abs", [](Rat a) { return MaybeRat(abs(a)); });
  add_rat_unary(registry, "floor", [](Rat a) { return MaybeRat(floor_of(a)); });
  add_rat_unary(registry, "ceil", [](Rat a) { return MaybeRat(-floor_of(-a)); });
  add_rat_unary(registry, "round", [](Rat a) { return MaybeRat(round_of(a)); });
  add_rat_unary(registry, "sqrt", [](Rat a) { return square_root(a); });
  // Only where the result is rational without doubt; everything else has no value.
  add_rat_unary(registry, "log",
                [](Rat a) { return a == 1 ? MaybeRat(mpq_class(0)) : MaybeRat(); });
  add_rat_unary(registry, "cbrt",
                [](Rat a) { return a == 1 ? MaybeRat(mpq_class(1)) : MaybeRat(); });
  add_comparisons(registry, kBigRatSort, false,
                  [](Evaluator& eval, Value value) { return rational(eval, value); });
}

}  // namespace luminal::egraph
