#include "luminal/graph/expected.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

#include "luminal/graph/dim_binding.h"
#include "luminal/graph/effects.h"
#include "luminal/graph/elements.h"
#include "luminal/graph/epsilon.h"
#include "luminal/graph/query.h"
#include "luminal/graph/widened.h"
#include "luminal/support/error.h"

namespace luminal::graph {
namespace {

/// Zero if equal, both NaN included; infinite if only one is finite or a number.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0.0;
  const double result = std::fabs(a - b);
  return std::isnan(result) ? INFINITY : result;
}

/// What lies below is not told from 0: results that are flushed, steps between denormals.
double smallest(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return 0x1p-1022;
    case DType::kF16:
      return 0x1p-24;
    case DType::kF8E4M3:
      return 0x1p-9;
    case DType::kF8E5M2:
      return 0x1p-16;
    default:
      return is_float(dtype) ? 0x1p-126 : 0.0;
  }
}

/// Which outputs rounding reaches, and which hold products of many factors.
struct Facts {
  bool rounded = false;
  bool has_product = false;
  bool has_sum = false;
  bool has_bits = false;  // of a float that was computed: any NaN may have other ones
  DType computes_in = DType::kF64;
  double longest_sum = 1.0;  // terms
};

/// How many terms each element of a sum has.
double terms_of(const Node& sum, const DimValues& dims) {
  const auto count = [&](const Shape& shape) {
    double product = 1.0;
    for (const int64_t extent : extents_of(shape, dims)) product *= static_cast<double>(extent);
    return product;
  };
  return count(sum.operands[0].view.domain()) / std::max(1.0, count(sum.shape()));
}

Facts facts_of(const Graph& graph, const Output& output, const DimValues& dims) {
  Facts facts;
  for (const NodeId id : upstream(graph, std::span(&output.edge.node, 1))) {
    const Node& node = graph.node(id);
    if (node.op == Op::kBitcast && facts.rounded &&
        is_float(graph.node(node.operands[0].node).dtype()))
      facts.has_bits = true;
    if (!is_rounded(graph, node)) continue;
    facts.rounded = true;
    facts.has_product = facts.has_product || node.op == Op::kProd;
    if (node.op == Op::kSum) {
      facts.has_sum = true;
      facts.longest_sum = std::max(facts.longest_sum, terms_of(node, dims));
    }
    if (bits(node.dtype()) < 64) facts.computes_in = DType::kF32;
  }
  return facts;
}

/// Terms of a sum are moved one by one, which adds up like the root of their number; rounding each
/// partial sum, which grows as well, adds up faster. From some hundred terms on it is what counts.
double slack_for(const Facts& facts) {
  constexpr double kShortSum = 256.0;
  return kSlack * std::max(1.0, std::sqrt(facts.longest_sum / kShortSum));
}

/// Values of f64 where the dtype they stand for can hold them: beyond its range as it has them.
std::vector<double> held_in(DType dtype, const Array& wide) {
  std::vector<double> values = wide.to_vector<double>();
  if (!is_float(dtype)) return values;
  const std::vector<double> held = wide.cast(dtype).to_vector<double>();
  for (size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(held[i]) || dtype == DType::kF8E4M3) values[i] = held[i];
  return values;
}

class ExpectedRun {
 public:
  ExpectedRun(const Graph& graph, const RunRequest& request, int pairs)
      : graph_(graph), request_(request), pairs_(pairs) {
    request_.on_step = nullptr;
    request_.text = &unheard_;
  }

