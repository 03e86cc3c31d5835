#include "luminal/codegen/llvm/compared_sums.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>

#include "luminal/codegen/llvm/contraction_plan.h"
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

bool is_maximum(const BodyNode& node) {
  return node.kind == BodyKind::kReduce && node.op == Op::kReduceMax;
}

/// What the values use, users before operands, up to and with what `ends` says.
std::vector<BodyId> below(const Arena& arena, std::vector<BodyId> values,
                          const std::function<bool(const BodyNode&)>& ends) {
  std::set<BodyId> seen;
  while (!values.empty()) {
    const BodyId id = values.back();
    values.pop_back();
    if (!seen.insert(id).second || ends(arena[id])) continue;
    const BodyNode& node = arena[id];
    values.insert(values.end(), node.children.begin(), node.children.end());
    values.insert(values.end(), node.index_values.begin(), node.index_values.end());
  }
  // Operands are made before what uses them.
  return {seen.rbegin(), seen.rend()};
}

/// Where one body is the other at another position: found from indices that are an axis alone, and
/// proved by putting the position in.
class Position {
 public:
  Position(Arena& arena, BodyId body) : arena_(arena), body_(body) {}

  /// What the axes of the body are there, in their order; nothing if it is another one.
  std::optional<std::vector<Expr>> find(BodyId other) {
    at_.clear();
    nodes_ = kMostNodes;
    if (!collect(body_, other)) return std::nullopt;
    std::vector<Expr> position;
    for (const Expr& axis : arena_[body_].free) {
      const auto bound = std::find_if(at_.begin(), at_.end(),
                                      [&](const Binding& each) { return each.symbol == axis; });
      if (bound == at_.end() || !stays_in_range(bound->value, axis.axis_extent()))
        return std::nullopt;
      position.push_back(bound->value);
    }
    if (arena_.substitute(body_, at_) != other) return std::nullopt;
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

  Arena& arena_;
  BodyId body_;
  std::vector<Binding> at_;
  int nodes_ = 0;  // that may still be looked at
};

/// Finds and stores the sums of one kernel.
class Storing {
 public:
  Storing(Arena& arena, const kernel::Kernel& kernel, bool interchanged, LaunchList& launches)
      : arena_(arena), kernel_(kernel), interchanged_(interchanged), launches_(launches) {}

  kernel::Kernel run() {
    while (const auto sum = next()) store(*sum);
    return kernel_;
  }

 private:
  std::vector<BodyId> values() const {
    std::vector<BodyId> result;
    for (const kernel::Root& root : kernel_.roots) result.push_back(root.value);
    return result;
  }

  /// A sum beside a maximum that has it among its values.
  std::optional<BodyId> next() {
    const std::vector<BodyId> reached = arena_.reachable(values());
    std::vector<BodyId> maxima;
    std::copy_if(reached.begin(), reached.end(), std::back_inserter(maxima),
                 [&](BodyId id) { return is_maximum(arena_[id]); });
    const std::vector<BodyId> compared = arena_.reachable(maxima);
    const auto ends = [&](const BodyNode& node) {
      return is_maximum(node) || (interchanged_ && node.kind == BodyKind::kReduce);
    };
    for (const BodyId sum : below(arena_, values(), ends)) {
      if (!is_rounded_sum(arena_[sum])) continue;
      const bool is_repeated =
          std::any_of(arena_[sum].free.begin(), arena_[sum].free.end(), kernel::is_bound_axis);
      Position position(arena_, sum);
      if (std::any_of(compared.begin(), compared.end(), [&](BodyId other) {
            return (other != sum || is_repeated) && position.find(other);
          }))
        return sum;
    }
    return std::nullopt;
  }

  void store(BodyId sum) {
    const kernel::AxisSet axes = arena_[sum].free;
    graph::Shape shape;
    for (const Expr& axis : axes) shape.push_back(axis.axis_extent());
    const kernel::NodeId tensor = private_tensor(arena_, {arena_[sum].dtype, shape});
    launches_.add_stored(axes, sum, tensor, axes);
    kernel::Replacement replacement(arena_);
    Position position(arena_, sum);
    for (const BodyId other : arena_.reachable(values()))
      if (const auto at = position.find(other)) replacement.add(other, arena_.load(tensor, *at));
    for (kernel::Root& root : kernel_.roots) root.value = replacement(root.value);
  }

  Arena& arena_;
  kernel::Kernel kernel_;
  bool interchanged_;
  LaunchList& launches_;
};

}  // namespace

kernel::Kernel with_compared_sums_stored(Arena& arena, const kernel::Kernel& kernel,
                                         bool interchanged, LaunchList& launches) {
  return Storing(arena, kernel, interchanged, launches).run();
}

}  // namespace luminal::codegen
