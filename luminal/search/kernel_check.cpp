#include "luminal/search/kernel_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "luminal/graph/dim_binding.h"
#include "luminal/graph/epsilon.h"
#include "luminal/search/guarded_tensors.h"
#include "luminal/search/point_oracle.h"
#include "luminal/search/run_apart.h"
#include "luminal/support/stats.h"

namespace luminal::search {
namespace {

using graph::Array;
using kernel::NodeId;
using kernel::Tensors;

bool agrees(double actual, double expected, double tolerance) {
  if (std::isnan(expected) || std::isinf(expected))
    return std::isnan(expected) ? std::isnan(actual) : actual == expected;
  return std::abs(actual - expected) <= tolerance;
}

}  // namespace

struct KernelCheck::Expectation {
  DataKind kind = DataKind::kOrdinary;
  Tensors data;
  std::vector<Point> points;
  /// By root: how far a result may be from that of another candidate.
  std::vector<double> tolerance;
  /// Results of the first candidate that passed, by root.
  std::vector<Array> results;

  Expectation(const kernel::Arena& arena, const kernel::Kernel& kernel,
              const graph::DimValues& dims, const CheckOptions& options, DataKind data_kind)
      : kind(data_kind),
        data(random_tensors(arena, kernel, dims, data_kind, options.seed)),
        tolerance(kernel.roots.size(), 0.0) {
    PointOracle oracle(arena, kernel, dims, data);
    if (oracle.is_empty()) return;
    const Tensors nudges[] = {nudged(data, options.seed + 1), nudged(data, options.seed + 2)};
    PointOracle first(arena, kernel, dims, nudges[0]);
    PointOracle second(arena, kernel, dims, nudges[1]);
    const double work = work_per_point(arena, kernel, dims);
    const double wanted = options.oracle_work / work;
    const int count = static_cast<int>(
        std::clamp(wanted, double(options.least_points), double(options.most_points)));
    std::mt19937_64 random(options.seed);
    for (int k = 0; k < count; ++k) {
      const std::vector<int64_t> axes = position(oracle.extents(), k, random);
      std::vector<Point> exact = oracle.at(axes);
      const std::vector<Point> moved[] = {first.at(axes), second.at(axes)};
      for (size_t p = 0; p < exact.size(); ++p)
        add(arena, kernel, exact[p], moved, p, roundings_of(work));
    }
    settle_tolerances();
  }

