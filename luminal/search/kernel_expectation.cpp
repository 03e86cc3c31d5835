#include "luminal/search/kernel_expectation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <limits>
#include <random>
#include <utility>

#include "luminal/graph/elements.h"
#include "luminal/graph/epsilon.h"
#include "luminal/graph/expected.h"

namespace luminal::search {
namespace {

using graph::Array;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Points with so many values are worth threads.
constexpr double kMuchWork = 1e5;

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
    const double distance = std::abs(number_at(one, position) - number_at(other, position));
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

int PointCounts::with_work(double work) const {
  constexpr double kCheap = 100;
  const int most_of_these = work <= kCheap ? most_cheap : most;
  return static_cast<int>(std::clamp(oracle_work / work, double(least), double(most_of_these)));
}

double seconds_of_points(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         const graph::DimValues& dims) {
  constexpr double kSecondsPerValue = 3e-7;  // of the four that are computed
  const double work = work_per_point(arena, kernel, dims);
  const PointCounts counts;
  const int points = counts.with_work(work) + counts.few().with_work(work);
  return points * values_per_point(arena, kernel, dims) * kSecondsPerValue;
}

/// The oracle and those that say how far from it one may be, on the data of an expectation.
class KernelExpectation::Oracles {
 public:
  explicit Oracles(const KernelExpectation& of)
      : arena_(of.offsets_.arena ? *of.offsets_.arena : *of.arena_),
        kernel_(*of.kernel_),
        oracle_(arena_, kernel_, of.offsets_, of.dims_, of.data_),
        wide_(arena_, kernel_, of.offsets_, of.dims_, of.data_, PointRounding::kWide),
        first_(arena_, kernel_, of.offsets_, of.dims_, of.data_, PointRounding::kMoved,
               of.seed_ + 1),
        second_(arena_, kernel_, of.offsets_, of.dims_, of.data_, PointRounding::kMoved,
                of.seed_ + 2),
        far_(arena_, kernel_, of.offsets_, of.dims_, of.data_, PointRounding::kMoved, of.seed_ + 3,
             kFar),
        apart_(of.work_ > kMuchWork ? std::launch::async | std::launch::deferred
                                    : std::launch::deferred) {}

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
  std::vector<ExpectedPoint> at(const std::vector<int64_t>& axes) {
    auto first = std::async(apart_, [&] { return first_.at(axes); });
    auto second = std::async(apart_, [&] { return second_.at(axes); });
    return points_of(
        axes,
        [&] {
          return std::vector{first.get(), second.get()};
        },
        1.0);
  }
  /// The same with so many moved runs, moved farther: a right candidate is one or two deviations
  /// off, and where that makes a jump some of the runs jump as well.
  std::vector<ExpectedPoint> at_with_many(const std::vector<int64_t>& axes, int runs) {
    const auto moved = [&] {
      std::vector<std::vector<PointValue>> all;
      for (int run = 0; run < runs; ++run) {
        far_.forget();
        all.push_back(far_.at(axes));
      }
      return all;
    };
    return points_of(axes, moved, kFar);
  }

 private:
  // So that the farthest of kManyRuns lies about as far as results may be off.
  static constexpr double kFar = kDeviations / 2;

