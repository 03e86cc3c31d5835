#include "luminal/search/kernel_expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "luminal/codegen/llvm/few_digits.h"
#include "luminal/graph/elements.h"
#include "luminal/graph/epsilon.h"
#include "luminal/graph/expected.h"
#include "luminal/kernel/estimate.h"
#include "luminal/kernel/reads.h"

namespace luminal::search {
namespace {

using graph::Array;
using graph::DType;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double element(const Array& array, int64_t position) {
  const graph::Scalar scalar = array.at(position);
  return graph::is_float(array.dtype()) ? scalar.as_double()
                                        : static_cast<double>(scalar.as_int64());
}

/// How many elements are compared at a time.
constexpr int64_t kBlock = 1024;

/// Elements from a position on, as numbers.
void load_elements(const Array& array, int64_t begin, int64_t count, std::vector<double>& numbers) {
  const graph::ElementRun run{.position = begin, .count = count};
  numbers.resize(static_cast<size_t>(count));
  if (graph::is_float(array.dtype()))
    return graph::load(array.dtype(), array.bytes().data(), run, numbers.data());
  std::vector<int64_t> integers(numbers.size());
  graph::load(array.dtype(), array.bytes().data(), run, integers.data());
  std::copy(integers.begin(), integers.end(), numbers.begin());
}

/// What a dtype makes of a number. Integers are rounded by what computes them.
double rounded(DType dtype, double value) {
  return graph::is_float(dtype) ? kernel::Evaluator::rounded(dtype, {value, 0}).real : value;
}

/// How far off a value is for one that should be `expected`, as a part of what is allowed; what
/// rounding `expected` costs does not count.
double distance(DType dtype, double actual, double expected, double allowed) {
  const double should = rounded(dtype, expected);
  if (actual == should || (std::isnan(actual) && std::isnan(should))) return 0.0;
  if (!std::isfinite(actual) || !std::isfinite(should)) return kInfinity;
  if (actual >= rounded(dtype, expected - allowed) && actual <= rounded(dtype, expected + allowed))
    return std::min(std::abs(actual - expected) / allowed, 1.0);
  return allowed > 0 ? std::max(std::abs(actual - expected) / allowed, 1.001) : kInfinity;
}

/// Some of the positions at which two results differ, if there are more than `most`: from
/// everywhere, and those where they differ most.
std::vector<int64_t> worth_asking(const std::vector<int64_t>& positions, const Array& one,
                                  const Array& other, size_t most) {
  if (positions.size() <= most) return positions;
  std::vector<int64_t> result;
  const size_t step = 2 * (positions.size() + most - 1) / most;
  for (size_t k = 0; k < positions.size(); k += step) result.push_back(positions[k]);
  std::vector<std::pair<double, int64_t>> apart;
  for (const int64_t position : positions) {
    const double distance = std::abs(element(one, position) - element(other, position));
    apart.emplace_back(std::isnan(distance) ? kInfinity : distance, position);
  }
  const auto last = apart.begin() + static_cast<std::ptrdiff_t>(most - most / 2);
  std::ranges::partial_sort(apart, last, std::greater());
  for (auto each = apart.begin(); each != last; ++each) result.push_back(each->second);
  return result;
}

/// The corners first, then anywhere.
std::vector<int64_t> position(const std::vector<int64_t>& extents, int number,
                              std::mt19937_64& random) {
  std::vector<int64_t> result;
  for (const int64_t extent : extents) {
    if (number == 0)
      result.push_back(0);
    else if (number == 1)
      result.push_back(extent - 1);
    else
      result.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(extent)));
  }
  return result;
}

}  // namespace

/// The oracle and those that say how far from it one may be, on the data of an expectation.
class KernelExpectation::Oracles {
 public:
  explicit Oracles(const KernelExpectation& of)
      : arena_(*of.arena_),
        kernel_(*of.kernel_),
        oracle_(*of.arena_, *of.kernel_, of.dims_, of.data_),
        wide_(*of.arena_, *of.kernel_, of.dims_, of.data_, PointRounding::kWide),
        first_(*of.arena_, *of.kernel_, of.dims_, of.data_, PointRounding::kMoved, of.seed_ + 1),
        second_(*of.arena_, *of.kernel_, of.dims_, of.data_, PointRounding::kMoved, of.seed_ + 2),
        far_(*of.arena_, *of.kernel_, of.dims_, of.data_, PointRounding::kMoved, of.seed_ + 3,
             kFar) {}

