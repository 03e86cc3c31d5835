#include "luminal/codegen/llvm/attention_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using symbolic::Expr;

bool is_float_cast(const Arena& arena, const BodyNode& node) {
  return node.kind == BodyKind::kOp && node.op == Op::kCast && graph::is_float(node.dtype) &&
         graph::is_float(arena[node.children[0]].dtype);
}

bool is_number(const BodyNode& node, double value) {
  return node.kind == BodyKind::kConstant && node.constant.as_double() == value;
}

/// Attention sums, compares and takes exponentials in f32.
bool is_at_most_f32(DType dtype) { return graph::is_float(dtype) && dtype != DType::kF64; }

class Matcher {
 public:
  Matcher(Arena& arena, const kernel::Kernel& kernel) : arena_(arena), kernel_(kernel) {}

  Recognised<AttentionPlan> run() {
    if (kernel_.roots.size() != 1) return Refusal{"it stores several results"};
    if (computes_bounded()) return Refusal{"it computes f8e4m3, which has no infinities"};
    // Neighbours that share a byte may be results of two threads.
    if (graph::bits(arena_[kernel_.roots[0].value].dtype) < 8)
      return Refusal{"it stores elements that are smaller than a byte"};
    if (find_output() && split_factors() && match_weight() && match_scores() && name_axes() &&
        match_values() && all_reductions_known())
      return plan_;
    return Refusal{why_};
  }

 private:
  /// Whether some value ends at the largest number of its dtype, which sums and exponentials here
  /// do not.
  bool computes_bounded() const {
    const std::vector<BodyId> bodies = arena_.reachable(std::span(&kernel_.roots[0].value, 1));
    return std::ranges::any_of(bodies, [&](BodyId id) {
      const BodyNode& node = arena_[id];
      const bool computes =
          node.kind == BodyKind::kReduce || (node.kind == BodyKind::kOp && node.op != Op::kCast);
      return computes && node.dtype == DType::kF8E4M3;
    });
  }

  bool refuse(std::string why) {
    why_ = std::move(why);
    return false;
  }

  std::vector<BodyId> reductions(BodyId root) const {
    std::vector<BodyId> result;
    for (const BodyId id : arena_.reachable(std::span(&root, 1)))
      if (arena_[id].kind == BodyKind::kReduce) result.push_back(id);
    return result;
  }

  /// The highest reduction: a sum over one axis.
  bool find_output() {
    const std::vector<BodyId> all = reductions(kernel_.roots[0].value);
    if (all.empty()) return refuse("it has no reduction");
    plan_.output = *std::max_element(all.begin(), all.end(), [&](BodyId a, BodyId b) {
      return arena_[a].height < arena_[b].height;
    });
    const BodyNode& node = arena_[plan_.output];
    if (node.op != Op::kSum || node.exprs.size() != 1 || node.height < 3)
      return refuse("it is no sum of products below a softmax");
    if (!is_at_most_f32(node.dtype))
      return refuse(fmt::format("it sums {}", graph::name(node.dtype)));
    plan_.key = node.exprs[0];
    return true;
  }

  void collect_factors(BodyId id, bool divides) {
    const BodyNode node = arena_[id];
    if (is_float_cast(arena_, node)) return collect_factors(node.children[0], divides);
    if (node.kind == BodyKind::kOp && node.op == Op::kMul) {
      collect_factors(node.children[0], divides);
      return collect_factors(node.children[1], divides);
    }
    if (node.kind == BodyKind::kOp && node.op == Op::kDiv) {
      collect_factors(node.children[0], divides);
      return collect_factors(node.children[1], !divides);
    }
    if (node.kind == BodyKind::kOp && node.op == Op::kRecip)
      return collect_factors(node.children[0], !divides);
    all_factors_.emplace_back(id, divides);
  }

  /// Factors are the weight, the values, and what does not depend on the key.
  bool split_factors() {
    collect_factors(arena_[plan_.output].children[0], false);
    for (const auto& [id, divides] : all_factors_) {
      const BodyNode& node = arena_[id];
      if (!is_at_most_f32(node.dtype))
        return refuse(fmt::format("a factor of its sum is {}", graph::name(node.dtype)));
      if (!kernel::contains(node.free, plan_.key)) {
        plan_.factors.emplace_back(id, divides);
      } else if (!divides && !weight_ && node.kind == BodyKind::kOp &&
                 (node.op == Op::kExp || node.op == Op::kExp2) && node.height > 0) {
        weight_ = id;
      } else {
        value_factors_.emplace_back(id, divides);
      }
    }
    if (!weight_) return refuse("no factor of its sum is the exponential of a score");
    if (value_factors_.empty()) return refuse("its sum has weights and no values");
    return true;
  }