  std::vector<Expected> run() {
    std::vector<Expected> result;
    const std::vector<Array> given = make_interpreter(graph_)->run(request_);
    for (const Array& value : given) result.push_back({value, {}, {}, false});
    DType computes_in = DType::kF64;
    bool rounded = false;
    const DimValues dims = bind_dims(graph_, request_.inputs, request_.dims);
    for (const Output& output : graph_.outputs()) {
      facts_.push_back(facts_of(graph_, output, dims));
      rounded = rounded || facts_.back().rounded;
      if (facts_.back().computes_in == DType::kF32) computes_in = DType::kF32;
    }
    if (!rounded) return result;
    by_ = move_of(computes_in);
    const auto wide = outputs_of(Move::kNone);
    if (!wide) return with_last_place(std::move(result));
    std::vector<std::vector<double>> spreads(result.size());
    for (uint64_t seed = 0; seed < static_cast<uint64_t>(pairs_); ++seed)
      widen_spreads(given, *wide, seed, spreads);
    for (size_t k = 0; k < result.size(); ++k) {
      if (!facts_[k].rounded) continue;
      result[k].has_product = facts_[k].has_product;
      result[k].has_sum = facts_[k].has_sum;
      if (facts_[k].has_sum && facts_[k].computes_in == DType::kF32)
        for (const double each : (*wide)[k].to_vector<double>())
          result[k].left_range.push_back(std::isfinite(each));
      result[k].wide = held_in(result[k].value.dtype(), (*wide)[k]);
      if (facts_[k].has_bits) spreads[k].assign(spreads[k].size(), INFINITY);
      result[k].allowed = allowed(result[k].value, std::move(spreads[k]), slack_for(facts_[k]));
    }
    return result;
  }

 private:
  /// The widened graph's outputs. Nothing where it cannot run: positions that follow from moved
  /// floats may be out of range.
  std::optional<std::vector<Array>> outputs_of(Move move, uint64_t seed = 0) const {
    std::map<std::string, Array> inputs;
    RunRequest request = request_;
    uint64_t number = 0;
    for (const auto& [name, value] : request_.inputs)
      inputs.emplace(name, widened(*value, move, by_, number++, seed));
    for (const auto& [name, value] : inputs) request.inputs[name] = &value;
    try {
      return make_interpreter(widened(graph_, move, seed))->run(request);
    } catch (const UserError&) {
      return std::nullopt;
    }
  }

  /// Raises the spreads to what one pair of moved runs says.
  void widen_spreads(const std::vector<Array>& given, const std::vector<Array>& wide, uint64_t seed,
                     std::vector<std::vector<double>>& spreads) const {
    const auto one = outputs_of(Move::kOneWay, seed), other = outputs_of(Move::kOtherWay, seed);
    for (size_t k = 0; k < given.size(); ++k) {
      if (!facts_[k].rounded) continue;
      std::vector<double> spread(static_cast<size_t>(given[k].size()), 0.0);
      for (const std::vector<Array>* run :
           {&given, one ? &*one : nullptr, other ? &*other : nullptr})
        if (run != nullptr) add_distances((*run)[k], wide[k], given[k].dtype(), spread);
      spreads[k].resize(spread.size(), 0.0);
      for (size_t i = 0; i < spread.size(); ++i) spreads[k][i] = std::max(spreads[k][i], spread[i]);
    }
  }

  /// Adds how far apart the elements of two runs are.
  static void add_distances(const Array& a, const Array& b, DType dtype, std::vector<double>& sum) {
    const std::vector<double> left = held_in(dtype, a), right = held_in(dtype, b);
    for (size_t i = 0; i < sum.size(); ++i) {
      const double apart = distance(left[i], right[i]);
      const auto at = static_cast<int64_t>(i);
      // Integers beyond 2^53 may be equal as doubles and are not.
      const bool hidden = apart == 0.0 && !is_float(dtype) && !(a.at(at) == b.at(at));
      sum[i] += hidden ? INFINITY : apart;
    }
  }

  /// An element whose runs agree by chance is given what seven of eight have at least: values of
  /// very different size may stand in one array, and the small ones must not get the slack of the
  /// large ones.
  static std::vector<double> allowed(const Array& value, std::vector<double> spread, double slack) {
    std::vector<double> finite;
    for (const double each : spread)
      if (std::isfinite(each)) finite.push_back(each);
    double usual = 0.0;
    if (!finite.empty()) {
      const auto low = finite.begin() + static_cast<std::ptrdiff_t>(finite.size() / 8);
      std::nth_element(finite.begin(), low, finite.end());
      usual = *low;
    }
    const std::vector<double> values = value.to_vector<double>();
    const bool real = is_float(value.dtype());
    for (size_t i = 0; i < spread.size(); ++i) {
      spread[i] = slack * std::max(spread[i], real ? usual : 0.0) + smallest(value.dtype());
      if (real && std::isfinite(values[i]))
        spread[i] += last_place(value.dtype()) * std::fabs(values[i]);
    }
    return spread;
  }

