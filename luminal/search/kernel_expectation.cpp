#include "luminal/search/kernel_expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "luminal/graph/elements.h"
#include "luminal/graph/epsilon.h"
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
      : kernel_(*of.kernel_),
        oracle_(*of.arena_, *of.kernel_, of.dims_, of.data_),
        wide_(*of.arena_, *of.kernel_, of.dims_, of.data_, PointRounding::kWide),
        first_(*of.arena_, *of.kernel_, of.dims_, of.data_, PointRounding::kMoved, of.seed_ + 1),
        second_(*of.arena_, *of.kernel_, of.dims_, of.data_, PointRounding::kMoved, of.seed_ + 2) {}

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
    const std::vector<PointValue> written = oracle_.at(axes);
    const std::vector<PointValue> exact = wide_.at(axes);
    const std::vector<PointValue> moved[] = {first_.at(axes), second_.at(axes)};
    std::vector<Point> points;
    for (size_t p = 0; p < written.size(); ++p) {
      double squares = 0;
      for (const std::vector<PointValue>& each : moved) {
        const bool is_same = each[p].value == exact[p].value ||  // infinities may be equal
                             (std::isnan(each[p].value) && std::isnan(exact[p].value));
        const double apart = each[p].value - exact[p].value;
        if (!is_same) squares += apart * apart;
      }
      points.push_back({written[p].root, written[p].position, written[p].value, exact[p].value,
                        std::sqrt(squares / std::size(moved)), written[p].integer});
    }
    return points;
  }

 private:
  const kernel::Kernel& kernel_;
  PointOracle oracle_;
  PointOracle wide_;
  PointOracle first_;
  PointOracle second_;
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
  constexpr int kMostAsked = 16;
  const double work = work_per_point(*arena_, *kernel_, dims_);
  const int most = work <= kCheap ? counts.most_cheap : counts.most;
  const int count =
      static_cast<int>(std::clamp(counts.oracle_work / work, double(counts.least), double(most)));
  most_asked_ = static_cast<size_t>(std::min(count, kMostAsked));
  std::mt19937_64 random(seed);
  for (int k = 0; k < count; ++k)
    for (const Point& point : oracles.at(position(oracles.oracle().extents(), k, random)))
      points_.push_back(point);
}

