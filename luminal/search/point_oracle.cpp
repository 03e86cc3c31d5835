#include "luminal/search/point_oracle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "luminal/codegen/llvm/compared_sums.h"
#include "luminal/codegen/llvm/few_digits.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/graph/epsilon.h"
#include "luminal/kernel/estimate.h"
#include "luminal/kernel/reads.h"
#include "luminal/support/hash.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::search {
namespace {

/// Functions of vectors are as good as this many units of the last place (vector_math.h).
constexpr double kFunction = 4.0;

/// Narrow floats are computed in f32.
double computed_in(graph::DType dtype) {
  return graph::epsilon(dtype == graph::DType::kF64 ? dtype : graph::DType::kF32);
}

bool is_power_of_two(const kernel::BodyNode& node) {
  int exponent = 0;
  return node.kind == kernel::BodyKind::kConstant && graph::is_float(node.dtype) &&
         std::abs(std::frexp(node.constant.as_double(), &exponent)) == 0.5;
}

/// Whether a value was computed without rounding: sums and products of whole numbers, which graphs
/// count with and round to, are whole, and those of ties have few digits behind the point. Others
/// are so once in many millions.
bool is_exact(const kernel::BodyNode& node, double value) {
  using graph::Op;
  constexpr double kParts = 16;
  const bool keeps = node.op == Op::kAdd || node.op == Op::kMul || node.op == Op::kCast ||
                     node.op == Op::kSum || node.op == Op::kProd;
  const double parts = kParts * value;
  return keeps && std::trunc(parts) == parts && std::abs(parts) * computed_in(node.dtype) <= 1.0 &&
         kernel::Evaluator::rounded(node.dtype, {value, 0}).real == value;
}

/// How far a value may be off when it is rounded, relative to it. Nothing where an op does not
/// round.
double last_place(const kernel::Arena& arena, const kernel::BodyNode& node) {
  using graph::Op;
  if (!graph::is_float(node.dtype)) return 0.0;
  if (node.kind == kernel::BodyKind::kReduce)
    return node.op == Op::kReduceMax ? 0.0 : graph::epsilon(node.dtype);
  if (node.kind != kernel::BodyKind::kOp) return 0.0;
  switch (node.op) {
    case Op::kMax:
    case Op::kFloor:
    case Op::kRound:
    case Op::kMod:
    case Op::kSelect:
    case Op::kCopy:
    case Op::kBitcast:
      return 0.0;
    case Op::kMul:
      if (is_power_of_two(arena[node.children[0]]) || is_power_of_two(arena[node.children[1]]))
        return 0.0;
      return graph::epsilon(node.dtype);
    case Op::kAdd:
    case Op::kCast:
      return graph::epsilon(node.dtype);
    default:
      return std::max(graph::epsilon(node.dtype), kFunction * computed_in(node.dtype));
  }
}

bool is_op(const kernel::BodyNode& node, graph::Op op) {
  return node.kind == kernel::BodyKind::kOp && node.op == op;
}

bool is_narrow(graph::DType dtype) {
  return graph::is_float(dtype) && graph::epsilon(dtype) >= graph::epsilon(graph::DType::kBF16);
}

/// Whether a value is rounded because the graph says so.
bool narrows(const kernel::Arena& arena, const kernel::BodyNode& node) {
  if (!is_op(node, graph::Op::kCast) || !graph::is_float(node.dtype)) return false;
  const graph::DType from = arena[node.children[0]].dtype;
  return graph::is_float(from) && graph::epsilon(node.dtype) > graph::epsilon(from);
}

/// Whether a result that is rounded is also part of another one.
bool is_used(const kernel::Arena& arena, const kernel::Kernel& kernel, kernel::BodyId value) {
  if (last_place(arena, arena[value]) == 0.0) return false;
  return std::ranges::any_of(kernel.roots, [&](const kernel::Root& root) {
    if (root.value == value) return false;
    const std::vector<kernel::BodyId> inside = arena.reachable(std::array{root.value});
    return std::ranges::count(inside, value) > 0;
  });
}

kernel::BodyId without_casts(const kernel::Arena& arena, kernel::BodyId id) {
  while (is_op(arena[id], graph::Op::kCast)) id = arena[id].children[0];
  return id;
}

}  // namespace