  std::vector<Expected> with_last_place(std::vector<Expected> result) const {
    for (size_t k = 0; k < result.size(); ++k) {
      if (!facts_[k].rounded) continue;
      result[k].wide = result[k].value.to_vector<double>();
      result[k].allowed = allowed(result[k].value, std::vector<double>(result[k].wide.size(), 0.0),
                                  slack_for(facts_[k]));
    }
    return result;
  }

  const Graph& graph_;
  RunRequest request_;
  int pairs_;
  std::vector<Facts> facts_;
  double by_ = 0.0;
  std::ostringstream unheard_;
};

/// Elements that are loaded at a time.
constexpr int64_t kBlock = 1024;

/// To which sides 64 elements are moved: bits that look like chance, from the number of the block.
uint64_t sides_of(int64_t block, uint64_t seed) {
  uint64_t mixed =
      (static_cast<uint64_t>(block) + seed * 0x9e3779b97f4a7c15 + 1) * uint64_t{0xbf58476d1ce4e5b9};
  mixed = (mixed ^ (mixed >> 27)) * uint64_t{0x94d049bb133111eb};
  return mixed ^ (mixed >> 31);
}
constexpr int64_t kSides = 64;

/// The same as below for bf16, which weights of gigabytes are in: a product with a factor of few
/// digits is exact in f32, and rounded once.
Array moved_bf16(const Array& array, double by, uint64_t seed) {
  Array result(array.dtype(), array.extents());
  const auto* from = reinterpret_cast<const uint16_t*>(array.bytes().data());
  auto* to = reinterpret_cast<uint16_t*>(result.mutable_bytes().data());
  const auto up = static_cast<float>(1.0 + by);
  const auto down = static_cast<float>(1.0 - by);
  for (int64_t begin = 0; begin < array.size(); begin += kSides) {
    const uint64_t sides = sides_of(begin / kSides, seed);
    const int64_t end = std::min(begin + kSides, array.size());
    for (int64_t i = begin; i < end; ++i) {
      const auto value = std::bit_cast<float>(uint32_t{from[i]} << 16);
      const bool is_up = (sides >> (i - begin) & 1) != 0;
      const auto bits = std::bit_cast<uint32_t>(value * (is_up ? up : down));
      const bool is_nan = (bits & 0x7fffffff) > 0x7f800000;
      to[i] = is_nan ? from[i] : static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
  }
  return result;
}

/// Floats moved by so much of themselves, to a side that differs from element to element.
Array moved(const Array& array, double by, uint64_t seed) {
  constexpr double kFewDigits = 0x1p-15;  // beside the 8 of an element there is room for 16
  if (array.dtype() == DType::kBF16 && std::fabs(by) >= kFewDigits &&
      std::fabs(by) * 0x1p15 == std::floor(std::fabs(by) * 0x1p15))
    return moved_bf16(array, by, seed);
  Array result(array.dtype(), array.extents());
  std::vector<double> values;
  for (int64_t begin = 0; begin < array.size(); begin += kBlock) {
    const int64_t count = std::min(kBlock, array.size() - begin);
    values.resize(static_cast<size_t>(count));
    load(array.dtype(), array.bytes().data(), {.position = begin, .count = count}, values.data());
    for (int64_t i = 0; i < count; ++i) {
      const bool is_up = (sides_of((begin + i) / kSides, seed) >> (i % kSides) & 1) != 0;
      values[static_cast<size_t>(i)] *= is_up ? 1.0 + by : 1.0 - by;
    }
    round_floats(array.dtype(), values);
    store(array.dtype(), result.mutable_bytes().data(), begin, values);
  }
  return result;
}

/// Runs of a trusted program on inputs and on moved ones.
class TrustedRuns {
 public:
  TrustedRuns(const Graph& graph, const RunRequest& request, const TrustedRun& run)
      : graph_(graph), request_(request), run_(run) {
    const DimValues dims = bind_dims(graph, request.inputs, request.dims);
    for (const Output& output : graph.outputs()) facts_.push_back(facts_of(graph, output, dims));
    for (const Node& node : graph.nodes())
      if (is_rounded(graph, node)) coarsest_ = std::max(coarsest_, last_place(node.dtype()));
  }

  std::vector<Expected> expected(int pairs) {
    const std::vector<Array> values = run_(request_.inputs);
    std::vector<std::vector<double>> low, high;
    for (const Array& value : values) low.push_back(value.to_vector<double>());
    high = low;
    for (int k = 0; k < 2 * pairs; ++k) widen(k, low, high);
    std::vector<Expected> result;
    for (size_t k = 0; k < values.size(); ++k) {
      Expected& each = result.emplace_back(Expected{values[k], {}, {}});
      if (!facts_[k].rounded) continue;
      each.has_product = facts_[k].has_product;
      each.has_sum = facts_[k].has_sum;
      each.allowed = allowed(k, values[k], low[k], high[k]);
      if (is_float(values[k].dtype())) settle(each);
    }
    return result;
  }

 private:
  /// Takes one more run in. Positions that follow from moved floats may be out of range: such a run
  /// tells nothing.
  void widen(int number, std::vector<std::vector<double>>& low,
             std::vector<std::vector<double>>& high) {
    std::map<std::string, Array> arrays;
    std::map<std::string, const Array*> inputs = request_.inputs;
    uint64_t seed = static_cast<uint64_t>(number / 2) * kInputs;
    for (const auto& [name, array] : request_.inputs) {
      ++seed;
      if (!is_float(array->dtype())) continue;
      const double by = std::max(coarsest_, last_place(array->dtype()));
      inputs[name] =
          &arrays.emplace(name, moved(*array, number % 2 == 0 ? by : -by, seed)).first->second;
    }
    if (arrays.empty()) return;
    was_moved_ = true;
    std::vector<Array> outputs;
    try {
      outputs = run_(inputs);
    } catch (const UserError&) {
      return;
    }
    for (size_t k = 0; k < outputs.size(); ++k) {
      const std::vector<double> values = outputs[k].to_vector<double>();
      for (size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i]) != std::isnan(low[k][i])) {
          low[k][i] = -INFINITY;  // anything may come out
          high[k][i] = INFINITY;
        }
        low[k][i] = std::min(low[k][i], values[i]);
        high[k][i] = std::max(high[k][i], values[i]);
      }
    }
  }

  std::vector<double> allowed(size_t output, const Array& value, const std::vector<double>& low,
                              const std::vector<double>& high) const {
    const DType dtype = value.dtype();
    if (facts_[output].has_bits) return std::vector<double>(low.size(), INFINITY);
    const std::vector<double> values = value.to_vector<double>();
    const double slack = slack_for(facts_[output]);
    const double unit = is_float(dtype) ? last_place(dtype) : 0.0;
    // Where there is nothing to move, half of the digits have to do.
    const double part = was_moved_ || !is_float(dtype) ? 0.0 : std::sqrt(epsilon(dtype));
    double squares = 0;
    for (const double each : values) squares += std::isfinite(each) ? each * each : 0.0;
    const double usual = part * std::sqrt(squares / std::max<double>(1.0, double(values.size())));
    std::vector<double> result;
    for (size_t i = 0; i < values.size(); ++i) {
      const double apart = high[i] == low[i] ? 0.0 : high[i] - low[i];
      const double size = std::isfinite(values[i]) ? std::fabs(values[i]) : 0.0;
      result.push_back((std::isnan(apart) ? 0.0 : slack * apart) + usual + unit * size +
                       smallest(dtype));
    }
    return result;
  }

  static constexpr uint64_t kInputs = 1 << 20;  // more than a graph has

  const Graph& graph_;
  const RunRequest& request_;
  const TrustedRun& run_;
  std::vector<Facts> facts_;
  double coarsest_ = 0.0;
  bool was_moved_ = false;
};