  PointOracle& oracle() { return oracle_; }

  /// Who stores an element, and at which position of the axes, if that is found: several roots may
  /// store parts of one tensor.
  std::pair<size_t, std::optional<std::vector<int64_t>>> place_of(size_t root, int64_t position) {
    const std::vector<kernel::Root>& roots = kernel_.roots;
    for (size_t k = 0; k < roots.size(); ++k)
      if (roots[k].tensor == roots[root].tensor)
        if (auto axes = oracle_.axes_of(k, position)) return {k, std::move(axes)};
    return {root, std::nullopt};
  }

  /// All roots at one position of the axes.
  std::vector<Point> at(const std::vector<int64_t>& axes) {
    return points_of(axes, {first_.at(axes), second_.at(axes)}, 1.0);
  }
  /// The same with so many moved runs, moved farther: a right candidate is one or two deviations
  /// off, and where that makes a jump some of the runs jump as well.
  std::vector<Point> at_with_many(const std::vector<int64_t>& axes, int runs) {
    std::vector<std::vector<PointValue>> moved;
    for (int run = 0; run < runs; ++run) {
      far_.forget();
      moved.push_back(far_.at(axes));
    }
    return points_of(axes, moved, kFar);
  }

 private:
  // So that the farthest of kManyRuns lies about as far as results may be off.
  static constexpr double kFar = kDeviations / 2;

  /// `moved` are moved by `scale` times what rounding costs.
  std::vector<Point> points_of(const std::vector<int64_t>& axes,
                               const std::vector<std::vector<PointValue>>& moved, double scale) {
    const std::vector<PointValue> written = oracle_.at(axes);
    const std::vector<PointValue> exact = wide_.at(axes);
    std::vector<Point> points;
    for (size_t p = 0; p < written.size(); ++p) {
      double squares = 0;
      Point& point = points.emplace_back(Point{.root = written[p].root,
                                               .position = written[p].position,
                                               .oracle = written[p].value,
                                               .wide = exact[p].value,
                                               .integer = written[p].integer,
                                               .low = written[p].value,
                                               .high = written[p].value,
                                               .least = written[p].integer,
                                               .most = written[p].integer});
      widen(point, exact[p]);
      // What is made of a product that left the range may be anything.
      const auto [to_infinity, to_zero] = wide_.escapes();
      point.may_overflow = to_infinity || (to_zero && !stores_product(point.root));
      point.may_vanish = to_zero || (to_infinity && !stores_product(point.root));
      for (const std::vector<PointValue>& each : moved) {
        const bool is_same = each[p].value == exact[p].value ||  // infinities may be equal
                             (std::isnan(each[p].value) && std::isnan(exact[p].value));
        const double apart = each[p].value - exact[p].value;
        if (!is_same) squares += apart * apart;
        widen(point, each[p]);
      }
      point.deviation = std::sqrt(squares / static_cast<double>(moved.size())) / scale;
    }
    return points;
  }
  /// Whether a result is a product of many factors itself.
  bool stores_product(size_t root) const {
    kernel::BodyId id = kernel_.roots[root].value;
    while (arena_[id].kind == kernel::BodyKind::kOp && arena_[id].op == graph::Op::kCast)
      id = arena_[id].children[0];
    return is_product(arena_[id]);
  }
  static void widen(Point& point, const PointValue& run) {
    point.low = std::min(point.low, run.value);
    point.high = std::max(point.high, run.value);
    point.least = std::min(point.least, run.integer);
    point.most = std::max(point.most, run.integer);
  }

  const kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  PointOracle oracle_;
  PointOracle wide_;
  PointOracle first_;
  PointOracle second_;
  PointOracle far_;
};