  /// Values that `find_moved` gives are moved by `scale` times what rounding costs.
  std::vector<ExpectedPoint> points_of(
      const std::vector<int64_t>& axes,
      const std::function<std::vector<std::vector<PointValue>>()>& find_moved, double scale) {
    auto wide = std::async(apart_, [&] { return wide_.at(axes); });
    const std::vector<PointValue> written = oracle_.at(axes);
    const std::vector<std::vector<PointValue>> moved = find_moved();
    const std::vector<PointValue> exact = wide.get();
    std::vector<ExpectedPoint> points;
    for (size_t p = 0; p < written.size(); ++p) {
      double distance = 0;
      ExpectedPoint& point = points.emplace_back(ExpectedPoint{.root = written[p].root,
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
      point.offset_escapes = wide_.offset_escapes(point.root);
      for (const std::vector<PointValue>& each : moved) {
        const bool is_same = each[p].value == exact[p].value ||  // infinities may be equal
                             (std::isnan(each[p].value) && std::isnan(exact[p].value));
        const double apart = each[p].value - exact[p].value;
        if (!is_same) distance = std::hypot(distance, apart);  // squares might overflow
        widen(point, each[p]);
      }
      point.deviation = distance / std::sqrt(static_cast<double>(moved.size())) / scale;
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
  static void widen(ExpectedPoint& point, const PointValue& run) {
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
  std::launch apart_;  // each of these computes what takes long on a thread of its own
};

KernelExpectation::KernelExpectation(const kernel::Arena& arena, const kernel::Kernel& kernel,
                                     const graph::DimValues& dims, DataKind kind, uint64_t seed,
                                     const PointCounts& counts, const KernelExpectation* ordinary)
    : arena_(&arena),
      kernel_(&kernel),
      dims_(dims),
      kind_(kind),
      seed_(seed),
      judge_(arena, kernel),
      work_(work_per_point(arena, kernel, dims)),
      offsets_(leaving_offsets(arena, kernel)),
      data_(random_tensors(arena, kernel, dims, kind, seed)),
      typical_(kernel.roots.size(), 0.0),
      relative_(kernel.roots.size(), 0.0),
      largest_(kernel.roots.size(), 0.0) {
  add_points(seed, counts);
  settle(ordinary);
}

void KernelExpectation::add_points(uint64_t seed, const PointCounts& counts) {
  Oracles oracles(*this);
  if (oracles.oracle().is_empty()) return;
  constexpr int kLeastAsked = 6;
  constexpr int kMostAsked = 16;
  const int count = counts.with_work(work_);
  most_asked_ = static_cast<size_t>(std::clamp(count, kLeastAsked, kMostAsked));
  many_runs_ = 2 * (work_ <= kMuchWork ? graph::kManyPairs : graph::kManyPairs / 2);
  std::mt19937_64 random(seed);
  for (int k = 0; k < count; ++k)
    for (const ExpectedPoint& point : oracles.at(position(oracles.oracle().extents(), k, random)))
      points_.push_back(point);
  reads_outside_ = oracles.oracle().reads_outside();
}

/// Which of the sorted deviations others are not asked about. On special data the few results that
/// have a very large value in them say nothing about the rest; where sums are of products most
/// have.
size_t KernelExpectation::largest_of(const std::vector<double>& deviations) const {
  const bool are_few = kind_ != DataKind::kOrdinary && !has_products(*arena_, *kernel_);
  return are_few ? (deviations.size() - 1) * 3 / 4 : deviations.size() - 1;
}

/// Errors may cancel at a single point: none is asked to be better than all are on the whole. Where
/// results jump the few that do are not what the others are like, nor are those beyond the range.
void KernelExpectation::settle(const KernelExpectation* ordinary) {
  for (size_t root = 0; root < typical_.size(); ++root) {
    std::vector<double> deviations;
    double sizes = 0;
    for (const ExpectedPoint& point : points_) {
      const bool are_numbers = std::isfinite(point.oracle) && std::isfinite(point.wide);
      if (point.root != root || !std::isfinite(point.deviation) || !are_numbers) continue;
      deviations.push_back(point.deviation);
      sizes += point.wide * point.wide;
    }
    std::ranges::sort(deviations);
    if (judge_.jumps()) deviations.resize(deviations.size() - deviations.size() / 8);
    double squares = 0;
    for (const double each : deviations) squares += each * each;
    const auto count = static_cast<double>(deviations.size());
    typical_[root] = ordinary != nullptr ? ordinary->typical_[root]
                     : count > 0         ? std::sqrt(squares / count)
                                         : 0.0;
    largest_[root] =
        std::max(typical_[root], deviations.empty() ? 0.0 : deviations[largest_of(deviations)]);
    relative_[root] = ordinary != nullptr ? ordinary->relative_[root]
                      : sizes > 0         ? std::sqrt(squares / sizes)
                                          : 0.0;
  }
}

PointVerdict KernelExpectation::judged(const ExpectedPoint& point, const Array& result,
                                       Freedom freedom) const {
  PointVerdict verdict = judge_.judged(point, result, typical_[point.root], freedom);
  // Moved runs move a score anew for its maximum and for its weight, which kernels do not
  // (docs/kernels.md): they have no number for very large ones, kernels have.
  const bool is_number = std::isfinite(point.oracle) && std::isfinite(point.wide);
  if (kind_ == DataKind::kFarRows && graph::is_float(result.dtype()) && is_number &&
      !std::isfinite(point.deviation) && !std::isfinite(number_at(result, point.position)))
    verdict = {kInfinity,
               fmt::format("element {} of result {} is {}, the oracle says {}", point.position,
                           point.root, number_at(result, point.position), point.oracle)};
  return verdict;
}

const std::optional<ExpectedPoint>& KernelExpectation::asked_again(size_t root, int64_t position) {
  const auto [place, is_new] = again_.try_emplace({root, position});
  if (!is_new) return place->second;
  Oracles oracles(*this);
  const auto [owner, axes] = oracles.place_of(root, position);
  if (!axes) return place->second;
  for (const ExpectedPoint& point : oracles.at_with_many(*axes, many_runs_))
    if (point.root == owner && point.position == position) place->second = point;
  return place->second;
}

PointVerdict KernelExpectation::confirmed(const ExpectedPoint& point, const Array& result,
                                          Freedom freedom) {
  PointVerdict verdict = judged(point, result, freedom);
  if (!verdict.fault) return verdict;
  const std::optional<ExpectedPoint>& again = asked_again(point.root, point.position);
  return again ? judged(*again, result, freedom) : verdict;
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
  // Each was rounded by half a unit, to the same unless something else was rounded before; what a
  // very large value is part of is as much larger, and so is how far it is off.
  const bool is_exact = typical_[root] == 0.0 && relative_[root] == 0.0;
  const double relative = (is_exact ? 0.0 : 2 * graph::epsilon(result.dtype())) +
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
      if (judge_.may_hide_nan() && kind_ != DataKind::kOrdinary && std::isnan(actual[i] + other[i]))
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
                       number_at(result, position), number_at(first, position));
  };
  Oracles oracles(*this);
  for (const int64_t position : worth_asking(positions, result, first, most_asked_)) {
    const auto [owner, axes] = oracles.place_of(root, position);
    const bool are_numbers =
        std::isfinite(number_at(result, position)) && std::isfinite(number_at(first, position));
    if (!axes) {
      if (!judge_.jumps() && (are_numbers || kind_ == DataKind::kOrdinary)) return told(position);
      continue;
    }
    for (const ExpectedPoint& point : oracles.at(*axes)) {
      if (point.root != owner || point.position != position) continue;
      PointVerdict verdict = confirmed(point, result, freedom_);
      farthest_ = std::max(farthest_, verdict.away);
      if (verdict.fault) return std::move(verdict.fault);
      if (!fault_of_first_) fault_of_first_ = confirmed(point, first, freedom_of_first_).fault;
    }
  }
  return std::nullopt;
}

std::optional<std::string> KernelExpectation::fault_of_no_numbers(size_t root,
                                                                  const Array& result) {
  if (kind_ != DataKind::kFarRows || !graph::is_float(result.dtype())) return std::nullopt;
  std::vector<int64_t> positions;
  for (int64_t i = 0; i < result.size(); ++i)
    if (!std::isfinite(number_at(result, i))) positions.push_back(i);
  if (positions.empty()) return std::nullopt;
  Oracles oracles(*this);
  const size_t step = (positions.size() + most_asked_ - 1) / most_asked_;
  for (size_t k = 0; k < positions.size(); k += step) {
    const auto [owner, axes] = oracles.place_of(root, positions[k]);
    if (!axes) continue;
    for (const ExpectedPoint& point : oracles.at(*axes)) {
      if (point.root != owner || point.position != positions[k]) continue;
      if (PointVerdict verdict = confirmed(point, result, freedom_); verdict.fault)
        return std::move(verdict.fault);
    }
  }
  return std::nullopt;
}

std::optional<std::string> KernelExpectation::fault_at_points(const std::vector<Array>& results) {
  std::vector<std::pair<double, const ExpectedPoint*>> wrong;
  farthest_ = 0.0;
  for (const ExpectedPoint& point : points_) {
    const PointVerdict verdict = judged(point, results[point.root], freedom_);
    if (verdict.fault)
      wrong.emplace_back(verdict.away, &point);
    else
      farthest_ = std::max(farthest_, verdict.away);
  }
  std::ranges::stable_sort(wrong, std::greater(), &std::pair<double, const ExpectedPoint*>::first);
  for (const auto& [away, point] : wrong) {
    PointVerdict verdict = confirmed(*point, results[point->root], freedom_);
    farthest_ = std::max(farthest_, verdict.away);
    if (verdict.fault) return std::move(verdict.fault);
  }
  return std::nullopt;
}

std::optional<std::string> KernelExpectation::fault(std::vector<Array> results, Freedom freedom) {
  freedom_ = freedom;
  if (auto what = fault_at_points(results)) return what;
  if (results_.empty()) {
    for (size_t root = 0; root < results.size(); ++root)
      if (auto what = fault_of_no_numbers(root, results[root])) return what;
    results_ = std::move(results);
    freedom_of_first_ = freedom;
    return std::nullopt;
  }
  for (size_t root = 0; root < results.size(); ++root)
    if (auto what = fault_beside(root, results[root])) return what;
  if (fault_of_first_) {
    results_ = std::move(results);
    freedom_of_first_ = freedom;
  }
  return std::nullopt;
}

}  // namespace luminal::search
