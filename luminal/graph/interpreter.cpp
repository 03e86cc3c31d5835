#include <iostream>

#include "luminal/graph/interpreter_indexing.h"
#include "luminal/graph/interpreter_reduce.h"
#include "luminal/graph/interpreter_steps.h"
#include "luminal/graph/opaque.h"
#include "luminal/graph/program.h"
#include "luminal/graph/run_binding.h"
#include "luminal/support/check.h"
#include "luminal/support/trace.h"

namespace luminal::graph {
namespace {

/// One run of a graph: the dims of this run and the arrays that are still needed.
class Run {
 public:
  Run(const Graph& graph, const RunRequest& request, DimBindings dims)
      : graph_(graph), request_(request), dims_(std::move(dims)), arrays_(graph.size()) {}

  void execute(const Step& step) {
    support::TraceSpan span("step", step.name);
    if (span.is_on()) {
      span.note("node", fmt::format("%{}", step.node.value));
      span.note("type", to_string(graph_.node(step.node).type));
    }
    const auto start = std::chrono::steady_clock::now();
    arrays_[step.node.value] = compute(step);
    for (const NodeId id : step.last_reads) arrays_[id.value].reset();
    if (!request_.on_step) return;
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - start;
    const Node& node = graph_.node(step.node);
    request_.on_step(
        {step.name, step.node, node.dtype(), evaluate_shape(node.shape(), dims_), elapsed.count()});
  }

  Array output(const Edge& edge) const {
    return materialize(array(edge.node), edge.view, dims_, "output");
  }

 private:
  const Array& array(NodeId id) const {
    LUMINAL_CHECK(arrays_[id.value].has_value(), "%{} is read before it is computed", id.value);
    return *arrays_[id.value];
  }

  Array compute(const Step& step) {
    const Node& node = graph_.node(step.node);
    switch (info(node.op).op_class) {
      case OpClass::kSource:
        return compute_source(node);
      case OpClass::kElementwise:
        return compute_elementwise_node(node, step);
      case OpClass::kReduction:
        return compute_reduction(node, step);
      case OpClass::kIndexing:
        return compute_indexing(node, step);
      case OpClass::kBarrier:
        return compute_whole(node, step);
    }
    throw InternalError(fmt::format("{} cannot be interpreted", name(node.op)));
  }

  /// A new array for the result of a node.
  Array result_of(const Node& node) const {
    return {node.dtype(), evaluate_shape(node.shape(), dims_)};
  }

  Array whole(const Node& node, const StepOperand& operand) const {
    return materialize(array(operand.node), operand.view, dims_, std::string(name(node.op)));
  }

  std::unique_ptr<ElementSource> source(const Node& node, const StepOperand& operand) const {
    if (!operand.computed)
      return std::make_unique<ArraySource>(array(operand.node), operand.view, dims_,
                                           std::string(name(node.op)));
    const Node& inner = graph_.node(operand.node);
    std::vector<std::unique_ptr<ElementSource>> operands;
    for (const StepOperand& next : operand.operands) operands.push_back(source(inner, next));
    return std::make_unique<ComputedSource>(inner.op, inner.dtype(), std::move(operands));
  }

  Array compute_source(const Node& node) {
    switch (node.op) {
      case Op::kInput:
        return *request_.inputs.at(node.attribute<InputAttribute>().name);
      case Op::kConstant:
        return node.attribute<ConstantAttribute>().value;
      default:
        return iota(node);
    }
  }

  Array iota(const Node& node) const {
    Array result = result_of(node);
    const IndexWalker walker(node.attribute<IotaAttribute>().value, node.shape(), dims_);
    std::vector<IndexRun> runs;
    std::vector<int64_t> integers(kBlockSize);
    Block block;
    for (int64_t begin = 0; begin < walker.size(); begin += kBlockSize) {
      const int64_t count = std::min(kBlockSize, walker.size() - begin);
      walker.walk(begin, count, runs);
      size_t at = 0;
      for (const IndexRun& run : runs)
        for (int64_t i = 0; i < run.elements.count; ++i)
          integers[at++] = run.elements.position + i * run.elements.stride;
      if (is_float(node.dtype())) {
        integers_to_floats(node.dtype(), {integers.data(), at}, block.floats.data());
      } else {
        std::copy_n(integers.data(), at, block.integers.data());
      }
      store(result, begin, count, block);
    }
    return result;
  }

