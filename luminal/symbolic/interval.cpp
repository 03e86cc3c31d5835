#include "luminal/symbolic/interval.h"

#include <algorithm>
#include <initializer_list>

#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

constexpr int64_t kNegInf = Interval::kNegInf;
constexpr int64_t kPosInf = Interval::kPosInf;

bool is_infinite(int64_t value) { return value == kNegInf || value == kPosInf; }

int64_t saturate(Int128 value) {
  if (value <= kNegInf) return kNegInf;
  if (value >= kPosInf) return kPosInf;
  return static_cast<int64_t>(value);
}

// An infinite bound of a sum stays infinite; the two ends are never mixed.
int64_t add_bound(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (is_infinite(b)) return b;
  return saturate(Int128{a} + b);
}

// 0 * infinity is 0: the bound is approached by finite values only.
int64_t multiply_bound(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  if (is_infinite(a) || is_infinite(b)) return (a < 0) == (b < 0) ? kPosInf : kNegInf;
  return saturate(Int128{a} * b);
}

int64_t power_bound(int64_t a, int32_t k) {
  int64_t product = a;
  for (int32_t i = 1; i < k; ++i) product = multiply_bound(product, a);
  return product;
}

// b > 0.
int64_t divide_bound(int64_t a, int64_t b) {
  if (is_infinite(a)) return a;
  if (b == kPosInf) return a < 0 ? -1 : 0;
  return checked_floor_div(a, b);
}

Interval span_of(std::initializer_list<int64_t> values) {
  return {std::min(values), std::max(values)};
}

Interval negate(Interval a) { return multiply(a, {-1, -1}); }

Interval divide_by_positive(Interval a, Interval b) {
  return span_of({divide_bound(a.lo, b.lo), divide_bound(a.lo, b.hi), divide_bound(a.hi, b.lo),
                  divide_bound(a.hi, b.hi)});
}

}  // namespace

Interval add(Interval a, Interval b) { return {add_bound(a.lo, b.lo), add_bound(a.hi, b.hi)}; }

Interval multiply(Interval a, Interval b) {
  return span_of({multiply_bound(a.lo, b.lo), multiply_bound(a.lo, b.hi),
                  multiply_bound(a.hi, b.lo), multiply_bound(a.hi, b.hi)});
}

Interval power(Interval a, int32_t k) {
  const int64_t lo = power_bound(a.lo, k), hi = power_bound(a.hi, k);
  if (k % 2 != 0 || a.lo >= 0) return {lo, hi};
  return {a.hi <= 0 ? hi : 0, std::max(lo, hi)};
}

Interval floor_divide(Interval a, Interval b) {
  if (b.lo >= 0)
    return divide_by_positive(a, {std::max<int64_t>(b.lo, 1), std::max<int64_t>(b.hi, 1)});
  if (b.hi <= 0) return floor_divide(negate(a), negate(b));
  const Interval up = divide_by_positive(a, {1, b.hi});
  const Interval down = divide_by_positive(negate(a), {1, negate(b).hi});
  return {std::min(up.lo, down.lo), std::max(up.hi, down.hi)};
}

Interval intersect(Interval a, Interval b) {
  const Interval both{std::max(a.lo, b.lo), std::min(a.hi, b.hi)};
  return both.lo <= both.hi ? both : a;
}

}  // namespace luminal::symbolic
