#include "luminal/search/far_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "luminal/kernel/estimate.h"
#include "luminal/kernel/evaluate.h"
#include "luminal/kernel/reads.h"

namespace luminal::search {
namespace {

using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;

bool is_op(const BodyNode& node, Op op) { return node.kind == BodyKind::kOp && node.op == op; }

/// The load that a value is but for casts and constant factors; null if it is none of floats.
const BodyNode* plain_load(const Arena& arena, BodyId id) {
  while (true) {
    const BodyNode& node = arena[id];
    if (node.kind == BodyKind::kLoad)
      return graph::is_float(node.dtype) && node.index_values.empty() ? &node : nullptr;
    if (is_op(node, Op::kCast)) {
      id = node.children[0];
    } else if (is_op(node, Op::kMul)) {
      const bool first = arena[node.children[0]].kind == BodyKind::kConstant;
      if (!first && arena[node.children[1]].kind != BodyKind::kConstant) return nullptr;
      id = node.children[first ? 1 : 0];
    } else {
      return nullptr;
    }
  }
}

/// The one dim of a load that axes move.
std::optional<size_t> dim_along(const BodyNode& load, const std::vector<symbolic::Expr>& axes) {
  std::optional<size_t> found;
  for (size_t dim = 0; dim < load.exprs.size(); ++dim)
    for (const symbolic::Expr& axis : axes) {
      if (!load.exprs[dim].depends_on(axis) || found == dim) continue;
      if (found) return std::nullopt;
      found = dim;
    }
  return found;
}

bool uses(const BodyNode& node, const std::vector<symbolic::Expr>& axes) {
  return std::ranges::any_of(
      axes, [&](const symbolic::Expr& axis) { return kernel::contains(node.free, axis); });
}

/// Looks for what the scores are made of that a maximum is taken of.
class Finder {
 public:
  Finder(const Arena& arena, const BodyNode& maximum) : arena_(arena), along_(maximum.exprs) {}

  void find(BodyId id) {
    const BodyNode& node = arena_[id];
    if (node.kind == BodyKind::kReduce) return find_product(node);
    if (is_op(node, Op::kAdd))
      for (const BodyId child : node.children) find_mask(child);
    if (node.kind == BodyKind::kOp || node.kind == BodyKind::kWhere)
      for (const BodyId child : node.children) find(child);
  }
  std::optional<FarRows> found() {
    if (products_ != 1) return std::nullopt;
    // What is read as both, as tables of rotations are, stays as it is.
    const auto is_shared = [](const auto& other) {
      return [&](const auto& each) { return other.contains(each.first); };
    };
    const FarRows all = rows_;
    std::erase_if(rows_.queries, is_shared(all.keys));
    std::erase_if(rows_.queries, is_shared(all.masks));
    std::erase_if(rows_.masks, is_shared(all.queries));
    std::erase_if(rows_.masks, is_shared(all.keys));
    std::erase_if(rows_.keys, is_shared(all.queries));
    std::erase_if(rows_.keys, is_shared(all.masks));
    return rows_;
  }

 private:
  void find_product(const BodyNode& sum) {
    if (sum.op != Op::kSum) return;
    BodyId term = sum.children[0];
    while (is_op(arena_[term], Op::kCast)) term = arena_[term].children[0];
    if (!is_op(arena_[term], Op::kMul)) return;
    ++products_;
    BodyId query = arena_[term].children[0];
    BodyId key = arena_[term].children[1];
    if (uses(arena_[query], along_)) std::swap(query, key);
    if (uses(arena_[query], along_) || !uses(arena_[key], along_)) return;
    add_loads(query, sum.exprs, rows_.queries);
    add_loads(key, sum.exprs, rows_.keys);
  }
  /// Loads of floats that an operand is a polynomial of, scaled, biased or rotated.
  void add_loads(BodyId operand, const std::vector<symbolic::Expr>& summed,
                 std::map<kernel::NodeId, size_t>& dims) {
    const BodyNode& node = arena_[operand];
    if (const BodyNode* load = plain_load(arena_, operand)) {
      if (const auto dim = dim_along(*load, summed)) dims[load->tensor] = *dim;
    } else if (node.kind == BodyKind::kWhere || is_op(node, Op::kMul) || is_op(node, Op::kAdd) ||
               is_op(node, Op::kCast)) {
      for (const BodyId child : node.children) add_loads(child, summed, dims);
    }
  }
  void find_mask(BodyId id) {
    const BodyNode* load = plain_load(arena_, id);
    if (load == nullptr) return;
    if (const auto dim = dim_along(*load, along_)) rows_.masks[load->tensor] = *dim;
  }

