#include "luminal/rules/tensor_egraph.h"

#include <algorithm>
#include <array>

#include "luminal/rules/rule_files.h"
#include "luminal/support/check.h"
#include "luminal/support/trace.h"

namespace luminal::rules {

using egraph::Value;
using graph::Node;
using graph::Op;
using graph::OpClass;

namespace {

// tensor.egg declares what the others use.
constexpr std::array kRuleFiles{
    "tensor.egg",    "cleanups.egg",   "products.egg",         "slices_concats.egg",
    "siblings.egg",  "reductions.egg", "casts_transposes.egg", "convolution.egg",
    "attention.egg", "strength.egg",
};

constexpr std::array<const char*, kTensorOps> kConstructors{
    "Leaf", "Unary", "Binary", "Select", "Reduce", "Gather", "Other", "Contract", "Concat", "Name",
};

/// Names of mere elementwise ops (silu, rsqrt) are left out: no library has a call for them and no
/// rule asks.
bool says_more_than_its_ops(const kernel::Program& program, const kernel::NamedRegion& region) {
  const auto is_more = [&](kernel::NodeId id) {
    const OpClass kind = graph::info(program.node(id).op).op_class;
    return kind == OpClass::kReduction || kind == OpClass::kIndexing;
  };
  return is_more(region.result) || std::any_of(region.inside.begin(), region.inside.end(), is_more);
}

egraph::Schedule schedule(const RuleOptions& options) {
  using egraph::run;
  const auto names = [] { return egraph::saturate({run("names")}); };
  std::vector<egraph::Schedule> steps{names(), egraph::saturate({run("siblings-split"), names()})};
  if (options.join_siblings) {
    // Siblings are what the graph has: products that rules make are not joined again.
    steps.push_back(egraph::saturate({run("siblings-find")}));
    steps.push_back(egraph::saturate({run("siblings-join"), names()}));
  }
  std::vector<egraph::Schedule> step{run("exact")};
  if (options.reassociate) step.push_back(run("reassociation"));
  step.push_back(names());
  steps.push_back(egraph::saturate(std::move(step)));
  return egraph::sequence(std::move(steps));
}

}  // namespace

TensorEGraph::TensorEGraph(bool record_origins)
    : egraph_({.record_origins = record_origins}), host_(egraph_), bulk_(egraph_) {
  for (const char* file : kRuleFiles) egraph_.run_program(rule_file(file), file);
  for (const char* name : kConstructors) tensor_ops_.push_back(callable(name));
  see_ = callable("See");
  end_ = callable("End");
  operand_ = callable("Operand");
}

egraph::Callable TensorEGraph::callable(const std::string& name) const {
  const egraph::FunctionId id = egraph_.database().find_function(name);
  LUMINAL_CHECK(id != egraph::kNone, "the rule files declare no {}", name);
  return {name, id};
}

void TensorEGraph::add(const kernel::GraphProgram& program,
                       std::span<const graph::NamedDefinition> names) {
  for (uint32_t id = 0; id < program.size(); ++id) {
    const Node& node = program.node(kernel::NodeId{id});
    classes_.push_back(add_node(node, id));
    dtypes_.push_back(node.dtype());
  }
  // Marks of repeats are definitions without a region.
  for (const kernel::NamedRegion& region : program.named_regions())
    if (says_more_than_its_ops(program, region)) add_name(names[region.definition]);
  bulk_.commit();
}

Value TensorEGraph::add_edge(const graph::Edge& edge) {
  const Access access{edge.view, dtypes_[edge.node.value]};
  return bulk_.add(see_, {host_.intern(access), classes_[edge.node.value]});
}

Value TensorEGraph::add_operands(std::span<const graph::Edge> edges) {
  Value list = bulk_.add(end_, {});
  for (size_t k = edges.size(); k-- > 0;) list = bulk_.add(operand_, {add_edge(edges[k]), list});
  return list;
}

Value TensorEGraph::add_tensor(TensorOp op, std::initializer_list<Value> args) {
  return bulk_.add(tensor_ops_[static_cast<size_t>(op)], args);
}

Value TensorEGraph::add_node(const Node& node, uint32_t serial) {
  const Value type = host_.intern(node.type);
  const auto op_name = [&] { return bulk_.string(graph::name(node.op)); };
  const auto edge = [&](size_t k) { return add_edge(node.operands[k]); };
  switch (graph::info(node.op).op_class) {
    case OpClass::kSource:
      return add_tensor(TensorOp::kLeaf, {host_.intern(Head{node.op, node.attributes, 0}), type});
    case OpClass::kElementwise: {
      if (node.op == Op::kSelect)
        return add_tensor(TensorOp::kSelect, {type, edge(0), edge(1), edge(2)});
      if (node.operands.size() == 1)
        return add_tensor(TensorOp::kUnary, {op_name(), type, edge(0)});
      Value a = edge(0), b = edge(1);
      if (graph::info(node.op).commutative && b < a) std::swap(a, b);
      return add_tensor(TensorOp::kBinary, {op_name(), type, a, b});
    }
    case OpClass::kReduction: {
      const int axes = node.attribute<graph::ReduceAttribute>().axes;
      return add_tensor(TensorOp::kReduce, {op_name(), type, bulk_.i64(axes), edge(0)});
    }
    case OpClass::kIndexing:
      if (node.op == Op::kGather) return add_tensor(TensorOp::kGather, {type, edge(0), edge(1)});
      return add_tensor(TensorOp::kOther, {host_.intern(Head{node.op, node.attributes, 0}), type,
                                           add_operands(node.operands)});
    case OpClass::kBarrier:
      break;
  }
  // Each runs for what it does: two equal ones stay two.
  return add_tensor(TensorOp::kOther, {host_.intern(Head{node.op, node.attributes, serial + 1}),
                                       type, add_operands(node.operands)});
}

void TensorEGraph::add_name(const graph::NamedDefinition& definition) {
  const DType dtype = dtypes_[definition.result.node.value];
  const Value type = host_.intern(TensorType{dtype, definition.result.view.domain()});
  const Value named = add_tensor(TensorOp::kName, {bulk_.string(definition.name),
                                                   host_.intern(Parameters{definition.parameters}),
                                                   type, add_operands(definition.operands)});
  const Value result =
      definition.result.view.is_identity()
          ? classes_[definition.result.node.value]
          : add_tensor(TensorOp::kUnary, {bulk_.string("copy"), type, add_edge(definition.result)});
  egraph_.engine().join(named, result);
}

egraph::RunReport TensorEGraph::saturate(const RuleOptions& options) {
  support::TraceSpan span("compile", "saturate");
  if (!options.more_rules.empty()) egraph_.run_program(options.more_rules, "more rules");
  constexpr size_t kLeastRows = 10'000;
  constexpr size_t kRowsPerNode = 100;
  egraph::RunBudget budget = options.budget;
  if (budget.rows == 0) budget.rows = kLeastRows + kRowsPerNode * classes_.size();
  egraph_.set_budget(budget);
  const egraph::RunReport report = egraph_.run(schedule(options));
  span.note("iterations", std::to_string(report.iterations));
  return report;
}

size_t TensorEGraph::num_nodes() const {
  size_t count = 0;
  for (size_t op = 0; op < kTensorOps; ++op)
    for_each(static_cast<TensorOp>(op), [&](const Value*) { ++count; });
  return count;
}

size_t TensorEGraph::num_classes() {
  std::vector<Value> ids;
  for (size_t op = 0; op < kTensorOps; ++op) {
    const egraph::FunctionId function = tensor_ops_[op].id;
    const size_t last = egraph_.database().functions[function].inputs.size();
    for_each(static_cast<TensorOp>(op),
             [&](const Value* row) { ids.push_back(leader(row[last])); });
  }
  std::sort(ids.begin(), ids.end());
  return static_cast<size_t>(std::unique(ids.begin(), ids.end()) - ids.begin());
}

std::map<std::string, uint64_t> TensorEGraph::matches() const {
  std::map<std::string, uint64_t> result;
  for (const egraph::RuleState& state : egraph_.database().rules)
    result[state.rule->name] += state.matches;
  return result;
}

}  // namespace luminal::rules