/// Errors may cancel at a single point: none is asked to be better than all are on the whole.
void KernelExpectation::settle(const KernelExpectation* ordinary) {
  std::vector<double> squares(typical_.size(), 0.0);
  std::vector<double> sizes(typical_.size(), 0.0);
  std::vector<double> counts(typical_.size(), 0.0);
  for (const Point& point : points_) {
    if (!std::isfinite(point.deviation) || std::isnan(point.wide)) continue;
    squares[point.root] += point.deviation * point.deviation;
    if (std::isfinite(point.wide)) sizes[point.root] += point.wide * point.wide;
    ++counts[point.root];
    largest_[point.root] = std::max(largest_[point.root], point.deviation);
  }
  for (size_t root = 0; root < typical_.size(); ++root) {
    typical_[root] = ordinary != nullptr ? ordinary->typical_[root]
                     : counts[root] > 0  ? std::sqrt(squares[root] / counts[root])
                                         : 0.0;
    largest_[root] = std::max(largest_[root], typical_[root]);
    relative_[root] = ordinary != nullptr ? ordinary->relative_[root]
                      : sizes[root] > 0   ? std::sqrt(squares[root] / sizes[root])
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

/// How far a function that ends in bf16 may be from its value before it is rounded
/// (docs/kernels.md).
double KernelExpectation::few_digits(DType dtype, double value) const {
  constexpr double kPart = 1.0 / 16;  // of the distance between two floats
  if (!has_functions_ || dtype != DType::kBF16) return 0.0;
  return std::isfinite(value) ? kPart * graph::epsilon(dtype) * std::abs(value) : 0.0;
}

bool KernelExpectation::is_exact(size_t root, DType dtype) const {
  return !graph::is_float(dtype) && largest_[root] == 0.0;
}

std::optional<std::string> KernelExpectation::fault_at(const Point& point, const Array& result) {
  if (!is_decided(point)) return std::nullopt;
  if (is_exact(point.root, result.dtype())) {
    const int64_t actual = result.at(point.position).as_int64();
    if (actual == point.integer) return std::nullopt;
    farthest_ = kInfinity;
    return fmt::format("element {} of result {} is {}, the oracle says {}", point.position,
                       point.root, actual, point.integer);
  }
  const double actual = element(result, point.position);
  // What is smaller than the least normal number may be taken for 0.
  const double least = graph::is_float(result.dtype()) ? 0x1p-126 : 0.0;
  const double allowed = kDeviations * std::max(point.deviation, typical_[point.root]) + least +
                         few_digits(result.dtype(), point.wide);
  const double away = std::min(distance(result.dtype(), actual, point.wide, allowed),
                               distance(result.dtype(), actual, point.oracle, allowed));
  farthest_ = std::max(farthest_, away);
  if (away <= 1.0) return std::nullopt;
  return fmt::format("element {} of result {} is {}, the oracle says {} +- {:.3g}", point.position,
                     point.root, actual, point.oracle, allowed);
}

std::optional<std::string> KernelExpectation::fault_beside(size_t root, const Array& result) {
  const Array& first = results_[root];
  if (std::ranges::equal(result.bytes(), first.bytes())) return std::nullopt;
  std::vector<int64_t> disputed;
  if (is_exact(root, result.dtype())) {
    for (int64_t i = 0; i < result.size(); ++i)
      if (!(result.at(i) == first.at(i))) disputed.push_back(i);
    return fault_among(disputed, root, result);
  }
  const double both = 2 * kDeviations * largest_[root] + 0x1p-126;
  // Each was rounded by half a unit; what a very large value is part of is as much larger, and so
  // is how far it is off.
  const double relative = 2 * graph::epsilon(result.dtype()) +
                          (kind_ == DataKind::kOrdinary ? 0.0 : 2 * kDeviations * relative_[root]);
  std::vector<double> actual;
  std::vector<double> other;
  for (int64_t begin = 0; begin < result.size(); begin += kBlock) {
    const int64_t count = std::min(kBlock, result.size() - begin);
    load_elements(result, begin, count, actual);
    load_elements(first, begin, count, other);
    // One test for all of them: nearly always there is nothing more to look at.
    bool all_near = true;
    for (size_t i = 0; i < actual.size(); ++i)
      all_near &= std::abs(actual[i] - other[i]) <= both + relative * std::abs(other[i]);
    for (size_t i = 0; !all_near && i < actual.size(); ++i) {
      if (actual[i] == other[i] || (std::isnan(actual[i]) && std::isnan(other[i]))) continue;
      if (may_hide_nan_ && kind_ != DataKind::kOrdinary && std::isnan(actual[i] + other[i]))
        continue;  // the oracle would not say either
      if (!(std::abs(actual[i] - other[i]) <= both + relative * std::abs(other[i])))
        disputed.push_back(begin + static_cast<int64_t>(i));
    }
  }
  return fault_among(disputed, root, result);
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
  // Some from everywhere, if there are too many to ask about.
  const size_t step = (positions.size() + most_asked_ - 1) / most_asked_;
  for (size_t k = 0; k < positions.size(); k += step) {
    const auto [owner, axes] = oracles.place_of(root, positions[k]);
    const bool are_numbers =
        std::isfinite(element(result, positions[k])) && std::isfinite(element(first, positions[k]));
    if (!axes) {
      if (are_numbers || kind_ == DataKind::kOrdinary) return told(positions[k]);
      continue;
    }
    for (const Point& point : oracles.at(*axes)) {
      if (point.root != owner || point.position != positions[k]) continue;
      if (auto what = fault_at(point, result)) return what;
      const double farthest = farthest_;
      if (!fault_of_first_) fault_of_first_ = fault_at(point, first);
      farthest_ = farthest;
    }
  }
  return std::nullopt;
}

std::optional<std::string> KernelExpectation::fault(std::vector<Array> results) {
  farthest_ = 0.0;
  std::optional<std::string> worst;
  for (const Point& point : points_) {
    const double before = farthest_;
    auto what = fault_at(point, results[point.root]);
    if (what && (!worst || farthest_ > before)) worst = std::move(what);
  }
  if (worst) return worst;
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