  /// What is left of the factors: they must stay within the axes of one of them, or the values
  /// would be others for every query.
  bool match_values() {
    const auto widest = std::max_element(
        value_factors_.begin(), value_factors_.end(), [&](const auto& a, const auto& b) {
          return std::pair(!a.second, arena_[a.first].free.size()) <
                 std::pair(!b.second, arena_[b.first].free.size());
        });
    if (widest->second) return refuse("it divides by what the weights should be multiplied with");
    BodyId value = widest->first;
    for (auto factor = value_factors_.begin(); factor != value_factors_.end(); ++factor) {
      if (factor == widest) continue;
      const auto& [id, divides] = *factor;
      if (!kernel::is_subset(arena_[id].free, arena_[value].free))
        return refuse("its values are others for every query");
      value = arena_.op(divides ? Op::kDiv : Op::kMul, DType::kF32, {as_f32(value), as_f32(id)});
    }
    const auto operand = attention_operand(arena_, value, plan_.depth);
    if (!operand) return refuse("its values are sums themselves");
    plan_.values = *operand;
    return true;
  }

  BodyId as_f32(BodyId id) {
    return arena_[id].dtype == DType::kF32 ? id : arena_.op(Op::kCast, DType::kF32, {id});
  }

  BodyId renamed(BodyId id, const Expr& from, const Expr& to) {
    if (from == to) return id;
    const symbolic::Binding binding{from, to};
    return arena_.substitute(id, std::span(&binding, 1));
  }

  /// weight = exp(score - max of the scores).
  bool match_weight() {
    const BodyNode weight = arena_[*weight_];
    plan_.base_two = weight.op == Op::kExp2;
    const BodyNode sum = arena_[weight.children[0]];
    if (sum.kind != BodyKind::kOp || sum.op != Op::kAdd)
      return refuse("its weights are not relative to the largest score");
    for (size_t k = 0; k < 2; ++k) {
      const auto max = negated_max(sum.children[k]);
      if (!max) continue;
      const BodyNode most = arena_[*max];
      const BodyId score = sum.children[1 - k];
      if (!is_at_most_f32(most.dtype) || most.exprs.size() != 1 ||
          most.exprs[0].axis_extent() != plan_.key.axis_extent() ||
          without_casts(renamed(most.children[0], most.exprs[0], plan_.key)) !=
              without_casts(score))
        continue;
      plan_.score = score;
      plan_.maxima = {*max};
      return true;
    }
    return refuse("its weights are not relative to the largest score of the same keys");
  }

  BodyId without_casts(BodyId id) const {
    while (is_float_cast(arena_, arena_[id])) id = arena_[id].children[0];
    return id;
  }

  std::optional<BodyId> negated_max(BodyId id) const {
    const BodyNode& node = arena_[without_casts(id)];
    if (node.kind != BodyKind::kOp || node.op != Op::kMul) return std::nullopt;
    for (size_t k = 0; k < 2; ++k) {
      const BodyId max = without_casts(node.children[k]);
      if (arena_[max].kind == BodyKind::kReduce && arena_[max].op == Op::kReduceMax &&
          is_number(arena_[node.children[1 - k]], -1))
        return max;
    }
    return std::nullopt;
  }

  /// The one product inside of the score, and tests around it.
  bool match_scores() {
    const std::vector<BodyId> inside = reductions(plan_.score);
    if (inside.size() != 1)
      return refuse(fmt::format("its scores hold {} sums and not one", inside.size()));
    plan_.products = inside[0];
    const BodyNode product = arena_[plan_.products];
    if (!is_at_most_f32(product.dtype))
      return refuse(fmt::format("its scores are sums of {}", graph::name(product.dtype)));
    if (product.exprs.size() != 1 || !kernel::contains(product.free, plan_.key))
      return refuse("its scores are no product of queries and keys over one axis");
    plan_.inner = product.exprs[0];
    const auto contraction = kernel::match_contraction(arena_, plan_.products);
    if (!contraction) return refuse("its scores are no sum of products");
    for (const bool swapped : {false, true}) {
      const kernel::ContractionOperand& keys = swapped ? contraction->a : contraction->b;
      const kernel::ContractionOperand& queries = swapped ? contraction->b : contraction->a;
      if (!kernel::contains(arena_[keys.value].free, plan_.key) ||
          kernel::contains(arena_[queries.value].free, plan_.key))
        continue;
      const auto operand = attention_operand(arena_, keys.value, plan_.inner);
      if (!operand) continue;
      plan_.keys = *operand;
      plan_.queries = queries.value;
      find_conditions();
      return true;
    }
    return refuse("its keys are others for every query, or sums themselves");
  }

