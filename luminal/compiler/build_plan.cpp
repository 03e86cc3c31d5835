#include "luminal/compiler/build_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/codegen/llvm/scan_kernel.h"
#include "luminal/compiler/buffer_plan.h"
#include "luminal/compiler/host_cost.h"
#include "luminal/compiler/joint_steps.h"
#include "luminal/compiler/kernel_definition.h"
#include "luminal/compiler/kernel_notes.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/labels.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/compiler/prepared_launches.h"
#include "luminal/compiler/step_order.h"
#include "luminal/graph/interpreter_steps.h"
#include "luminal/graph/query.h"
#include "luminal/plan/sorted_rows.h"
#include "luminal/support/trace.h"

namespace luminal::compiler {
namespace {

using graph::Node;
using kernel::PlannedKernel;

bool has_weights(const graph::Graph& graph, const Options& options) {
  return !options.weights.empty() ||
         std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const Node& node) {
           const auto* input = std::get_if<graph::InputAttribute>(&node.attributes);
           return input != nullptr && input->weight;
         });
}

ProgramSearch search_options(const graph::Graph& graph, const Options& options,
                             FoundDefinitions* found, const KernelCosts* costs,
                             const ChoiceRecall& recall) {
  ProgramSearch result;
  result.recall = recall;
  result.found = found;
  result.costs = costs;
  if (options.cache) result.cache = &default_choice_cache();
  result.cut.restarts = options.restarts;
  result.cut.seed = options.restart_seed;
  result.cut.machine = options.machine.value_or(kernel::Machine::cpu(threads_of(options)));
  result.cut.estimate = {
      .dims = options.dims, .typical_dim = options.typical_dim, .reassociate = options.reassociate};
  if (!options.round_each)
    result.cut.cost = [machine = result.cut.machine, estimate = result.cut.estimate](
                          kernel::Arena& arena, const kernel::Kernel& kernel) {
      if (const auto scan = codegen::scan_cost(arena, kernel, machine, estimate)) return scan;
      return codegen::attention_cost(arena, kernel, machine, estimate);
    };
  if (!options.outline) result.outline.reset();
  result.weights = options.weights;
  // Joined matrices pay if they are kept.
  result.rules = rules::RuleOptions{.reassociate = options.reassociate,
                                    .join_siblings = has_weights(graph, options)};
  if (!options.rules) result.rules.reset();
  return result;
}

class PlanBuilder {
 public:
  PlanBuilder(const graph::Graph& graph, const Options& options, FoundDefinitions* found,
              const KernelCosts* costs, const ChoiceRecall& recall, Plan& plan)
      : graph_(graph),
        options_(options),
        plan_(plan),
        checks_(index_checks(graph)),
        search_(search_options(graph, options, found, costs, recall)),
        planned_(graph, checked_nodes(), search_),
        program_(planned_.program()),
        arena_(planned_.arena()),
        cut_(planned_.plan()),
        buffers_(plan),
        kernels_(options),
        notes_(planned_, search_.cut, options, words_) {
    find_kept();
    for (size_t k = 0; k < cut_.kernels.size(); ++k) add_kernel(k);
  }

  KernelSet& kernels() { return kernels_; }
  const PlannedProgram& planned() const { return planned_; }

  std::vector<double> uses() const {
    std::vector<double> result(kernels_.size(), 0.0);
    for (size_t k = 0; k < uses_.size(); ++k)
      if (!is_kept(cut_.kernels[k])) result[uses_[k].kernel] += 1;
    return result;
  }

  support::Hash128 structure() const {
    support::Hasher hasher;
    for (size_t k = 0; k < uses_.size(); ++k) {
      hasher.add(std::string_view(kernels_.identity(uses_[k].kernel)));
      for (const NodeId id : uses_[k].tensors) hasher.add(id.value);
      for (const NodeId id : cut_.kernels[k].nodes) hasher.add(id.value);
    }
    for (const std::vector<size_t>& launch : cut_.launches) {
      hasher.add(launch.size());
      for (const size_t kernel : launch) hasher.add(kernel);
    }
    return hasher.finish128();
  }

  std::vector<OtherLaunches> other_launches() const {
    return compiler::other_launches(planned_, search_.cut.machine);
  }

  double saved_launches() const {
    double saved = 0;
    for (const std::vector<size_t>& launch : cut_.launches)
      saved += std::max(0.0, static_cast<double>(joinable(launch)) - 1);
    return saved;
  }