  Array compute_elementwise_node(const Node& node, const Step& step) {
    if (node.op == Op::kCopy) return whole(node, step.operands[0]);
    if (node.op == Op::kBitcast) {
      const Array bits = whole(node, step.operands[0]);
      return {node.dtype(), bits.extents(),
              std::vector<std::byte>(bits.bytes().begin(), bits.bytes().end())};
    }
    Array result = result_of(node);
    std::vector<std::unique_ptr<ElementSource>> operands;
    for (const StepOperand& operand : step.operands) operands.push_back(source(node, operand));
    ComputedSource computed(node.op, node.dtype(), std::move(operands));
    Block block;
    for (int64_t begin = 0; begin < result.size(); begin += kBlockSize) {
      const int64_t count = std::min(kBlockSize, result.size() - begin);
      computed.read_unrounded(begin, count, block);
      store(result, begin, count, block);
    }
    return result;
  }

  Array compute_reduction(const Node& node, const Step& step) {
    Array result = result_of(node);
    const StepOperand& operand = step.operands[0];
    const Extents domain = evaluate_shape(operand.view.domain(), dims_);
    const Extents reduced(domain.end() - node.attribute<ReduceAttribute>().axes, domain.end());
    if (!operand.computed)
      if (const auto running =
              running_view(operand.view, node.op, static_cast<int>(reduced.size())))
        return compute_scan(node, operand, *running);
    reduce(node.op, *source(node, operand), {.count = element_count(reduced)}, result);
    return result;
  }

  /// Results lie as they are found, with the scanned axis last, until they are put in place.
  Array compute_scan(const Node& node, const StepOperand& operand, const RunningView& running) {
    const std::string operation(name(node.op));
    ArraySource elements(array(operand.node), running.elements, dims_, operation);
    Array found(node.dtype(), evaluate_shape(running.elements.domain(), dims_));
    reduce(node.op, elements, {.count = found.extents().back(), .running = true}, found);
    std::vector<int> order;
    const int last = running.elements.rank() - 1;
    for (int k = 0; k < last; ++k) order.push_back(k);
    order.insert(order.begin() + running.axis, last);
    const View in_place = View::identity(running.elements.domain()).permute(order);
    return materialize(found, in_place, dims_, operation);
  }

  Array compute_indexing(const Node& node, const Step& step) {
    if (node.op != Op::kGather) return compute_whole(node, step);
    Array result = result_of(node);
    const StepOperand& operand = step.operands[1];
    const ArraySource data(array(operand.node), operand.view, dims_, "gather");
    gather(*source(node, step.operands[0]), data, result);
    return result;
  }

  /// Nodes that read whole arrays.
  Array compute_whole(const Node& node, const Step& step) {
    std::vector<const Array*> operands;
    for (const StepOperand& operand : step.operands) operands.push_back(&array(operand.node));
    std::ostream& text = request_.text != nullptr ? *request_.text : std::cout;
    return compute_opaque(node, operands, dims_, text);
  }

  const Graph& graph_;
  const RunRequest& request_;
  DimBindings dims_;
  std::vector<std::optional<Array>> arrays_;
};

class Interpreter : public Program {
 public:
  explicit Interpreter(Graph graph)
      : graph_(std::move(graph)), steps_(plan_steps(graph_)), dims_(used_dims(graph_, steps_)) {
    for (const Step& step : steps_)
      if (graph_.node(step.node).op == Op::kInput) inputs_.push_back(step.node);
  }

  std::vector<Array> run(const RunRequest& request) override {
    const support::TraceSpan span("run", "run (interpreter)");
    // What is wrong with the inputs is said before anything is computed.
    Run run(graph_, request, bind_run(graph_, request, inputs_, dims_));
    for (const Step& step : steps_) run.execute(step);
    std::vector<Array> outputs;
    for (const Output& output : graph_.outputs()) outputs.push_back(run.output(output.edge));
    return outputs;
  }

  const Graph& graph() const override { return graph_; }

 private:
  Graph graph_;
  std::vector<Step> steps_;
  std::vector<NodeId> inputs_;  // that are read
  std::vector<Expr> dims_;
};

}  // namespace

std::unique_ptr<Program> make_interpreter(Graph graph) {
  return std::make_unique<Interpreter>(std::move(graph));
}

}  // namespace luminal::graph
