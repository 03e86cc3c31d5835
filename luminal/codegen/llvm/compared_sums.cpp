#include "luminal/codegen/llvm/compared_sums.h"

#include <algorithm>

#include "luminal/codegen/llvm/few_digits.h"
#include "luminal/codegen/llvm/fused_math.h"
#include "luminal/codegen/llvm/nest_flatten.h"
#include "luminal/kernel/replacement.h"

namespace luminal::codegen {
namespace {

using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Binding;
using symbolic::Expr;

/// Whether the order of its terms matters.
bool is_rounded_sum(const BodyNode& node) {
  return node.kind == BodyKind::kReduce && node.op != Op::kReduceMax && graph::is_float(node.dtype);
}

std::vector<BodyId> values_of(const kernel::Kernel& kernel) {
  std::vector<BodyId> result;
  for (const kernel::Root& root : kernel.roots) result.push_back(root.value);
  return result;
}

std::vector<BodyId> sums_of(const Arena& arena, const kernel::Kernel& kernel) {
  std::vector<BodyId> result = arena.reachable(values_of(kernel));
  std::erase_if(result, [&](BodyId id) { return !is_rounded_sum(arena[id]); });
  return result;
}

bool has_sum(const Arena& arena, BodyId id) {
  const std::vector<BodyId> inside = arena.reachable(std::span(&id, 1));
  return std::any_of(inside.begin(), inside.end(),
                     [&](BodyId each) { return is_rounded_sum(arena[each]); });
}

/// Where one body is the other at another position: found from indices that are an axis alone, and
/// proved by putting the position in.
class PositionFinder {
 public:
  PositionFinder(const Arena& arena, BodyId body) : arena_(arena), body_(body) {}

  /// Whether the other differs in indices at most.
  bool has_form_of(BodyId other) {
    at_.clear();
    nodes_ = kMostNodes;
    return collect(body_, other);
  }

  /// What the axes of the body are where it is the other, in their order; nothing if it nowhere is.
  std::optional<std::vector<Expr>> find(Arena& arena, BodyId other) {
    if (!has_form_of(other)) return std::nullopt;
    std::vector<Expr> position;
    for (const Expr& axis : arena_[body_].free) {
      const auto bound = std::find_if(at_.begin(), at_.end(),
                                      [&](const Binding& each) { return each.symbol == axis; });
      if (bound == at_.end() || !stays_in_range(bound->value, axis.axis_extent()))
        return std::nullopt;
      position.push_back(bound->value);
    }
    if (arena.substitute(body_, at_) != other) return std::nullopt;
    return position;
  }

 private:
  bool collect(BodyId one, BodyId other) {
    const BodyNode& left = arena_[one];
    const BodyNode& right = arena_[other];
    if (--nodes_ < 0 || left.kind != right.kind || left.op != right.op ||
        left.tensor != right.tensor || left.exprs.size() != right.exprs.size() ||
        left.children.size() != right.children.size())
      return false;
    if (left.kind == BodyKind::kConstant) return one == other;
    if (left.kind == BodyKind::kLoad || left.kind == BodyKind::kIota)
      for (size_t k = 0; k < left.exprs.size(); ++k)
        if (left.exprs[k].is_axis() && kernel::contains(arena_[body_].free, left.exprs[k]))
          at_.push_back({left.exprs[k], right.exprs[k]});
    const size_t before = at_.size();
    if (collect_all(left.children, right.children)) return true;
    at_.resize(before);
    // Operands of sums and products are in the order in which they came to be.
    return left.children.size() == 2 &&
           collect_all(left.children, {right.children[1], right.children[0]});
  }

  bool collect_all(const std::vector<BodyId>& left, const std::vector<BodyId>& right) {
    return std::equal(left.begin(), left.end(), right.begin(),
                      [&](BodyId one, BodyId other) { return collect(one, other); });
  }

  static constexpr int kMostNodes = 1024;

  const Arena& arena_;
  BodyId body_;
  std::vector<Binding> at_;
  int nodes_ = 0;  // that may still be looked at
};

/// The sums that a value is made of by adding up, with constant factors at most.
void add_terms(const Arena& arena, BodyId id, std::set<BodyId>& terms) {
  const BodyNode& node = arena[id];
  if (is_rounded_sum(node)) {
    terms.insert(id);
  } else if (node.kind == BodyKind::kWhere) {
    for (const BodyId child : node.children) add_terms(arena, child, terms);
  } else if (node.kind == BodyKind::kOp && graph::is_float(node.dtype)) {
    const auto is_constant = [&](BodyId each) { return arena[each].kind == BodyKind::kConstant; };
    const bool scales =
        node.op == Op::kMul && std::any_of(node.children.begin(), node.children.end(), is_constant);
    if (scales || node.op == Op::kAdd || node.op == Op::kCast || node.op == Op::kCopy)
      for (const BodyId child : node.children) add_terms(arena, child, terms);
  }
}

/// The sums that are compared, by what sees the least difference or by being taken from each other:
/// of what is 0 as the graph has it a reciprocal is infinite.
std::set<BodyId> compared_in(const Arena& arena, const kernel::Kernel& kernel) {
  std::set<BodyId> result = values_compared(arena, kernel.roots);
  for (const BodyId id : arena.reachable(values_of(kernel))) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kOp || node.op != Op::kAdd || !graph::is_float(node.dtype)) continue;
    std::set<BodyId> terms;
    add_terms(arena, id, terms);
    for (const BodyId one : terms)
      for (const BodyId other : terms)
        if (one != other && PositionFinder(arena, one).has_form_of(other)) result.insert(one);
  }
  return result;
}