  void finish() {
    const support::TraceSpan span("compile", "steps and memory");
    const std::vector<WorkUnit> units = ordered_units(program_, cut_, placed_checks());
    kernels_.compile();
    for (const WorkUnit& unit : units) add_steps(unit);
    for (size_t k = 0; k < graph_.outputs().size(); ++k)
      plan_.outputs.push_back(buffer(planned_.output(k)));
    plan_.kernels = kernels_.take_kernels();
    plan_.estimated_for = typical_dims(graph_, options_);
    buffers_.place();
  }

 private:
  /// Of kernels that share a launch, those that run every time and are one launch each.
  size_t joinable(const std::vector<size_t>& launch) const {
    return static_cast<size_t>(std::count_if(launch.begin(), launch.end(), [&](size_t kernel) {
      return !is_kept(cut_.kernels[kernel]) && cut_.kernels[kernel].estimate.launches == 1;
    }));
  }

  std::vector<NodeId> checked_nodes() const {
    std::vector<NodeId> result;
    for (const IndexCheck& check : checks_) {
      const NodeId index = graph_.node(check.gather).operands[0].node;
      if (!check.from_dims && !kernel::is_source(graph_.node(index))) result.push_back(index);
    }
    return result;
  }

  std::vector<PlacedCheck> placed_checks() const {
    std::vector<PlacedCheck> result;
    for (const IndexCheck& check : checks_)
      if (!check.from_dims)
        result.push_back(
            {check.gather, planned_.place(graph_.node(check.gather).operands[0].node)});
    return result;
  }

  void add_kernel(size_t number) {
    PlannedKernel& planned = cut_.kernels[number];
    if (planned.copy && has_constants_of_original(planned)) return add_copy(planned);
    if (planned.copy) planned = written_out(arena_, program_, cut_, number);
    words_.push_back(
        words_of(program_, nodes_inside(program_, planned.nodes, planned.reads), terms_));
    labels_.push_back(label_of(words_.back()));
    uses_.push_back(kernels_.add(arena_, planned.estimate.kernel, labels_.back(), kNestOfKernels,
                                 constants_of(planned)));
  }

  /// A kernel that is another one on other tensors runs its code.
  void add_copy(const PlannedKernel& planned) {
    const kernel::KernelCopy& copy = *planned.copy;
    KernelUse use = uses_[copy.of];
    for (NodeId& tensor : use.tensors) tensor = counterpart(copy, tensor);
    uses_.push_back(std::move(use));
    labels_.push_back(labels_[copy.of]);
    words_.push_back(words_[copy.of]);
  }

  /// What stands in a copy where a tensor of the original stands.
  static NodeId counterpart(const kernel::KernelCopy& copy, NodeId tensor) {
    for (const kernel::Renaming& name : copy.tensors)
      if (name.from == tensor) return name.to;
    return tensor;
  }

  bool has_constants_of_original(const PlannedKernel& planned) const {
    std::vector<NodeId> expected = constants_of(cut_.kernels[planned.copy->of]);
    for (NodeId& id : expected) id = counterpart(*planned.copy, id);
    std::sort(expected.begin(), expected.end());
    return expected == constants_of(planned);  // in the order of what is read, ascending
  }

  /// The kernel as it is written out, which may be for other tensors.
  const PlannedKernel& original(const PlannedKernel& planned) const {
    return planned.copy ? cut_.kernels[planned.copy->of] : planned;
  }
  /// The tensor of the original for one of a kernel.
  static NodeId in_original(const PlannedKernel& planned, NodeId tensor) {
    if (!planned.copy) return tensor;
    for (const kernel::Renaming& name : planned.copy->tensors)
      if (name.to == tensor) return name.from;
    return tensor;
  }

  /// Tensors that rarely change.
  std::vector<NodeId> constants_of(const PlannedKernel& planned) const {
    std::vector<NodeId> result;
    for (const NodeId id : planned.reads) {
      if (kernel::is_source(program_.node(id)) ? planned_.is_kept(id) : kept_.contains(id))
        result.push_back(id);
    }
    return result;
  }

  /// Kernels that read only what is kept, for others: their results are kept too.
  void find_kept() {
    std::set<NodeId> asked(program_.roots().begin(), program_.roots().end());
    for (const PlannedKernel& planned : cut_.kernels) {  // in an order in which they can run
      const bool kept =
          !planned.estimate.in_place_of &&
          std::all_of(planned.nodes.begin(), planned.nodes.end(),
                      [&](NodeId id) { return !asked.contains(id) && planned_.is_kept(id); }) &&
          std::all_of(planned.reads.begin(), planned.reads.end(), [&](NodeId id) {
            return kernel::is_source(program_.node(id)) ? planned_.is_kept(id) : kept_.contains(id);
          });
      if (kept) kept_.insert(planned.nodes.begin(), planned.nodes.end());
    }
  }
  bool is_kept(const PlannedKernel& planned) const { return kept_.contains(planned.nodes[0]); }

