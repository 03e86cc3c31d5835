#include "luminal/compiler/planned_program.h"

#include <algorithm>

#include "luminal/compiler/outline_expand.h"
#include "luminal/search/kernel_data.h"
#include "luminal/support/check.h"
#include "luminal/support/trace.h"

namespace luminal::compiler {
namespace {

/// Named dims may have another value in every run, and what they are part of with them.
bool depends_on_dims(const graph::Node& node) {
  const auto named = [](const graph::Expr& expr) { return !expr.variables().empty(); };
  const auto any = [&](const auto& exprs) {
    return std::any_of(exprs.begin(), exprs.end(), named);
  };
  if (any(node.shape())) return true;
  if (const auto* iota = std::get_if<graph::IotaAttribute>(&node.attributes))
    if (named(iota->value)) return true;
  return std::any_of(node.operands.begin(), node.operands.end(), [&](const graph::Edge& edge) {
    return any(edge.view.domain()) || any(edge.view.source()) || any(edge.view.index());
  });
}

}  // namespace

PlannedProgram::PlannedProgram(const graph::Graph& graph, std::span<const NodeId> stored,
                               const ProgramSearch& search)
    : graph_(graph),
      rules_(search.rules),
      found_(search.found),
      // Measured costs change from one time to the next.
      cache_(search.costs == nullptr ? search.cache : nullptr),
      recall_(search.costs == nullptr ? search.recall : nullptr),
      weights_(search.weights.begin(), search.weights.end()) {
  if (search.outline) {
    const support::TraceSpan span("compile", "find repeats");
    outline_ = find_outline(graph, *search.outline);
  }
  const kernel::CutSearchOptions options = with_costs(search);
  if (!outline_.regions.empty() && search_reduced(stored, options)) return;
  outline_ = {};
  search_whole(stored, options);
}

/// Values that are kept are known only when the definitions are, so they are asked for later.
kernel::CutSearchOptions PlannedProgram::with_costs(const ProgramSearch& search) const {
  kernel::CutSearchOptions options = search.cut;
  if (search.costs == nullptr) return options;
  options.cost = [this, costs = search.costs, model = search.cut.cost](
                     kernel::Arena& arena, const kernel::Kernel& kernel) {
    std::vector<NodeId> constants;
    for (const NodeId id : search::tensors_read(arena, kernel))
      if (kept_[id.value]) constants.push_back(id);
    std::optional<double> known = costs->cost(arena, kernel, constants);
    if (!known && model) known = model(arena, kernel);
    return known;
  };
  return options;
}

void PlannedProgram::choose(const graph::Graph& graph) {
  std::optional<rules::Choices>* kept = nullptr;
  if (found_ != nullptr) kept = &graph == &graph_ ? &found_->whole : &found_->reduced;
  if (kept != nullptr && *kept) {
    choices_ = *kept;
    return;
  }
  support::TraceSpan span("compile", "rules");
  choices_.emplace(rules_ ? rules::choices(graph, *rules_) : rules::as_written(graph));
  if (kept != nullptr) *kept = choices_;
  if (span.is_on()) span.note("e-nodes", std::to_string(choices_->stats.nodes));
}

kernel::CutPlan PlannedProgram::chosen(kernel::Arena& arena,
                                       const kernel::CutSearchOptions& options) {
  kernel::ChoiceProgram& program = choices_->program;
  if (recall_) {
    support::TraceSpan span("compile", "recall kernels");
    choice_key_ = compiler::choice_key(program, options);
    if (const auto text = recall_(choice_key_))
      if (auto plan = plan_choice(arena, program, *text, options)) {
        recalled_ = true;
        choice_ = *text;
        return std::move(*plan);
      }
  }
  kernel::CutPlan plan = search_choice(arena, program, options, cache_);
  choice_ = choice_text(program, plan.cut);
  return plan;
}

void PlannedProgram::search_whole(std::span<const NodeId> stored,
                                  const kernel::CutSearchOptions& options) {
  choose(graph_);
  for (const NodeId id : stored) choices_->program.add_root(choices_->place[id.value]);
  note_kept();
  plan_ = chosen(arena_, options);
  note_origins(graph_);
}

/// False for regions that read each other's values by turns: from the outside they cannot be told
/// apart.
bool PlannedProgram::search_reduced(std::span<const NodeId> stored,
                                    const kernel::CutSearchOptions& options) {
  reduced_ = reduce(graph_, outline_);
  choose(reduced_.graph);
  const auto representative = representatives(graph_, outline_, reduced_);
  for (const NodeId id : stored)
    if (representative[id.value])
      choices_->program.add_root(choices_->place[representative[id.value]->value]);
  const ChosenPlaces places{choices_->place, choices_->outputs};
  assign_parts(choices_->program, outline_, reduced_, places);
  if (!kernel::topological_order(choices_->program)) return false;
  note_kept();
  kernel::Arena arena;
  reduced_plan_ = chosen(arena, options);
  const support::TraceSpan span("compile", "copy to repeats");
  whole_.emplace(graph_, outline_, reduced_, choices_->program, places);
  plan_ = expand(outline_, choices_->program, arena, *reduced_plan_, *whole_, arena_);
  note_origins(reduced_.graph);
  return true;
}

/// Values whose first definitions read weights, constants and what is computed from them alone, not
/// from dims. All definitions of a value are equal, so one tells.
void PlannedProgram::note_kept() {
  const kernel::ChoiceProgram& program = choices_->program;
  kept_.assign(program.size(), false);
  for (uint32_t k = 0; k < program.size(); ++k) {
    const graph::Node& node = program.definition(NodeId{k}, 0);
    if (const auto* input = std::get_if<graph::InputAttribute>(&node.attributes))
      kept_[k] = input->weight ||
                 std::find(weights_.begin(), weights_.end(), input->name) != weights_.end();
    else
      kept_[k] = (!kernel::is_opaque(node) || kernel::is_source(node)) && !depends_on_dims(node) &&
                 std::all_of(node.operands.begin(), node.operands.end(),
                             [&](const graph::Edge& edge) { return kept_[edge.node.value]; });
  }
  choices_->program.set_kept(kept_);
}

bool PlannedProgram::is_kept(NodeId id) const {
  if (!whole_) return kept_[id.value];
  const ExpandedProgram::Source& source = whole_->source(id);
  if (!source.data) return kept_[source.chosen.value];
  const auto* input = std::get_if<graph::InputAttribute>(&graph_.node(*source.data).attributes);
  return input == nullptr || input->weight ||
         std::find(weights_.begin(), weights_.end(), input->name) != weights_.end();
}

/// Users before what they read, so that every value made by rules has a user with an origin.
void PlannedProgram::note_origins(const graph::Graph& graph) {
  const kernel::ChoiceProgram& program = choices_->program;
  std::vector<std::optional<NodeId>> origins(program.size());
  const std::vector<NodeId> order = *kernel::topological_order(program);
  // Copies that hold outputs stand for the node they copy.
  for (const NodeId id : program.roots())
    if (id.value >= graph.size()) origins[id.value] = program.definition(id, 0).operands[0].node;
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    if (id->value < graph.size()) origins[id->value] = *id;
    LUMINAL_CHECK(origins[id->value].has_value(), "node {} has no user", id->value);
    for (const graph::Edge& edge : program.node(*id).operands)
      if (!origins[edge.node.value]) origins[edge.node.value] = origins[id->value];
  }
  origins_.clear();
  for (const std::optional<NodeId>& origin : origins) origins_.push_back(origin.value_or(NodeId{}));
}

