// The online law: which sums can be found in the same pass as the maximum they are relative to.
#include <algorithm>

#include "luminal/kernel/laws.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

/// Finds E = exp(a - max) in what is summed and says whether the sum is linear in it.
class OnlineMatch {
 public:
  OnlineMatch(Arena& arena, BodyId max, BodyId sum) : arena_(arena), max_(max) {
    const BodyNode most = arena[max], total = arena[sum];
    std::vector<symbolic::Binding> bindings;
    for (size_t k = 0; k < most.exprs.size(); ++k)
      if (most.exprs[k] != total.exprs[k]) bindings.push_back({most.exprs[k], total.exprs[k]});
    // The sum is higher than the maximum inside it, so this renames upwards.
    exponent_ = arena.substitute(most.children[0], bindings);
    linear_ = is_linear(total.children[0]);
  }

  bool linear() const { return linear_; }
  Op exponential() const { return exponential_; }

 private:
  bool uses_max(BodyId id) const {
    const std::vector<BodyId> below = arena_.reachable(std::span(&id, 1));
    return std::find(below.begin(), below.end(), max_) != below.end();
  }

  bool is_negated_max(BodyId id) const {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kOp || node.op != Op::kMul) return false;
    for (int k = 0; k < 2; ++k) {
      const BodyNode& other = arena_[node.children[static_cast<size_t>(1 - k)]];
      if (node.children[static_cast<size_t>(k)] == max_ && other.kind == BodyKind::kConstant &&
          other.constant == Scalar::of(node.dtype, -1))
        return true;
    }
    return false;
  }

  bool is_exponential(BodyId id) {
    const BodyNode& node = arena_[id];
    if (node.kind != BodyKind::kOp || (node.op != Op::kExp && node.op != Op::kExp2)) return false;
    const BodyNode& sum = arena_[node.children[0]];
    if (sum.kind != BodyKind::kOp || sum.op != Op::kAdd) return false;
    for (size_t k = 0; k < 2; ++k) {
      if (!is_negated_max(sum.children[k]) || sum.children[1 - k] != exponent_) continue;
      const bool first = !found_;
      found_ = true;
      if (first) exponential_ = node.op;
      return first || exponential_ == node.op;
    }
    return false;
  }

  bool is_linear(BodyId id) {
    if (is_exponential(id)) return true;
    const BodyNode node = arena_[id];
    if (node.kind == BodyKind::kWhere) {
      const BodyNode& zero = arena_[node.children[1]];
      return zero.kind == BodyKind::kConstant && zero.constant.as_double() == 0.0 &&
             is_linear(node.children[0]);
    }
    if (node.kind != BodyKind::kOp) return false;
    if (node.op == Op::kDiv) return !uses_max(node.children[1]) && is_linear(node.children[0]);
    if (node.op != Op::kMul) return false;
    for (size_t k = 0; k < 2; ++k)
      if (!uses_max(node.children[1 - k])) return is_linear(node.children[k]);
    return false;
  }

  Arena& arena_;
  BodyId max_;
  BodyId exponent_;
  Op exponential_ = Op::kExp;
  bool found_ = false;
  bool linear_ = false;
};

bool could_pair(const Arena& arena, BodyId max, BodyId sum) {
  const BodyNode& most = arena[max];
  const BodyNode& total = arena[sum];
  if (most.kind != BodyKind::kReduce || most.op != Op::kReduceMax) return false;
  if (total.kind != BodyKind::kReduce || total.op != Op::kSum) return false;
  // f8e4m3 has no infinity to start from.
  const bool infinite = is_float(most.dtype) && most.dtype != DType::kF8E4M3;
  if (!infinite || most.dtype != total.dtype || total.height <= most.height) return false;
  if (most.exprs.size() != total.exprs.size()) return false;
  for (size_t k = 0; k < most.exprs.size(); ++k)
    if (most.exprs[k].axis_extent() != total.exprs[k].axis_extent()) return false;
  return true;
}

}  // namespace

bool is_online_pair(Arena& arena, BodyId max, BodyId sum) {
  return could_pair(arena, max, sum) && OnlineMatch(arena, max, sum).linear();
}

Op online_exponential(Arena& arena, BodyId max, BodyId sum) {
  const OnlineMatch match(arena, max, sum);
  LUMINAL_CHECK(match.linear());
  return match.exponential();
}

}  // namespace luminal::kernel
