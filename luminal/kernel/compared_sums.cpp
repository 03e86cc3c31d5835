#include "luminal/kernel/compared_sums.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace luminal::kernel {
namespace {

using graph::Node;

/// The sums of floats that a kernel computes and compares: what maxima are found among and what
/// jumps is made of, but for other sums.
class Compared {
 public:
  Compared(const Program& program, std::span<const NodeId> region)
      : program_(program), region_(region.begin(), region.end()) {
    for (const NodeId id : region) {
      const Node& node = program_.node(id);
      if (node.op == Op::kReduceMax || may_jump(node.op, node.dtype()))
        for (const graph::Edge& operand : node.operands) compare(operand.node);
    }
  }

  std::set<NodeId> sums;

 private:
  void compare(NodeId id) {
    const Node& node = program_.node(id);
    if (!region_.contains(id) || !graph::is_float(node.dtype()) || !seen_.insert(id).second) return;
    if (!graph::is_reduction(node.op)) {
      for (const graph::Edge& operand : node.operands) compare(operand.node);
    } else if (node.op != Op::kReduceMax) {
      sums.insert(id);
    }
  }

  const Program& program_;
  std::set<NodeId> region_;
  std::set<NodeId> seen_;
};

/// Sums of floats that are taken from themselves at another position.
class Differences {
 public:
  Differences(const Program& program, std::span<const NodeId> order) : program_(program) {
    for (const NodeId id : order) {
      const Node& node = program_.node(id);
      std::set<NodeId>& terms = terms_[id];
      if (!graph::is_float(node.dtype())) continue;
      if (graph::is_reduction(node.op)) {
        if (node.op != Op::kReduceMax) terms.insert(id);
      } else if (node.op == Op::kAdd) {
        const std::set<NodeId>& left = terms_of(node.operands[0]);
        const std::set<NodeId>& right = terms_of(node.operands[1]);
        std::set_intersection(left.begin(), left.end(), right.begin(), right.end(),
                              std::inserter(sums, sums.end()));
        terms = left;
        terms.insert(right.begin(), right.end());
      } else if (node.op == Op::kCast || node.op == Op::kCopy || is_scaling(node)) {
        for (const graph::Edge& operand : node.operands)
          terms.insert(terms_of(operand).begin(), terms_of(operand).end());
      }
    }
  }

  std::set<NodeId> sums;

 private:
  bool is_scaling(const Node& node) const {
    return node.op == Op::kMul &&
           std::any_of(node.operands.begin(), node.operands.end(), [&](const graph::Edge& each) {
             return program_.node(each.node).op == Op::kConstant;
           });
  }
  const std::set<NodeId>& terms_of(const graph::Edge& operand) { return terms_[operand.node]; }

  const Program& program_;
  std::map<NodeId, std::set<NodeId>> terms_;  // that a node adds up, with constant factors at most
};

}  // namespace

bool may_jump(Op op, DType dtype) {
  switch (op) {
    case Op::kLessThan:
    case Op::kEqual:
    case Op::kFloor:
    case Op::kRound:
    case Op::kMod:
      return true;
    case Op::kPow:  // a negative number has whole powers only
      return graph::is_float(dtype);
    case Op::kCast:
      return !graph::is_float(dtype);
    default:
      return false;
  }
}

Cut with_compared_sums(const Program& program, Cut cut, CutCosts& costs) {
  const std::set<NodeId> differences = Differences(program, costs.order()).sums;
  while (true) {
    std::map<NodeId, int> kernels;  // that compute a sum
    std::set<NodeId> compared = differences;
    for (const NodeId id : costs.order()) {
      if (!cut.contains(id) || is_opaque(program.node(id))) continue;
      const std::vector<NodeId>& region = costs.kernel(cut, id).region;
      for (const NodeId inside : region) ++kernels[inside];
      compared.merge(Compared(program, region).sums);
    }
    std::erase_if(compared, [&](NodeId id) { return cut.contains(id) || kernels[id] < 2; });
    if (compared.empty()) return cut;
    for (const NodeId id : compared) cut.insert(id);
  }
}

}  // namespace luminal::kernel
