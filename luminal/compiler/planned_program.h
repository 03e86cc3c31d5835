// A graph's program with its definitions chosen and cut into kernels: outline, reduce, apply rules,
// search, expand. Each repeated region is looked at once; without regions the whole graph is.
#pragma once

#include <optional>
#include <string>

#include "luminal/compiler/choice_cache.h"
#include "luminal/compiler/outline_choice.h"
#include "luminal/kernel/cut_search.h"
#include "luminal/rules/choices.h"
#include "luminal/support/file_cache.h"

namespace luminal::compiler {

/// Definitions that rules found, for further searches of the same graph with the same rules.
struct FoundDefinitions {
  std::optional<rules::Choices> whole;    ///< of the graph
  std::optional<rules::Choices> reduced;  ///< of one instance of each region
};

/// Knows what kernels cost better than the cost model does: times that were measured.
class KernelCosts {
 public:
  virtual ~KernelCosts() = default;
  /// Microseconds of a kernel, as derived. `constants` are tensors it reads that rarely change.
  /// Nothing: not known.
  virtual std::optional<double> cost(kernel::Arena& arena, const kernel::Kernel& kernel,
                                     const std::vector<NodeId>& constants) const = 0;
};

/// What a search may use.
struct ProgramSearch {
  kernel::CutSearchOptions cut = {};
  /// Asked before cut.cost, if there is one.
  const KernelCosts* costs = nullptr;
  /// Nothing: repeats are not looked for.
  std::optional<OutlineOptions> outline = OutlineOptions{};
  /// Nothing: every value is computed as it is written.
  std::optional<rules::RuleOptions> rules = rules::RuleOptions{};
  /// Inputs that are weights besides those that the graph marks.
  std::span<const std::string> weights = {};
  /// Where definitions are kept and looked for, if anywhere.
  FoundDefinitions* found = nullptr;
  /// Where choices are kept on disk and looked for, if anywhere; not used with `costs`.
  support::FileCache* cache = nullptr;
  /// Asked before anything is searched, if there is one; not used with `costs`.
  ChoiceRecall recall = nullptr;
};

/// The program that was found for a graph, its plan, and how it lies in the graph. Ids are those of
/// the program.
class PlannedProgram {
 public:
  /// Nodes in `stored` have to be in memory besides the outputs. The graph must outlive this.
  PlannedProgram(const graph::Graph& graph, std::span<const NodeId> stored,
                 const ProgramSearch& search);

  const kernel::Program& program() const;
  kernel::CutPlan& plan() { return *plan_; }
  kernel::Arena& arena() { return arena_; }

  /// The node that holds output k of the graph.
  NodeId output(size_t k) const;
  /// Where the program has the value of a node of the graph: one of `stored`, or data.
  NodeId place(NodeId graph_node) const;
  /// The node of the graph that a node belongs to: the one whose value it is, or for a value that
  /// rules made one that needs it.
  NodeId origin(NodeId id) const;
  /// True for values that no node of the graph has.
  bool is_made_by_rules(NodeId id) const;
  /// What the program's named regions are called, by definition.
  const std::string& name(size_t definition) const;

  /// True for values of one and the same instance of a repeated region, or of none.
  bool is_in_same_instance(NodeId a, NodeId b) const;

  /// True for values that are made of weights and constants alone.
  bool is_kept(NodeId id) const;

  /// What was chosen (choice_cache.h), for those who recall it later.
  const std::string& choice() const { return choice_; }
  /// What it is recalled by; zero without ProgramSearch::recall.
  support::Hash128 choice_key() const { return choice_key_; }
  bool is_recalled() const { return recalled_; }
  /// What was searched, with what was found for it: one instance of each region. Launches of it can
  /// be chosen otherwise (kernel/launch_groups.h).
  const kernel::Program& searched_program() const { return choices_->program; }
  const kernel::CutPlan& searched_plan() const { return reduced_plan_ ? *reduced_plan_ : *plan_; }

  /// The regions that were looked at once.
  const Outline& outline() const { return outline_; }
  /// How many nodes were searched, of the graph or of one instance per region.
  size_t searched_nodes() const { return searched().size(); }
  const rules::RuleStats& rule_stats() const { return choices_->stats; }

 private:
  const graph::Graph& searched() const { return whole_ ? reduced_.graph : graph_; }
  void choose(const graph::Graph& graph);
  kernel::CutPlan chosen(kernel::Arena& arena, const kernel::CutSearchOptions& options);
  kernel::CutSearchOptions with_costs(const ProgramSearch& search) const;
  bool search_reduced(std::span<const NodeId> stored, const kernel::CutSearchOptions& options);
  void search_whole(std::span<const NodeId> stored, const kernel::CutSearchOptions& options);
  void note_origins(const graph::Graph& graph);
  void note_kept();

  const graph::Graph& graph_;
  std::optional<rules::RuleOptions> rules_;
  FoundDefinitions* found_;
  support::FileCache* cache_;
  ChoiceRecall recall_;
  Outline outline_;
  ReducedGraph reduced_;
  std::optional<rules::Choices> choices_;
  std::optional<ExpandedProgram> whole_;
  kernel::Arena arena_;
  std::optional<kernel::CutPlan> plan_;
  std::optional<kernel::CutPlan> reduced_plan_;  // of one instance of each region
  std::string choice_;
  support::Hash128 choice_key_;
  bool recalled_ = false;
  std::vector<std::string> weights_;
  std::vector<bool> kept_;       // by node of the choices
  std::vector<NodeId> origins_;  // by node of the choices: the node of what was searched
};

}  // namespace luminal::compiler
