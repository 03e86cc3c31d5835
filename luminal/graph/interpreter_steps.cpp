#include "luminal/graph/interpreter_steps.h"

#include <algorithm>

#include "luminal/support/check.h"

namespace luminal::graph {
namespace {

class Planner {
 public:
  explicit Planner(const Graph& graph)
      : graph_(graph),
        live_(graph.size(), false),
        uses_(graph.size(), 0),
        on_the_way_(graph.size(), false) {
    mark_live();
  }

  std::vector<Step> plan() {
    // From the last node back: a reduction claims the nodes it computes on the way before their
    // turn comes.
    std::vector<Step> steps;
    for (uint32_t i = static_cast<uint32_t>(graph_.size()); i-- > 0;)
      if (live_[i] && !on_the_way_[i]) steps.push_back(step_of(NodeId{i}));
    std::reverse(steps.begin(), steps.end());
    find_last_reads(steps);
    return steps;
  }

 private:
  void mark_live() {
    for (const Output& output : graph_.outputs()) {
      live_[output.edge.node.value] = true;
      ++uses_[output.edge.node.value];
    }
    for (uint32_t i = static_cast<uint32_t>(graph_.size()); i-- > 0;) {
      const Node& node = graph_.node(NodeId{i});
      if (has_effect(node.op)) live_[i] = true;
      if (!live_[i]) continue;
      for (const Edge& edge : node.operands) {
        live_[edge.node.value] = true;
        ++uses_[edge.node.value];
      }
    }
  }

  Step step_of(NodeId id) {
    const Node& node = graph_.node(id);
    Step step{id, "", {}, {}};
    for (const Edge& edge : node.operands) {
      if (is_reduction(node.op)) {
        step.operands.push_back(operand_of(edge, step.name));
      } else {
        step.operands.push_back({edge.node, edge.view, false, {}});
      }
    }
    step.name += name(node.op);
    return step;
  }

  /// Computes the node on the way if that is possible; its name goes into `names`.
  StepOperand operand_of(const Edge& edge, std::string& names) {
    if (!can_compute_on_the_way(edge)) return {edge.node, edge.view, false, {}};
    const Node& node = graph_.node(edge.node);
    std::vector<Edge> composed;
    for (const Edge& inner : node.operands) {
      std::optional<View> view = View::compose(inner.view, edge.view);
      if (!view) return {edge.node, edge.view, false, {}};
      composed.push_back({*std::move(view), inner.node});
    }
    on_the_way_[edge.node.value] = true;
    StepOperand result{edge.node, edge.view, true, {}};
    for (const Edge& inner : composed) result.operands.push_back(operand_of(inner, names));
    names += fmt::format("{} + ", name(node.op));
    return result;
  }

  bool can_compute_on_the_way(const Edge& edge) const {
    const Op op = graph_.node(edge.node).op;
    return is_elementwise(op) && op != Op::kBitcast && uses_[edge.node.value] == 1 &&
           edge.view.conditions().empty() && edge.view.reads_each_element_at_most_once();
  }

  void find_last_reads(std::vector<Step>& steps) const {
    std::vector<bool> needed(graph_.size(), false);
    for (const Output& output : graph_.outputs()) needed[output.edge.node.value] = true;
    for (size_t i = steps.size(); i-- > 0;) {
      // A node that runs for its effect alone is read by nobody.
      if (!needed[steps[i].node.value]) steps[i].last_reads.push_back(steps[i].node);
      for (const StepOperand& operand : steps[i].operands)
        note_reads(operand, needed, steps[i].last_reads);
    }
  }

  static void note_reads(const StepOperand& operand, std::vector<bool>& needed,
                         std::vector<NodeId>& last_reads) {
    if (operand.computed) {
      for (const StepOperand& inner : operand.operands) note_reads(inner, needed, last_reads);
    } else if (!needed[operand.node.value]) {
      needed[operand.node.value] = true;
      last_reads.push_back(operand.node);
    }
  }

  const Graph& graph_;
  std::vector<bool> live_;
  std::vector<int> uses_;
  std::vector<bool> on_the_way_;
};

/// Collects variables, each once.
class DimCollector {
 public:
  void add(const Expr& expr) {
    for (const Expr& variable : expr.variables())
      if (std::find(dims_.begin(), dims_.end(), variable) == dims_.end()) dims_.push_back(variable);
  }
  void add(const Shape& shape) {
    for (const Expr& extent : shape) add(extent);
  }
  void add(const View& view) {
    add(view.source());
    add(view.domain());
    for (const Expr& expr : view.index()) add(expr);
    for (const Condition& condition : view.conditions()) {
      add(condition.value);
      add(condition.extent);
    }
  }
  void add(const StepOperand& operand) {
    add(operand.view);
    for (const StepOperand& inner : operand.operands) add(inner);
  }
  std::vector<Expr> take() { return std::move(dims_); }

 private:
  std::vector<Expr> dims_;
};

}  // namespace

std::vector<Step> plan_steps(const Graph& graph) { return Planner(graph).plan(); }

std::vector<Expr> used_dims(const Graph& graph, const std::vector<Step>& steps) {
  DimCollector collector;
  for (const Step& step : steps) {
    const Node& node = graph.node(step.node);
    collector.add(node.shape());
    if (node.op == Op::kIota) collector.add(node.attribute<IotaAttribute>().value);
    for (const StepOperand& operand : step.operands) collector.add(operand);
  }
  for (const Output& output : graph.outputs()) collector.add(output.edge.view);
  return collector.take();
}

}  // namespace luminal::graph