  void find_conditions() {
    BodyId id = without_casts(plan_.score);
    while (arena_[id].kind == BodyKind::kWhere &&
           is_number(arena_[arena_[id].children[1]], -std::numeric_limits<double>::infinity())) {
      const std::vector<Expr>& tests = arena_[id].exprs;
      plan_.conditions.insert(plan_.conditions.end(), tests.begin(), tests.end());
      id = without_casts(arena_[id].children[0]);
    }
    for (const BodyId each : arena_.reachable(std::span(&plan_.score, 1))) {
      const BodyNode& node = arena_[each];
      if (node.kind == BodyKind::kLoad && kernel::contains(node.free, plan_.key) &&
          !kernel::contains(node.free, plan_.inner))
        plan_.cheap_score = false;
      if (node.kind == BodyKind::kOp && !kernel::contains(node.free, plan_.inner) &&
          node.op != Op::kMul && node.op != Op::kAdd && node.op != Op::kCast)
        plan_.cheap_score = false;
    }
  }

  /// Depth is the axis that values have and scores do not; the query axis is one that queries have
  /// and keys do not, the longest for choice.
  bool name_axes() {
    const kernel::AxisSet& scored = arena_[plan_.score].free;
    kernel::AxisSet valued;
    for (const auto& [id, divides] : value_factors_)
      valued = kernel::union_of(valued, arena_[id].free);
    std::vector<Expr> depths;
    for (const Expr& axis : kernel_.axes)
      if (!kernel::contains(scored, axis) && kernel::contains(valued, axis)) depths.push_back(axis);
    if (depths.size() != 1)
      return refuse(fmt::format("its values have {} axes of their own and not one", depths.size()));
    if (!depths[0].axis_extent().is_constant() || !plan_.inner.axis_extent().is_constant())
      return refuse("the size of its heads is not known before it runs");
    plan_.depth = depths[0];
    plan_.query = 0;
    for (const Expr& axis : kernel_.axes) {
      if (axis == plan_.depth) continue;
      plan_.rows.push_back(axis);
      const bool shares = !kernel::contains(arena_[plan_.keys.value].free, axis) &&
                          !kernel::contains(valued, axis) && kernel::contains(scored, axis);
      if (shares && (!plan_.query.is_axis() || is_longer(axis, plan_.query))) plan_.query = axis;
    }
    std::erase(plan_.rows, plan_.query);
    return true;
  }

  /// Ties go to the later axis.
  static bool is_longer(const Expr& axis, const Expr& than) {
    const auto a = axis.axis_extent().constant_value();
    const auto b = than.axis_extent().constant_value();
    return !a || (b && *a >= *b);
  }

  /// Every reduction must be one of those we compute, or be inside of one.
  bool all_reductions_known() {
    const std::vector<BodyId> all = reductions(kernel_.roots[0].value);
    for (const BodyId id : all)
      if (is_total(id)) plan_.totals.push_back(id);
    std::vector<BodyId> known = plan_.totals;
    known.push_back(plan_.maxima[0]);
    known.push_back(plan_.products);
    const std::vector<BodyId> below = arena_.reachable(known);
    return std::all_of(all.begin(), all.end(),
                       [&](BodyId id) {
                         return id == plan_.output ||
                                std::find(below.begin(), below.end(), id) != below.end();
                       }) ||
           refuse("it holds a reduction that is not part of attention");
  }

  /// The sum of the weights, under whatever name of the key axis.
  bool is_total(BodyId id) {
    const BodyNode node = arena_[id];
    return id != plan_.output && node.op == Op::kSum && node.exprs.size() == 1 &&
           node.exprs[0].axis_extent() == plan_.key.axis_extent() && is_at_most_f32(node.dtype) &&
           without_casts(renamed(node.children[0], node.exprs[0], plan_.key)) == *weight_;
  }

  Arena& arena_;
  const kernel::Kernel& kernel_;
  AttentionPlan plan_;
  std::vector<std::pair<BodyId, bool>> all_factors_;
  std::optional<BodyId> weight_;
  std::string why_;                                     // of what was refused
  std::vector<std::pair<BodyId, bool>> value_factors_;  // true for divisors
};

}  // namespace

Recognised<AttentionPlan> match_attention(Arena& arena, const kernel::Kernel& kernel) {
  return Matcher(arena, kernel).run();
}

}  // namespace luminal::codegen