PointOracle::PointOracle(const kernel::Arena& arena, const kernel::Kernel& kernel,
                         const LeavingOffsets& offsets, const graph::DimValues& dims,
                         const kernel::Tensors& tensors, PointRounding rounding, uint64_t seed,
                         double scale)
    : arena_(arena),
      kernel_(kernel),
      evaluator_(arena, tensors, dims),
      seed_(support::hash_combine(seed, 0x5eed)),
      random_(seed_),
      scale_(scale),
      offsets_(offsets) {
  for (const kernel::Expr& axis : kernel.axes)
    extents_.push_back(evaluator_.extent(axis.axis_extent()));
  for (const kernel::Root& root : kernel.roots)
    shapes_.push_back(graph::extents_of(arena.tensor(root.tensor).shape, dims));
  if (rounding != PointRounding::kAsWritten)
    summed_products_ = codegen::summed_products(arena, kernel.roots);
  if (rounding == PointRounding::kWide) {
    for (const kernel::BodyId id : kernel::bodies_of(arena, kernel))
      if (is_product(arena[id])) products_[id] = {};
    evaluator_.rounding = [this](kernel::BodyId id, kernel::Number value, bool partial) {
      const graph::DType dtype = arena_[id].dtype;
      if (products_.contains(id)) note_factor(id, partial);
      if (offsets_.sums.contains(id)) note_leaving(id, value.real, partial);
      return partial || graph::is_float(dtype) ? bounded(id, value, partial)
                                               : kernel::Evaluator::rounded(dtype, value);
    };
  }
  if (rounding != PointRounding::kMoved) return;
  find_last_places();
  moved_alike_.resize(arena.size(), false);
  const std::set<kernel::BodyId> compared = codegen::sums_compared(arena, kernel);
  for (const kernel::BodyId id : arena.reachable(std::vector(compared.begin(), compared.end())))
    moved_alike_[id.value] = true;
  evaluator_.rounding = [this](kernel::BodyId id, kernel::Number value, bool partial) {
    return bounded(id, moved(id, value, partial), partial);
  };
}

kernel::Number PointOracle::bounded(kernel::BodyId id, kernel::Number value, bool partial) const {
  const graph::DType dtype = arena_[id].dtype;
  if (dtype != graph::DType::kF8E4M3 || partial || summed_products_.contains(id)) return value;
  const double end = graph::Scalar::of(dtype, std::numeric_limits<double>::max()).as_double();
  if (std::abs(value.real) > end) value.real = std::copysign(end, value.real);
  return value;
}

void PointOracle::find_last_places() {
  last_places_.resize(arena_.size(), 0.0);
  const std::vector<kernel::BodyId> bodies = kernel::bodies_of(arena_, kernel_);
  for (const kernel::BodyId id : bodies) last_places_[id.value] = last_place(arena_, arena_[id]);
  // What goes into a sum as a product is not rounded before it, results are rounded by others.
  const auto compute_wide = [&](kernel::BodyId id) {
    double& place = last_places_[id.value];
    place = std::min(place, computed_wide(id));
  };
  for (const kernel::Root& root : kernel_.roots) {
    if (is_used(arena_, kernel_, root.value))
      used_results_.emplace(root.value, 0.0);  // as it is stored, or with more digits
    else
      last_places_[root.value.value] = stored_place(root.value);
  }
  std::vector<kernel::BodyId> products;
  for (const kernel::BodyId id : bodies) {
    const kernel::BodyNode& node = arena_[id];
    if (node.kind != kernel::BodyKind::kReduce || node.op != graph::Op::kSum) continue;
    const kernel::BodyId term = without_casts(arena_, node.children[0]);
    if (!narrows(arena_, arena_[node.children[0]])) compute_wide(node.children[0]);
    if (is_narrow(node.dtype)) spare_functions(node.children[0]);
    if (!is_op(arena_[term], graph::Op::kMul)) continue;
    compute_wide(term);
    products.push_back(term);
  }
  // In the end, since a factor of one sum may be a term of another: the weights of attention are.
  for (const kernel::BodyId product : products) round_factors(arena_[product]);
}

/// Functions that end in bf16 or a narrower float have a few digits more than bf16, and no more
/// where they are added up before that (docs/kernels.md).
void PointOracle::spare_functions(kernel::BodyId below) {
  constexpr double kFewDigits = 0x1p-12;
  const std::set<kernel::BodyId> few = codegen::values_of_few_digits(arena_, kernel_.roots);
  for (const kernel::BodyId id : arena_.reachable(std::array{below})) {
    const kernel::BodyNode& node = arena_[id];
    if (node.kind != kernel::BodyKind::kOp || !may_have_few_digits(node.op)) continue;
    if (!is_narrow(node.dtype) && !few.contains(id)) continue;
    last_places_[id.value] = std::max(last_places_[id.value], kFewDigits);
  }
}

double PointOracle::computed_wide(kernel::BodyId id) const {
  return kFunction * computed_in(arena_[id].dtype);
}

/// How far a result is off before it is rounded to be stored.
double PointOracle::stored_place(kernel::BodyId id) const {
  const kernel::BodyNode& node = arena_[id];
  // From no more digits than kernels compute with.
  if (narrows(arena_, node) && arena_[node.children[0]].dtype != graph::DType::kF64) return 0.0;
  return std::min(last_place(arena_, node), computed_wide(id));
}