/// True for values that a product which left the range on the way may give.
bool left_range(double value, DType dtype) {
  return !std::isfinite(value) || std::fabs(value) <= smallest(dtype);
}

/// True where a sum is beyond the range: its parts, taken in another order, may be infinities of
/// both signs.
bool overflowed(double should, double is) { return std::isinf(should) && !std::isfinite(is); }

/// Whether all of a block of floats are within what is allowed: nearly always, and quicker to see
/// than one by one.
bool is_near(const Array& actual, const Expected& expected, int64_t begin) {
  if (!is_float(actual.dtype()) || expected.allowed.empty()) return false;
  const int64_t count = std::min(kBlock, actual.size() - begin);
  std::vector<double> is(static_cast<size_t>(count)), should(static_cast<size_t>(count));
  const ElementRun run{.position = begin, .count = count};
  load(actual.dtype(), actual.bytes().data(), run, is.data());
  load(actual.dtype(), expected.value.bytes().data(), run, should.data());
  bool all = true;
  for (size_t i = 0; i < is.size(); ++i) {
    const double allowed = expected.allowed[static_cast<size_t>(begin) + i];
    all &= std::fabs(is[i] - should[i]) <= allowed && allowed < INFINITY;
  }
  return all;
}

}  // namespace

double last_place(DType dtype) { return (bits(dtype) >= 32 ? 4.0 : 1.0) * epsilon(dtype); }