/// Finds and stores the sums of one kernel.
class ComparedSums {
 public:
  ComparedSums(Arena& arena, const kernel::Kernel& kernel, bool interchanged, LaunchList& launches)
      : arena_(arena), kernel_(kernel), interchanged_(interchanged), launches_(launches) {}

  StoredSums stored() {
    while (const auto sum = next()) store(*sum);
    return {kernel_, std::move(sums_)};
  }

 private:
  /// A sum that is needed at several positions, some of which are compared.
  std::optional<BodyId> next() {
    const std::vector<BodyId> sums = sums_of(arena_, kernel_);
    const std::set<BodyId> compared = compared_in(arena_, kernel_);
    for (const BodyId sum : in_loop_of_results(sums))
      for (const BodyId other : sums) {
        if (!compared.contains(sum) && !compared.contains(other)) continue;
        // Several reductions have the same axes, and so the same sum.
        if (other == sum &&
            std::none_of(arena_[sum].free.begin(), arena_[sum].free.end(), kernel::is_bound_axis))
          continue;
        if (PositionFinder(arena_, sum).find(arena_, other)) return sum;
        if (PositionFinder(arena_, other).find(arena_, sum)) return other;
      }
    return std::nullopt;
  }

  /// Those that the loop of the results adds up itself, users before operands.
  std::vector<BodyId> in_loop_of_results(const std::vector<BodyId>& sums) const {
    std::vector<BodyId> values = values_of(kernel_);
    std::set<BodyId> seen;
    while (!values.empty()) {
      const BodyId id = values.back();
      values.pop_back();
      const BodyNode& node = arena_[id];
      const bool is_reduction = node.kind == BodyKind::kReduce;
      if (!seen.insert(id).second || (is_reduction && (interchanged_ || node.op == Op::kReduceMax)))
        continue;
      values.insert(values.end(), node.children.begin(), node.children.end());
      values.insert(values.end(), node.index_values.begin(), node.index_values.end());
    }
    std::vector<BodyId> result(sums.rbegin(), sums.rend());
    std::erase_if(result, [&](BodyId id) { return !seen.contains(id); });
    return result;
  }

  void store(BodyId sum) {
    const kernel::AxisSet axes = arena_[sum].free;
    const kernel::NodeId tensor = private_tensor(arena_, arena_[sum].dtype, axes);
    launches_.add_stored(axes, sum, tensor, axes);
    sums_.push_back({axes, {{tensor, sum, axes}}});
    kernel::Replacement replacement(arena_);
    for (const BodyId other : sums_of(arena_, kernel_))
      if (const auto at = PositionFinder(arena_, sum).find(arena_, other))
        replacement.add(other, arena_.load(tensor, *at));
    for (kernel::Root& root : kernel_.roots) root.value = replacement(root.value);
  }

  Arena& arena_;
  kernel::Kernel kernel_;
  std::vector<kernel::Kernel> sums_;
  bool interchanged_;
  LaunchList& launches_;
};

}  // namespace

std::set<BodyId> sums_compared(const Arena& arena, const kernel::Kernel& kernel) {
  const std::vector<BodyId> sums = sums_of(arena, kernel);
  const std::set<BodyId> compared = compared_in(arena, kernel);
  std::set<BodyId> result;
  for (const BodyId sum : sums)
    for (const BodyId other : sums) {
      if (other == sum || !compared.contains(sum)) continue;
      if (PositionFinder(arena, sum).has_form_of(other)) result.insert({sum, other});
    }
  return result;
}

bool compares_sums(const Arena& arena, const kernel::Kernel& kernel) {
  const std::vector<BodyId> reached = arena.reachable(values_of(kernel));
  return std::any_of(reached.begin(), reached.end(),
                     [&](BodyId id) {
                       return subtracts_extreme(arena, arena[id]) && has_sum(arena, id);
                     }) ||
         !sums_compared(arena, kernel).empty();
}

StoredSums with_compared_sums_stored(Arena& arena, const kernel::Kernel& kernel, bool interchanged,
                                     LaunchList& launches) {
  return ComparedSums(arena, kernel, interchanged, launches).stored();
}

}  // namespace luminal::codegen