  /// The buffer of a materialised node.
  size_t buffer(NodeId id) {
    const auto found = buffer_of_.find(id);
    if (found != buffer_of_.end()) return found->second;
    const Node& node = program_.node(id);
    PlanBuffer buffer;
    buffer.name = name_of(id);
    buffer.type = node.type;
    buffer.bytes = graph::bytes_of(node.type);
    if (node.op == graph::Op::kInput) {
      buffer.place = Place::kInput;
      buffer.name = node.attribute<graph::InputAttribute>().name;
    } else if (node.op == graph::Op::kConstant && kernel::is_source(node)) {
      buffer.place = Place::kConstant;
      buffer.value = node.attribute<graph::ConstantAttribute>().value;
    } else if (kept_.contains(id)) {
      buffer.place = Place::kPrepared;
    }
    const size_t number = buffers_.add(std::move(buffer));
    buffer_of_.emplace(id, number);
    return number;
  }

  double typical_bytes(size_t buffer) const {
    return kernel::typical_value(plan_.buffers[buffer].bytes, search_.cut.estimate);
  }

  /// What a value is called, in terms of the graph.
  std::string name_of(NodeId id) const {
    const NodeId origin = planned_.origin(id);
    const std::string& name = graph_.node(origin).name;
    return fmt::format("{}{}", planned_.is_made_by_rules(id) ? "for " : "",
                       name.empty() ? fmt::format("%{}", origin.value) : name);
  }

  PlanStep step_of(NodeId id, std::string label) const {
    PlanStep step;
    step.label = std::move(label);
    step.node = planned_.origin(id);
    step.made_by_rules = planned_.is_made_by_rules(id);
    step.type = program_.node(id).type;
    return step;
  }

  void add_steps(const WorkUnit& unit) {
    if (unit.kind == WorkUnit::Kind::kKernel) return add_kernels(unit.kernels);
    if (unit.kind == WorkUnit::Kind::kCheck) return add_check(unit);
    const Node& node = program_.node(unit.node);
    PlanStep step = step_of(unit.node, std::string(graph::name(node.op)));
    HostStep host{node, {}, buffer(unit.node)};
    for (const graph::Edge& edge : node.operands) host.operands.push_back(buffer(edge.node));
    const auto sorted = sorted_prefixes_.find(step.node);
    step.estimated_us = host_cost(node, sorted == sorted_prefixes_.end() ? 0 : sorted->second,
                                  search_.cut.machine, search_.cut.estimate);
    step.action = std::move(host);
    plan_.steps.push_back(std::move(step));
  }

  void add_check(const WorkUnit& unit) {
    PlanStep step;
    step.label = "check positions";
    step.node = unit.node;
    step.type = graph_.node(unit.node).type;
    step.estimated_us = read_cost(typical_bytes(buffer(unit.reads[0])), search_.cut.machine);
    step.action = CheckStep{graph_.node(unit.node), buffer(unit.reads[0])};
    plan_.steps.push_back(std::move(step));
  }

  /// Kernels that share a launch, where each of them is one launch; checked ones run one by one.
  void add_kernels(const std::vector<size_t>& numbers) {
    for (const size_t number : numbers)
      if (cut_.kernels[number].estimate.in_place_of) update_in_place(cut_.kernels[number]);
    std::vector<PlanStep> together;
    for (const size_t number : numbers) {
      std::vector<PlanStep> steps = launches_of(number);
      if (steps.size() == 1 && !options_.check_steps) {
        together.push_back(std::move(steps[0]));
        continue;
      }
      for (PlanStep& step : steps) plan_.steps.push_back(std::move(step));
    }
    if (numbers.size() == 1 && kernels_.code(uses_[numbers[0]]).launches.size() == 1 &&
        kernels_.code(uses_[numbers[0]]).temporaries.empty())
      offer_in_place(cut_.kernels[numbers[0]]);
    if (!together.empty()) plan_.steps.push_back(side_by_side(std::move(together), plan_));
  }

