#include "luminal/kernel/choice.h"

#include "luminal/kernel/climb.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

/// A cut of the program as it is chosen now, that keeps what it can of an older one and begins
/// anew where `changed` is defined differently.
Cut adapted(const Program& program, std::span<const NodeId> order, const Cut& old, NodeId changed) {
  Cut cut = smallest_cut(program, order);
  const Cut seed = contraction_cut(program, order);
  for (NodeId id : order)
    if (!is_free_to_compute(program.node(id)) && (old.contains(id) || seed.contains(id)))
      cut.insert(id);
  for (const graph::Edge& edge : program.node(changed).operands)
    if (!is_free_to_compute(program.node(edge.node))) cut.insert(edge.node);
  return cut;
}

}  // namespace

ChoiceProgram::ChoiceProgram(const Program& program)
    : ChoiceProgram(program.size(), {program.roots().begin(), program.roots().end()}) {
  for (uint32_t id = 0; id < program.size(); ++id) add(NodeId{id}, program.node(NodeId{id}));
  regions_.assign(program.named_regions().begin(), program.named_regions().end());
}

void ChoiceProgram::add(NodeId id, graph::Node node) {
  std::vector<graph::Node>& definitions = definitions_[id.value];
  LUMINAL_CHECK(definitions.empty() || definitions[0].type == node.type,
                "definitions of node {} differ in type", id.value);
  definitions.push_back(std::move(node));
}

NodeId ChoiceProgram::add_node() {
  definitions_.emplace_back();
  choice_.push_back(0);
  return NodeId{static_cast<uint32_t>(definitions_.size() - 1)};
}

const graph::Node& ChoiceProgram::node(NodeId id) const {
  LUMINAL_CHECK(choice_[id.value] < definitions_[id.value].size(), "node {} has no definition",
                id.value);
  return definitions_[id.value][choice_[id.value]];
}

CutPlan search_choice(Arena& arena, ChoiceProgram& program, const CutSearchOptions& options) {
  CutCosts costs(arena, program, options);
  BestCut best = best_cut(costs, program, options);
  bool improved = true;
  while (improved) {
    improved = false;
    for (NodeId id : std::vector<NodeId>(costs.order())) {
      for (size_t k = 0; k < program.definitions(id); ++k) {
        const size_t before = program.choice(id);
        if (k == before) continue;
        program.choose(id, k);
        if (costs.refresh()) {
          BestCut candidate{adapted(program, costs.order(), best.cut, id), 0.0};
          candidate.microseconds = climb(costs, program, candidate.cut);
          if (candidate.microseconds < best.microseconds - 1e-9) {
            best = std::move(candidate);
            improved = true;
            continue;
          }
        }
        program.choose(id, before);
        costs.refresh();
      }
    }
  }
  std::optional<CutPlan> plan = plan_cut(arena, program, best.cut, options);
  LUMINAL_CHECK(plan.has_value(), "the best cut was rejected");
  plan->estimated = costs.estimated();
  return *plan;
}

}  // namespace luminal::kernel