  const Arena& arena_;
  const std::vector<symbolic::Expr>& along_;
  int products_ = 0;
  FarRows rows_;
};

/// So far from 0 that nothing else is seen beside it, and that what is made of it, rounded to the
/// same dtype, is in range.
double far_from_zero(graph::DType dtype) {
  switch (dtype) {
    case graph::DType::kF8E4M3:
      return 448.0 / 8;
    case graph::DType::kF8E5M2:
    case graph::DType::kF16:
      return 57344.0 / 8;
    default:
      return 1e12;
  }
}

/// Calls function(row, first position, step) for all rows along a dim.
template <typename Function>
void for_each_row(const graph::Extents& extents, size_t dim, const Function& function) {
  int64_t inner = 1;
  for (size_t k = dim + 1; k < extents.size(); ++k) inner *= extents[k];
  const int64_t block = inner * extents[dim];
  int64_t size = 1;
  for (const int64_t extent : extents) size *= extent;
  if (block == 0) return;
  int64_t row = 0;
  for (int64_t begin = 0; begin < size; begin += block)
    for (int64_t k = 0; k < inner; ++k) function(row++, begin + k, inner);
}

/// The first values of a row of queries: more than one, of one sign, or their sum would have the
/// same bits in every order, and scores that are computed twice would be equal.
constexpr std::array kParts = {1.0, 0.37, 0.29};

/// Calls function(row, position, number of the part) for the first values of all rows along a dim.
template <typename Function>
void for_each_far(const graph::Array& array, size_t dim, const Function& function) {
  const auto length = static_cast<size_t>(array.extents()[dim]);
  for_each_row(array.extents(), dim, [&](int64_t row, int64_t first, int64_t step) {
    for (size_t k = 0; k < std::min(length, kParts.size()); ++k)
      function(row, first + static_cast<int64_t>(k) * step, k);
  });
}

}  // namespace

std::optional<FarRows> far_rows(const Arena& arena, const kernel::Kernel& kernel) {
  const std::vector<BodyId> bodies = kernel::bodies_of(arena, kernel);
  const bool has_functions = std::ranges::any_of(bodies, [&](BodyId id) {
    return arena[id].kind == BodyKind::kOp && kernel::is_function(arena[id].op);
  });
  if (!has_functions) return std::nullopt;
  for (const BodyId id : bodies) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kReduce || node.op != Op::kReduceMax) continue;
    Finder finder(arena, node);
    finder.find(node.children[0]);
    const std::optional<FarRows> found = finder.found();
    if (found && (!found->queries.empty() || !found->masks.empty())) return found;
  }
  return std::nullopt;
}

void make_far(const FarRows& rows, kernel::NodeId tensor, graph::Array& array) {
  const graph::DType dtype = array.dtype();
  const double largest = far_from_zero(dtype);
  const auto store = [&](int64_t position, double value) {
    const double limited = std::clamp(value, -largest, largest);
    kernel::store(array, position, kernel::Evaluator::rounded(dtype, {limited, 0}));
  };
  if (const auto found = rows.queries.find(tensor); found != rows.queries.end()) {
    // Most rows, so that few points meet some; any factor behind the product leaves them far.
    constexpr std::array kFirst = {-1e3, -1e12, 0.5, 1e12, -3e4};
    for_each_far(array, found->second, [&](int64_t row, int64_t position, size_t number) {
      store(position, kParts[number] * kFirst[static_cast<size_t>(row) % kFirst.size()]);
    });
  }
  if (const auto found = rows.keys.find(tensor); found != rows.keys.end()) {
    for_each_far(array, found->second, [&](int64_t, int64_t position, size_t) {
      store(position, std::abs(array.at(position).as_double()) / 2 + 0.5);
    });
  }
  if (const auto found = rows.masks.find(tensor); found != rows.masks.end()) {
    constexpr int64_t kEvery = 3;  // others tell whether the mask is added at all
    const int64_t length = array.extents()[found->second];
    for_each_row(array.extents(), found->second, [&](int64_t row, int64_t first, int64_t step) {
      for (int64_t k = 0; row % kEvery == 1 && k < length; ++k) store(first + k * step, -1e12);
    });
  }
}

}  // namespace luminal::search