  /// The launches of a kernel that run every time; others are added to what is prepared.
  std::vector<PlanStep> launches_of(size_t number) {
    const PlannedKernel& planned = cut_.kernels[number];
    const KernelUse& use = uses_[number];
    const codegen::CpuKernel& code = kernels_.code(use);
    std::vector<PlanStep> steps;
    std::vector<LaunchStep> first;
    const std::vector<bool> small =
        is_kept(planned) ? std::vector<bool>(code.launches.size(), false) : small_launches(code);
    std::vector<std::optional<size_t>> temporaries(code.temporaries.size());
    const std::vector<bool> known = prepared_.known(use, code, temporaries);
    for (size_t k = 0; k < code.temporaries.size(); ++k)
      if (!temporaries[k])
        temporaries[k] = add_temporary(use, code, k, labels_[number], small, is_kept(planned));
    std::optional<size_t> definition;
    if (options_.check_steps && !is_kept(planned)) definition = add_definition(planned);
    const size_t note = note_of(number);
    const auto parts = static_cast<size_t>(std::count(small.begin(), small.end(), false));
    size_t part = 0;
    for (size_t k = 0; k < code.launches.size(); ++k) {
      if (known[k]) {
        ++part;
        continue;
      }
      const codegen::CpuLaunch& launch = code.launches[k];
      PlanStep step = step_of(planned.nodes.back(), labels_[number]);
      step.definition = definition;
      LaunchStep action;
      action.kernel = kernels_.entry(use, k);
      for (const codegen::LaunchBuffer& each : launch.buffers)
        action.buffers.push_back(each.kind == codegen::LaunchBuffer::Kind::kTensor
                                     ? buffer(use.renamed(each.tensor))
                                     : *temporaries[each.temporary]);
      for (const Expr& scalar : launch.scalars) action.scalars.push_back(use.renamed(scalar));
      action.items = use.renamed(launch.items);
      action.scratch_bytes = use.renamed(launch.scratch_bytes);
      action.chunk = launch.chunk;
      action.threads = launch.threads;
      // What is kept must not depend on dims that only the rest of the kernel has.
      action.work = launch.prepare ? written_bytes(use, code, launch)
                                   : work_of(arena_, original(planned).estimate.kernel);
      if (launch.prepare) prepared_.note(use, code, k, temporaries);
      if (small[k]) {
        first.push_back(std::move(action));
        continue;
      }
      if (k + 1 == code.launches.size()) action.first = std::exchange(first, {});
      step.action = std::move(action);
      step.schedule = code.schedule.to_string();
      step.text = kernels_.text(use);
      step.notes = {note};
      step.part = ++part;
      step.parts = parts;
      if (part == parts) step.estimated_us = plan_.notes[note].estimated_us;
      (launch.prepare || is_kept(planned) ? plan_.prepare : steps).push_back(std::move(step));
    }
    return steps;
  }

  static Expr written_bytes(const KernelUse& use, const codegen::CpuKernel& code,
                            const codegen::CpuLaunch& launch) {
    Expr bytes = 0;
    for (const codegen::LaunchBuffer& each : launch.buffers)
      if (each.kind == codegen::LaunchBuffer::Kind::kTemporary && writes(launch, each))
        bytes = bytes + use.renamed(code.temporaries[each.temporary]);
    return bytes;
  }

  /// Copies of a kernel have its note.
  size_t note_of(size_t number) {
    const PlannedKernel& planned = cut_.kernels[number];
    if (planned.copy) return note_of(planned.copy->of);
    const auto known = note_of_.find(number);
    if (known != note_of_.end()) return known->second;
    plan_.notes.push_back(notes_.note(number, kernels_, uses_[number]));
    note_of_.emplace(number, plan_.notes.size() - 1);
    return plan_.notes.size() - 1;
  }

  /// Keeps what the kernel should compute.
  size_t add_definition(const PlannedKernel& planned) {
    KernelDefinition result;
    std::vector<NodeId> reads = planned.reads;
    if (const auto updated = planned.estimate.in_place_of) {
      reads.push_back(*updated);
      result.updated = buffer(*updated);
    }
    Definition definition = definition_of(program_, planned.nodes, reads);
    result.graph = std::move(definition.graph);
    for (const NodeId id : definition.inputs) result.inputs.push_back(buffer(id));
    for (const NodeId id : planned.nodes) result.outputs.push_back(buffer(id));
    plan_.definitions.push_back(std::move(result));
    return plan_.definitions.size() - 1;
  }

  size_t add_temporary(const KernelUse& use, const codegen::CpuKernel& code, size_t k,
                       const std::string& label, const std::vector<bool>& small, bool kept) {
    PlanBuffer buffer;
    buffer.name = fmt::format("{}, temporary {}", label, k);
    buffer.bytes = use.renamed(code.temporaries[k]);
    buffer.type = {graph::DType::kU8, {buffer.bytes}};
    for (size_t i = 0; i < code.launches.size(); ++i)
      for (const codegen::LaunchBuffer& each : code.launches[i].buffers) {
        if (each.kind != codegen::LaunchBuffer::Kind::kTemporary || each.temporary != k) continue;
        if (code.launches[i].prepare) buffer.place = Place::kPrepared;
        if (small[i] && writes(code.launches[i], each)) buffer.place = Place::kThread;
      }
    if (kept) buffer.place = Place::kPrepared;
    return buffers_.add(std::move(buffer));
  }