  /// The corners first, then anywhere.
  static std::vector<int64_t> position(const std::vector<int64_t>& extents, int number,
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

  /// How many times what the inputs were moved by a result may be off. Narrow values inside may be
  /// rounded elsewhere; sums are taken in another order and lose more on the way, long ones most.
  static double roundings_of(double work) {
    constexpr double kRoundings = 64;
    constexpr double kShortWork = 256;
    return kRoundings * std::max(1.0, std::sqrt(work / kShortWork));
  }

  void add(const kernel::Arena& arena, const kernel::Kernel& kernel, Point point,
           const std::vector<Point> (&moved)[2], size_t p, double roundings) {
    const graph::DType dtype = arena.tensor(kernel.roots[point.root].tensor).dtype;
    double deviation = 0;
    for (const std::vector<Point>& each : moved)
      deviation = std::max(deviation, std::abs(each[p].value - point.value));
    if (!std::isfinite(deviation)) deviation = 0;  // next to a pole: only the kind of value counts
    point.tolerance = roundings * deviation;
    if (graph::is_float(dtype) && std::isfinite(point.value))
      point.tolerance += 2 * graph::epsilon(dtype) * std::abs(point.value);
    points.push_back(point);
  }

  /// Errors may cancel at a single point: none is asked to be much better than the others are.
  void settle_tolerances() {
    for (size_t root = 0; root < tolerance.size(); ++root) {
      std::vector<double> all;
      for (const Point& point : points)
        if (point.root == root) all.push_back(point.tolerance);
      if (all.empty()) continue;
      const double typical = support::median(all);
      for (Point& point : points)
        if (point.root == root) point.tolerance = std::max(point.tolerance, typical);
      tolerance[root] = std::max(typical, *std::max_element(all.begin(), all.end()));
    }
  }

  /// A NaN may come out as a number where a mask hides what made it (docs/kernels.md).
  bool counts(const Point& point) const {
    return kind == DataKind::kOrdinary || !std::isnan(point.value);
  }
};

KernelCheck::KernelCheck(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         graph::DimValues dims, const CheckOptions& options)
    : arena_(arena), kernel_(kernel), dims_(std::move(dims)), options_(options) {
  for (const DataKind kind : {DataKind::kOrdinary, DataKind::kSpecial})
    expectations_.emplace_back(arena_, kernel_, dims_, options_, kind);
}

KernelCheck::~KernelCheck() = default;

const Tensors& KernelCheck::data() const { return expectations_[0].data; }

namespace {

double element(graph::DType dtype, const Array& array, int64_t position) {
  const graph::Scalar scalar = array.at(position);
  return graph::is_float(dtype) ? scalar.as_double() : static_cast<double>(scalar.as_int64());
}

}  // namespace

std::optional<Rejected> KernelCheck::check(const Candidate& candidate) {
  for (Expectation& expected : expectations_)
    if (auto why = check_on(candidate, expected)) return why;
  return std::nullopt;
}

std::optional<Rejected> KernelCheck::check_on(const Candidate& candidate, Expectation& expected) {
  const auto wrong = [](std::string detail) {
    return Rejected{Rejected::Why::kWrongResult, std::move(detail)};
  };
  for (const GuardedMemory::Side side : {GuardedMemory::Side::kEnd, GuardedMemory::Side::kBegin}) {
    const GuardedTensors memory(arena_, kernel_, dims_, expected.data, candidate, side);
    const ApartOptions apart{.limit = options_.limit, .is_forbidden = [&](const void* address) {
                               return memory.forbids(address);
                             }};
    if (auto why = run_apart([&] { memory.run(candidate); }, apart)) return why;
    if (!memory.is_intact())
      return Rejected{Rejected::Why::kOutOfBounds, "it wrote into bytes beside a tensor"};
    std::vector<Array> results;
    for (const kernel::Root& root : kernel_.roots) {
      const graph::TensorType& type = arena_.tensor(root.tensor);
      Array array(type.dtype, graph::extents_of(type.shape, dims_));
      const auto bytes = array.mutable_bytes();
      std::copy_n(memory.place(root.tensor), bytes.size(), bytes.data());
      results.push_back(std::move(array));
    }
    for (const Point& point : expected.points) {
      const graph::DType dtype = results[point.root].dtype();
      const double actual = element(dtype, results[point.root], point.position);
      if (expected.counts(point) && !agrees(actual, point.value, point.tolerance))
        return wrong(fmt::format("element {} of result {} is {}, the oracle says {} +- {:.3g}",
                                 point.position, point.root, actual, point.value, point.tolerance));
    }
    if (expected.results.empty()) {
      expected.results = std::move(results);
      continue;
    }
    for (size_t k = 0; k < results.size(); ++k) {
      if (std::ranges::equal(results[k].bytes(), expected.results[k].bytes())) continue;
      for (int64_t i = 0; i < results[k].size(); ++i) {
        const double actual = element(results[k].dtype(), results[k], i);
        const double other = element(results[k].dtype(), expected.results[k], i);
        const double slack = graph::is_float(results[k].dtype())
                                 ? 4 * graph::epsilon(results[k].dtype()) * std::abs(other)
                                 : 0.0;
        if (expected.kind == DataKind::kSpecial && (std::isnan(other) || std::isnan(actual)))
          continue;
        if (!agrees(actual, other, 2 * expected.tolerance[k] + slack))
          return wrong(fmt::format("element {} of result {} is {}, another candidate gives {}", i,
                                   k, actual, other));
      }
    }
  }
  return std::nullopt;
}

}  // namespace luminal::search