KernelExpectation::KernelExpectation(const kernel::Arena& arena, const kernel::Kernel& kernel,
                                     const graph::DimValues& dims, DataKind kind, uint64_t seed,
                                     const PointCounts& counts, const KernelExpectation* ordinary)
    : arena_(&arena),
      kernel_(&kernel),
      dims_(dims),
      kind_(kind),
      seed_(seed),
      data_(random_tensors(arena, kernel, dims, kind, seed)),
      typical_(kernel.roots.size(), 0.0),
      relative_(kernel.roots.size(), 0.0),
      largest_(kernel.roots.size(), 0.0) {
  bool has_reductions = false;
  bool has_masks = false;
  for (const kernel::BodyId id : kernel::bodies_of(arena, kernel)) {
    const kernel::BodyNode& node = arena[id];
    const bool is_op = node.kind == kernel::BodyKind::kOp;
    has_functions_ = has_functions_ || (is_op && kernel::is_function(node.op));
    has_reductions = has_reductions || node.kind == kernel::BodyKind::kReduce;
    jumps_ = jumps_ || (is_op && codegen::may_jump(node.op, node.dtype) &&
                        graph::is_float(arena[node.children[0]].dtype));
    has_masks = has_masks || node.kind == kernel::BodyKind::kWhere ||
                (is_op && node.op == graph::Op::kSelect);
  }
  may_hide_nan_ = has_reductions && has_masks;
  add_points(seed, counts);
  settle(ordinary);
}

void KernelExpectation::add_points(uint64_t seed, const PointCounts& counts) {
  Oracles oracles(*this);
  if (oracles.oracle().is_empty()) return;
  constexpr double kCheap = 100;
  constexpr double kMuch = 1e5;
  constexpr int kMostAsked = 16;
  const double work = work_per_point(*arena_, *kernel_, dims_);
  const int most = work <= kCheap ? counts.most_cheap : counts.most;
  const int count =
      static_cast<int>(std::clamp(counts.oracle_work / work, double(counts.least), double(most)));
  most_asked_ = static_cast<size_t>(std::min(count, kMostAsked));
  many_runs_ = 2 * (work <= kMuch ? graph::kManyPairs : graph::kManyPairs / 2);
  std::mt19937_64 random(seed);
  for (int k = 0; k < count; ++k)
    for (const Point& point : oracles.at(position(oracles.oracle().extents(), k, random)))
      points_.push_back(point);
  reads_outside_ = oracles.oracle().reads_outside();
}

/// Errors may cancel at a single point: none is asked to be better than all are on the whole. Where
/// results jump the few that do are not what the others are like.
void KernelExpectation::settle(const KernelExpectation* ordinary) {
  for (size_t root = 0; root < typical_.size(); ++root) {
    std::vector<double> deviations;
    double sizes = 0;
    for (const Point& point : points_) {
      if (point.root != root || !std::isfinite(point.deviation) || std::isnan(point.wide)) continue;
      deviations.push_back(point.deviation);
      if (std::isfinite(point.wide)) sizes += point.wide * point.wide;
    }
    std::ranges::sort(deviations);
    if (jumps_) deviations.resize(deviations.size() - deviations.size() / 8);
    double squares = 0;
    for (const double each : deviations) squares += each * each;
    const auto count = static_cast<double>(deviations.size());
    typical_[root] = ordinary != nullptr ? ordinary->typical_[root]
                     : count > 0         ? std::sqrt(squares / count)
                                         : 0.0;
    largest_[root] = std::max(typical_[root], deviations.empty() ? 0.0 : deviations.back());
    relative_[root] = ordinary != nullptr ? ordinary->relative_[root]
                      : sizes > 0         ? std::sqrt(squares / sizes)
                                          : 0.0;
  }
}

/// Not where a last bit decides between a number, an infinity and a NaN.
bool KernelExpectation::is_decided(const Point& point) const {
  if (std::isnan(point.oracle) && may_hide_nan_) return false;
  return std::isfinite(point.deviation) &&
         std::isfinite(point.oracle) == std::isfinite(point.wide) &&
         std::isnan(point.oracle) == std::isnan(point.wide);
}