  /// A kernel that writes a region only: the rest must be there, in memory that is taken over from
  /// the old tensor or copied.
  void update_in_place(const PlannedKernel& planned) {
    const NodeId updated = *planned.estimate.in_place_of;
    const size_t from = buffer(updated);
    const size_t to = buffer(planned.nodes[0]);
    PlanStep step = step_of(planned.nodes[0], "copy");
    step.estimated_us = copy_cost(typical_bytes(from), search_.cut.machine);
    step.action = CopyStep{from, to};
    plan_.steps.push_back(std::move(step));
    if (!reads(arena_, original(planned).estimate.kernel, in_original(planned, updated)))
      buffers_.offer_takeover(from, to);
  }

  /// Elementwise kernels may write over what they read last.
  void offer_in_place(const PlannedKernel& planned) {
    if (planned.nodes.size() != 1 || planned.estimate.in_place_of) return;
    for (const NodeId read : planned.reads)
      if (may_overwrite(arena_, original(planned).estimate.kernel, in_original(planned, read)))
        buffers_.offer_in_place(buffer(read), buffer(planned.nodes[0]));
  }

  const graph::Graph& graph_;
  const Options& options_;
  Plan& plan_;
  std::vector<IndexCheck> checks_;
  ProgramSearch search_;
  PlannedProgram planned_;
  const GraphTerms terms_{[&](size_t definition) { return planned_.name(definition); },
                          [&](NodeId id) { return planned_.origin(id); },
                          [&](NodeId id) { return planned_.is_made_by_rules(id); }};
  const kernel::Program& program_;
  kernel::Arena& arena_;
  kernel::CutPlan& cut_;
  BufferPlanner buffers_;
  KernelSet kernels_;
  std::vector<KernelUse> uses_;
  std::vector<std::string> labels_;
  std::vector<std::vector<std::string>> words_;  // what kernels compute
  KernelNotes notes_;
  std::map<size_t, size_t> note_of_;  // by kernel of the cut
  std::map<NodeId, size_t> buffer_of_;
  std::set<NodeId> kept_;  // results that are kept between runs
  PreparedLaunches prepared_{kernels_, [this](NodeId id) { return buffer(id); }};
  const std::map<NodeId, int64_t> sorted_prefixes_ = plan::sorted_prefixes(graph_);
};

}  // namespace

struct PlanDraft::State {
  Options options;
  Plan plan;
  std::optional<PlanBuilder> builder;
  std::vector<double> uses;
};

PlanDraft::PlanDraft(graph::Graph graph, Options options, FoundDefinitions* found,
                     const KernelCosts* costs, const ChoiceRecall& recall)
    : state_(std::make_unique<State>()) {
  state_->options = std::move(options);
  Plan& plan = state_->plan;
  plan.graph = std::move(graph);
  plan.dims = graph::used_dims(plan.graph, graph::plan_steps(plan.graph));
  state_->builder.emplace(plan.graph, state_->options, found, costs, recall, plan);
  state_->uses = state_->builder->uses();
}

PlanDraft::~PlanDraft() = default;
PlanDraft::PlanDraft(PlanDraft&&) noexcept = default;
PlanDraft& PlanDraft::operator=(PlanDraft&&) noexcept = default;

KernelSet& PlanDraft::kernels() const { return state_->builder->kernels(); }
const std::vector<double>& PlanDraft::uses() const { return state_->uses; }
support::Hash128 PlanDraft::structure() const { return state_->builder->structure(); }
const std::string& PlanDraft::choice() const { return state_->builder->planned().choice(); }
support::Hash128 PlanDraft::choice_key() const { return state_->builder->planned().choice_key(); }
bool PlanDraft::is_recalled() const { return state_->builder->planned().is_recalled(); }

std::vector<OtherLaunches> PlanDraft::other_launches() const {
  return state_->builder->other_launches();
}
double PlanDraft::saved_launches() const { return state_->builder->saved_launches(); }

Plan PlanDraft::finish() {
  state_->builder->finish();
  return std::move(state_->plan);
}

Plan build_plan(graph::Graph graph, const Options& options, FoundDefinitions* found) {
  return PlanDraft(std::move(graph), options, found).finish();
}

}  // namespace luminal::compiler