/// Dot instructions take both factors in the narrower format of the two.
void PointOracle::round_factors(const kernel::BodyNode& product) {
  double narrow = 0.0;
  for (const kernel::BodyId factor : product.children)
    narrow = std::max(narrow, graph::epsilon(arena_[without_casts(arena_, factor)].dtype));
  for (const kernel::BodyId factor : product.children) {
    const kernel::BodyNode& node = arena_[factor];
    const bool is_computed = node.kind == kernel::BodyKind::kReduce ||
                             (node.kind == kernel::BodyKind::kOp && node.op != graph::Op::kCast);
    if (is_computed) last_places_[factor.value] = std::max(last_places_[factor.value], narrow);
  }
}

kernel::Number PointOracle::moved(kernel::BodyId id, kernel::Number value, bool partial) {
  const graph::DType dtype = arena_[id].dtype;
  if (!graph::is_float(dtype)) return partial ? value : kernel::Evaluator::rounded(dtype, value);
  const bool is_sum = arena_[id].op != graph::Op::kReduceMax;
  const double place = partial ? (is_sum ? computed_in(dtype) : 0.0) : last_places_[id.value];
  const auto result = partial ? used_results_.end() : used_results_.find(id);
  if (result != used_results_.end()) result->second = value.real;
  if (const auto leaving = offsets_.sums.find(id); leaving != offsets_.sums.end()) {
    double& left = left_[id];
    // What is added up beside the sum is rounded, too, however little of both is left.
    const double off = partial ? add_leaving(leaving->second, left) + place * std::abs(left) : 0.0;
    if (!partial) left = 0.0;
    if (std::isfinite(off)) value.real += scale_ * off * random_unit(id, off);
  }
  if (place == 0.0 || is_exact(arena_[id], value.real)) return value;
  const double unit = random_unit(id, value.real);
  if (result != used_results_.end()) result->second *= 1.0 + scale_ * stored_place(id) * unit;
  return {value.real * (1.0 + scale_ * place * unit), 0};
}

double PointOracle::random_unit(kernel::BodyId id, double value) {
  random_ += 0x9e3779b97f4a7c15;  // splitmix64: some nanoseconds for each of millions of values
  uint64_t bits = moved_alike_[id.value] ? seed_ ^ std::bit_cast<uint64_t>(value) : random_;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1.0;
}

/// Gives what rounding the offset of this step may cost.
double PointOracle::add_leaving(const LeavingOffset& offset, double& left) {
  const double term = evaluator_.evaluate(offset.term).real;
  left += term;
  return offset.rounding * std::abs(term);
}

void PointOracle::note_leaving(kernel::BodyId id, double value, bool partial) {
  double& left = left_[id];
  if (!partial) {
    left = 0.0;
    return;
  }
  add_leaving(offsets_.sums.at(id), left);
  constexpr double kLargest = std::numeric_limits<float>::max() / 2;  // values are moved
  if (!(std::abs(value) < kLargest) || !(std::abs(left) < kLargest)) beyond_.insert(id);
}

bool PointOracle::offset_escapes(size_t root) const {
  if (beyond_.empty()) return false;
  const std::vector<kernel::BodyId> inside =
      arena_.reachable(std::array{kernel_.roots[root].value});
  return std::ranges::any_of(inside, [&](kernel::BodyId id) { return beyond_.contains(id); });
}

void PointOracle::note_factor(kernel::BodyId id, bool partial) {
  // As exponents, with some room: values are moved by rounding.
  constexpr double kF32 = 125, kF64 = 1021;
  Exponents& exponents = products_[id];
  if (partial) {
    const double factor = std::abs(evaluator_.evaluate(arena_[id].children[0]).real);
    exponents.infinite |= std::isinf(factor);
    if (factor == 0.0 || !std::isfinite(factor)) return;  // no part of it is a number then
    double& side = factor > 1.0 ? exponents.above : exponents.below;
    side += std::log2(factor);
    return;
  }
  const double range = arena_[id].dtype == graph::DType::kF64 ? kF64 : kF32;
  const bool vanishes = exponents.below < -range;
  // What vanished, times an infinity, is NaN.
  escapes_.to_infinity |= exponents.above > range || (vanishes && exponents.infinite);
  escapes_.to_zero |= vanishes;
  exponents = {};
}

bool PointOracle::is_empty() const {
  return std::find(extents_.begin(), extents_.end(), 0) != extents_.end();
}