const kernel::Program& PlannedProgram::program() const {
  return whole_ ? static_cast<const kernel::Program&>(*whole_) : choices_->program;
}

NodeId PlannedProgram::output(size_t k) const {
  return whole_ ? whole_->output(k) : choices_->output(k);
}

NodeId PlannedProgram::place(NodeId graph_node) const {
  return whole_ ? whole_->place(graph_node) : choices_->place[graph_node.value];
}

NodeId PlannedProgram::origin(NodeId id) const {
  if (!whole_) return origins_[id.value];
  const ExpandedProgram::Source& source = whole_->source(id);
  if (source.data) return *source.data;
  const NodeId searched = origins_[source.chosen.value];
  return source.part == 0
             ? reduced_.origin[searched.value]
             : counterpart(outline_, reduced_, searched, source.part - 1, source.instance);
}

bool PlannedProgram::is_made_by_rules(NodeId id) const {
  NodeId chosen = id;
  if (whole_) {
    if (whole_->source(id).data) return false;
    chosen = whole_->source(id).chosen;
  }
  const std::span<const NodeId> roots = choices_->program.roots();
  return chosen.value >= searched().size() &&
         std::find(roots.begin(), roots.end(), chosen) == roots.end();
}

bool PlannedProgram::is_in_same_instance(NodeId a, NodeId b) const {
  if (!whole_) return true;
  const auto place = [&](NodeId id) {
    const ExpandedProgram::Source& source = whole_->source(id);
    return std::pair(source.part, source.instance);
  };
  return place(a) == place(b);
}

const std::string& PlannedProgram::name(size_t definition) const {
  return searched().named()[definition].name;
}

}  // namespace luminal::compiler