/// How far a function that ends in bf16, or in fewer digits, may be from its value before it is
/// rounded (docs/kernels.md).
double KernelExpectation::few_digits(DType dtype, double value) const {
  constexpr double kPart = 1.0 / 16;  // of the distance between two floats of bf16
  if (!has_functions_ || graph::epsilon(dtype) < graph::epsilon(DType::kBF16)) return 0.0;
  return std::isfinite(value) ? kPart * graph::epsilon(DType::kBF16) * std::abs(value) : 0.0;
}

std::optional<std::string> KernelExpectation::fault_of_integer(const Point& point,
                                                               const Array& result) {
  const int64_t actual = result.at(point.position).as_int64();
  if (actual >= point.least && actual <= point.most) return std::nullopt;
  farthest_ = kInfinity;
  const std::string others =
      point.least == point.most ? "" : fmt::format(", from {} to {}", point.least, point.most);
  return fmt::format("element {} of result {} is {}, the oracle says {}{}", point.position,
                     point.root, actual, point.integer, others);
}

std::optional<std::string> KernelExpectation::fault_at(const Point& point, const Array& result) {
  if (!is_decided(point)) return std::nullopt;
  const DType dtype = result.dtype();
  if (!graph::is_float(dtype)) return fault_of_integer(point, result);
  const double actual = element(result, point.position);
  if (point.may_overflow && !std::isfinite(actual)) return std::nullopt;
  if (point.may_vanish && std::abs(actual) <= 0x1p-126) return std::nullopt;
  // What is smaller than the least normal number may be taken for 0.
  const double slack = 0x1p-126 + few_digits(dtype, point.wide);
  const double usual = kDeviations * typical_[point.root] + slack;
  const double allowed = std::max(kDeviations * point.deviation + slack, usual);
  double away = std::min(distance(dtype, actual, point.wide, allowed),
                         distance(dtype, actual, point.oracle, allowed));
  if (jumps_ && away > 1.0 && actual >= rounded(dtype, point.low - usual) &&
      actual <= rounded(dtype, point.high + usual))
    away = 1.0;
  farthest_ = std::max(farthest_, away);
  if (away <= 1.0) return std::nullopt;
  return fmt::format("element {} of result {} is {}, the oracle says {} +- {:.3g}", point.position,
                     point.root, actual, point.oracle, allowed);
}

const std::optional<KernelExpectation::Point>& KernelExpectation::asked_again(size_t root,
                                                                              int64_t position) {
  const auto [place, is_new] = again_.try_emplace({root, position});
  if (!is_new) return place->second;
  Oracles oracles(*this);
  const auto [owner, axes] = oracles.place_of(root, position);
  if (!axes) return place->second;
  for (const Point& point : oracles.at_with_many(*axes, many_runs_))
    if (point.root == owner && point.position == position) place->second = point;
  return place->second;
}

std::optional<std::string> KernelExpectation::confirmed_fault(const Point& point,
                                                              const Array& result) {
  const double before = farthest_;
  auto what = fault_at(point, result);
  if (!what) return std::nullopt;
  const std::optional<Point>& again = asked_again(point.root, point.position);
  if (!again) return what;
  farthest_ = before;
  return fault_at(*again, result);
}

std::vector<int64_t> KernelExpectation::disputed_integers(size_t root, const Array& result) const {
  const Array& first = results_[root];
  std::vector<int64_t> disputed;
  for (int64_t i = 0; i < result.size(); ++i)
    if (!(result.at(i) == first.at(i))) disputed.push_back(i);
  return disputed;
}