std::optional<std::vector<int64_t>> PointOracle::axes_of(size_t root, int64_t position) {
  const std::vector<kernel::Expr>& store = kernel_.roots[root].store;
  const graph::Extents& shape = shapes_[root];
  std::vector<int64_t> index(shape.size());
  for (size_t k = shape.size(); k-- > 0; position /= shape[k]) index[k] = position % shape[k];
  // Each dim is a sum of axes times numbers, one axis running within the step of another.
  std::vector<int64_t> axes(extents_.size(), 0);
  const auto set_all = [&] {
    for (size_t k = 0; k < axes.size(); ++k) evaluator_.set_axis(kernel_.axes[k], axes[k]);
  };
  set_all();
  for (size_t dim = 0; dim < store.size(); ++dim) {
    int64_t left = index[dim] - evaluator_.evaluate(store[dim]);
    std::vector<std::pair<int64_t, size_t>> steps;
    for (size_t k = 0; k < axes.size(); ++k) {
      if (extents_[k] <= 1 || !store[dim].depends_on(kernel_.axes[k])) continue;
      const int64_t none = evaluator_.evaluate(store[dim]);
      evaluator_.set_axis(kernel_.axes[k], axes[k] + 1);
      steps.emplace_back(evaluator_.evaluate(store[dim]) - none, k);
      evaluator_.set_axis(kernel_.axes[k], axes[k]);
    }
    if (left < 0) return std::nullopt;  // another root stores it
    std::sort(steps.rbegin(), steps.rend());
    for (const auto& [step, k] : steps) {
      if (step <= 0) return std::nullopt;
      axes[k] = std::min(left / step, extents_[k] - 1);
      left -= axes[k] * step;
    }
  }
  set_all();
  for (size_t dim = 0; dim < store.size(); ++dim)
    if (evaluator_.evaluate(store[dim]) != index[dim]) return std::nullopt;
  return axes;
}

std::vector<PointValue> PointOracle::at(std::span<const int64_t> axes) {
  escapes_ = {};
  beyond_.clear();
  // Or nothing would be known of what another point computed.
  if (!products_.empty() || !offsets_.sums.empty()) forget();
  for (size_t k = 0; k < axes.size(); ++k) evaluator_.set_axis(kernel_.axes[k], axes[k]);
  std::vector<PointValue> points;
  for (size_t k = 0; k < kernel_.roots.size(); ++k) {
    const kernel::Root& root = kernel_.roots[k];
    std::vector<int64_t> index;
    for (const kernel::Expr& expr : root.store) index.push_back(evaluator_.evaluate(expr));
    const auto position = kernel::position_in(shapes_[k], index);
    if (!position) continue;
    kernel::Number number = evaluator_.evaluate(root.value);
    if (const auto used = used_results_.find(root.value); used != used_results_.end())
      number.real = used->second;
    const bool real = graph::is_float(arena_[root.value].dtype);
    points.push_back(
        {k, *position, real ? number.real : static_cast<double>(number.integer), number.integer});
  }
  return points;
}

bool may_have_few_digits(graph::Op op) {
  using graph::Op;
  return kernel::is_function(op) || op == Op::kSqrt || op == Op::kRecip || op == Op::kDiv;
}

bool is_product(const kernel::BodyNode& node) {
  return node.kind == kernel::BodyKind::kReduce && node.op == graph::Op::kProd &&
         graph::is_float(node.dtype);
}

double work_per_point(const kernel::Arena& arena, const kernel::Kernel& kernel,
                      const graph::DimValues& dims) {
  const symbolic::Values values(dims.begin(), dims.end());
  // Loops nest: the deepest chain of reductions multiplies.
  std::map<kernel::BodyId, double> inside;
  double total = 1;
  for (const kernel::BodyId id : kernel::bodies_of(arena, kernel)) {
    const kernel::BodyNode& node = arena[id];
    double work = 1;
    for (const kernel::BodyId child : node.children) work += inside[child];
    if (node.kind == kernel::BodyKind::kReduce)
      for (const kernel::Expr& axis : node.exprs)
        work *= static_cast<double>(symbolic::evaluate(axis.axis_extent(), values));
    inside[id] = std::min(work, 1e18);
    total = std::max(total, inside[id]);
  }
  return total;
}

double values_per_point(const kernel::Arena& arena, const kernel::Kernel& kernel,
                        const graph::DimValues& dims) {
  const symbolic::Values values(dims.begin(), dims.end());
  double total = 0;
  for (const kernel::BodyId id : kernel::bodies_of(arena, kernel)) {
    double positions = 1;
    for (const kernel::Expr& axis : arena[id].free)
      if (std::ranges::count(kernel.axes, axis) == 0 && !kernel::is_value_axis(axis))
        positions *= static_cast<double>(symbolic::evaluate(axis.axis_extent(), values));
    total += positions;
  }
  return total;
}

}  // namespace luminal::search