std::vector<Expected> expected_outputs(const Graph& graph, const RunRequest& request, int pairs) {
  return ExpectedRun(graph, request, pairs).run();
}

std::vector<Expected> expected_of_runs(const Graph& graph, const RunRequest& request,
                                       const TrustedRun& run, int pairs) {
  return TrustedRuns(graph, request, run).expected(pairs);
}

void settle(Expected& expected) {
  double squares = 0;
  double count = 0;
  for (const double each : expected.allowed) {
    if (!std::isfinite(each)) continue;
    squares += each * each;
    ++count;
  }
  if (count == 0) return;
  // The farthest of a million elements lies farther out than that of a thousand.
  constexpr double kFew = 1024;
  const double farther = std::sqrt(std::max(1.0, std::log(count) / std::log(kFew)));
  const double typical = farther * std::sqrt(squares / count);
  for (double& each : expected.allowed) each = std::max(each, typical);
}

Comparison compare(const Array& actual, const Expected& expected) {
  Comparison result;
  result.size = expected.value.size();
  result.same_type =
      actual.dtype() == expected.value.dtype() && actual.extents() == expected.value.extents();
  if (!result.same_type || actual.identical(expected.value)) return result;
  const DType dtype = actual.dtype();
  double worst_ratio = -1.0;
  for (int64_t i = 0; i < result.size; ++i) {
    if (i % kBlock == 0 && is_near(actual, expected, i)) {
      i += kBlock - 1;
      continue;
    }
    const Scalar should = expected.value.at(i);
    const Scalar is = actual.at(i);
    const double a = is.as_double();
    if (should == is || (is_float(dtype) && a == should.as_double())) continue;
    const auto at = static_cast<size_t>(i);
    const double allowed = expected.allowed.empty() ? 0.0 : expected.allowed[at];
    const bool left_sum =
        expected.has_sum && (expected.left_range.empty() || expected.left_range[at]);
    if (std::isinf(allowed) || (expected.has_product && left_range(a, dtype)) ||
        (left_sum && overflowed(should.as_double(), a))) {
      ++result.undecided;
      continue;
    }
    double away = distance(a, should.as_double());
    if (!expected.wide.empty()) away = std::min(away, distance(a, expected.wide[at]));
    // Integers beyond 2^53 may be equal as doubles and are not.
    if (away <= allowed && allowed > 0.0) continue;
    ++result.wrong;
    const double ratio = allowed > 0.0 ? away / allowed : INFINITY;
    if (ratio <= worst_ratio) continue;
    worst_ratio = ratio;
    result.worst = {coordinates(i, actual.extents()), should, is, allowed};
  }
  return result;
}

std::string to_string(const Comparison& comparison) {
  if (!comparison.same_type) return "the dtype or shape is another";
  if (!comparison.worst) return fmt::format("{} elements are right", comparison.size);
  const WrongElement& worst = *comparison.worst;
  const std::string near =
      worst.allowed > 0 ? fmt::format(", or nearer than {:.3g}", worst.allowed) : "";
  return fmt::format("{} of {} elements are wrong; the worst, {}, is {} and should be {}{}",
                     comparison.wrong, comparison.size, worst.place, worst.actual.to_string(),
                     worst.expected.to_string(), near);
}

}  // namespace luminal::graph