std::vector<int64_t> KernelExpectation::disputed_floats(size_t root, const Array& result) const {
  const Array& first = results_[root];
  std::vector<int64_t> disputed;
  const double both = 2 * kDeviations * largest_[root] + 0x1p-126;
  // Each was rounded by half a unit; what a very large value is part of is as much larger, and so
  // is how far it is off.
  const double relative = 2 * graph::epsilon(result.dtype()) +
                          (kind_ == DataKind::kOrdinary ? 0.0 : 2 * kDeviations * relative_[root]);
  // What is infinite is near to nothing but itself.
  const auto is_near = [&](double one, double first_one) {
    const double size = std::min(std::abs(first_one), std::numeric_limits<double>::max());
    return std::abs(one - first_one) <= both + relative * size;
  };
  std::vector<double> actual;
  std::vector<double> other;
  for (int64_t begin = 0; begin < result.size(); begin += kBlock) {
    const int64_t count = std::min(kBlock, result.size() - begin);
    load_elements(result, begin, count, actual);
    load_elements(first, begin, count, other);
    // One test for all of them: nearly always there is nothing more to look at.
    bool all_near = true;
    for (size_t i = 0; i < actual.size(); ++i) all_near &= is_near(actual[i], other[i]);
    for (size_t i = 0; !all_near && i < actual.size(); ++i) {
      if (actual[i] == other[i] || (std::isnan(actual[i]) && std::isnan(other[i]))) continue;
      if (may_hide_nan_ && kind_ != DataKind::kOrdinary && std::isnan(actual[i] + other[i]))
        continue;  // the oracle would not say either
      if (!is_near(actual[i], other[i])) disputed.push_back(begin + static_cast<int64_t>(i));
    }
  }
  return disputed;
}

std::optional<std::string> KernelExpectation::fault_beside(size_t root, const Array& result) {
  if (std::ranges::equal(result.bytes(), results_[root].bytes())) return std::nullopt;
  return fault_among(graph::is_float(result.dtype()) ? disputed_floats(root, result)
                                                     : disputed_integers(root, result),
                     root, result);
}

std::optional<std::string> KernelExpectation::fault_among(const std::vector<int64_t>& positions,
                                                          size_t root, const Array& result) {
  if (positions.empty()) return std::nullopt;
  const Array& first = results_[root];
  const auto told = [&](int64_t position) {
    return fmt::format("element {} of result {} is {}, another candidate gives {}", position, root,
                       element(result, position), element(first, position));
  };
  Oracles oracles(*this);
  for (const int64_t position : worth_asking(positions, result, first, most_asked_)) {
    const auto [owner, axes] = oracles.place_of(root, position);
    const bool are_numbers =
        std::isfinite(element(result, position)) && std::isfinite(element(first, position));
    if (!axes) {
      if (!jumps_ && (are_numbers || kind_ == DataKind::kOrdinary)) return told(position);
      continue;
    }
    for (const Point& point : oracles.at(*axes)) {
      if (point.root != owner || point.position != position) continue;
      if (auto what = confirmed_fault(point, result)) return what;
      const double farthest = farthest_;
      if (!fault_of_first_) fault_of_first_ = confirmed_fault(point, first);
      farthest_ = farthest;
    }
  }
  return std::nullopt;
}

std::optional<std::string> KernelExpectation::fault_at_points(const std::vector<Array>& results) {
  std::vector<std::pair<double, const Point*>> wrong;
  double near = 0.0;
  for (const Point& point : points_) {
    farthest_ = 0.0;
    if (fault_at(point, results[point.root]))
      wrong.emplace_back(farthest_, &point);
    else
      near = std::max(near, farthest_);
  }
  farthest_ = near;
  std::ranges::stable_sort(wrong, std::greater(), &std::pair<double, const Point*>::first);
  for (const auto& [away, point] : wrong)
    if (auto what = confirmed_fault(*point, results[point->root])) return what;
  return std::nullopt;
}

std::optional<std::string> KernelExpectation::fault(std::vector<Array> results) {
  if (auto what = fault_at_points(results)) return what;
  if (results_.empty()) {
    results_ = std::move(results);
    return std::nullopt;
  }
  for (size_t root = 0; root < results.size(); ++root)
    if (auto what = fault_beside(root, results[root])) return what;
  if (fault_of_first_) results_ = std::move(results);
  return std::nullopt;
}

}  // namespace luminal::search
