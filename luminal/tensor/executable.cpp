#include "luminal/tensor/executable.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>

#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/dead_nodes.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/graph/listing.h"
#include "luminal/graph/npy.h"
#include "luminal/plan/plan_file.h"
#include "luminal/support/env.h"
#include "luminal/support/error.h"
#include "luminal/support/log.h"
#include "luminal/support/trace.h"

namespace luminal {
namespace {

/// A copy of the user's graph with every wanted value as an output, called as its node is if that
/// tells it from the others.
graph::Graph with_outputs(const graph::Graph& source, const std::vector<graph::Edge>& wanted) {
  graph::Graph result = source;
  std::map<std::string, int> uses;
  for (const graph::Edge& edge : wanted) ++uses[source.node(edge.node).name];
  for (size_t k = 0; k < wanted.size(); ++k) {
    const std::string& name = source.node(wanted[k].node).name;
    const std::string number = fmt::format("result{}", k);
    const bool clear = !name.empty() && uses[name] == 1 && !name.starts_with("result");
    result.add_output(clear ? name : number, wanted[k]);
  }
  return result;
}

std::string describe(const Tensor& tensor) {
  const std::string& name = tensor.name();
  return name.empty() ? fmt::format("%{}", tensor.edge().node.value) : fmt::format("'{}'", name);
}

/// The inputs of `written` that `lowered` reads, or that tell one of its dims by their extents.
std::set<std::string> needed_inputs(const graph::Graph& written, const graph::Graph& lowered) {
  const graph::Graph live = graph::dead_nodes({.keep_inputs = false}).run(lowered).graph;
  std::set<std::string> needed;
  for (const graph::Node& node : written.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    const std::string& name = node.attribute<graph::InputAttribute>().name;
    if (live.find_input(name)) needed.insert(name);
    for (const Dim& extent : node.shape())
      for (const Dim& variable : extent.variables())
        if (live.dims().contains(variable.name())) needed.insert(name);
  }
  return needed;
}

/// Braces as data for an input; {5} may stand for a scalar.
Array fit(const NestedValues& values, DType dtype, int rank) {
  Array array = values.to_array(dtype);
  const bool one_number = array.extents() == Extents{1} && rank == 0;
  return one_number ? array.reshaped({}) : array;
}

compiler::SearchOptions search_options(const CompileOptions& options) {
  constexpr double kSearchSeconds = 60;
  constexpr double kThoroughSeconds = 600;
  const bool thorough = options.mode == Mode::kThorough;
  compiler::SearchOptions result = options.search;
  result.seconds = options.budget_seconds.value_or(thorough ? kThoroughSeconds : kSearchSeconds);
  if (!(result.seconds >= 0))
    throw UserError("compile", "a budget of {} seconds is none; it is 0 or more", result.seconds);
  if (thorough) {
    result.most_trials = std::max<size_t>(result.most_trials, 200);
    result.structures = std::max(result.structures, 32);
  }
  return result;
}

std::string trace_line(const graph::StepReport& step) {
  return fmt::format("{:>10.1f} us  %{:<5} {:<14} {}[{}]\n", step.microseconds, step.node.value,
                     step.name, step.dtype, fmt::join(step.extents, ", "));
}

/// More than any machine has cores; each of them would be a thread of the system.
constexpr int kMostThreads = 1024;

void check_threads(std::string_view operation, int threads) {
  if (threads < 0 || threads > kMostThreads)
    throw UserError(operation, "threads must be from 0 (all of them) to {}, got {}", kMostThreads,
                    threads);
}

/// Names that the graph does not have are mistakes, which would otherwise go unnoticed.
void check_options(const graph::Graph& graph, const compiler::Options& options) {
  check_threads("compile", options.threads);
  if (options.typical_dim < 1)
    throw UserError(
        "compile",
        "typical_dim must be at least 1, got {}; it is the value to expect of dims that "
        "Options::dims does not name",
        options.typical_dim);
  for (const std::string& weight : options.weights)
    if (!graph.find_input(weight))
      throw UserError("compile", "weights name '{}', which is no input of the graph", weight);
  for (const auto& [name, value] : options.dims)
    if (!graph.dims().contains(name))
      throw UserError("compile",
                      "a value is expected of the dim '{}', which the graph does not have", name);
}

[[noreturn]] void throw_running(std::string_view operation) {
  throw UserError(operation,
                  "the executable is running, in another thread or around this call, and is used "
                  "by one at a time; compile() or load() one for each thread");
}

}  // namespace

Executable::Executable(const Graph& graph, const std::vector<Tensor>& outputs,
                       const CompileOptions& options)
    : state_(graph.state()) {
  const support::TraceSpan whole("compile", "compile");
  check_options(state_->graph, options.compiler);
  std::vector<graph::Edge> wanted;
  auto want = [&](const graph::Edge& edge) {
    if (std::find(wanted.begin(), wanted.end(), edge) == wanted.end()) wanted.push_back(edge);
  };
  for (const Tensor& output : outputs) {
    if (output.state() != state_)
      throw UserError("compile", "output {} belongs to another graph", describe(output));
    want(output.edge());
  }
  for (const graph::Edge& edge : state_->kept) want(edge);
  for (const graph::Edge& edge : wanted) results_.push_back({edge});
  for (const graph::Node& node : state_->graph.nodes())
    if (node.op == graph::Op::kInput) inputs_[node.attribute<graph::InputAttribute>().name];

  nodes_as_written_ = state_->graph.size();
  graph::Graph lowered = with_outputs(state_->graph, wanted);
  graph::PassList passes("compile");
  for (const graph::Pass& pass : options.passes) passes.add(pass);
  if (options.simplify) passes.add(graph::default_passes());
  lowered = passes.run(lowered, {.verify = options.verify}).graph;
  needed_inputs_ = needed_inputs(state_->graph, lowered);
  if (options.backend == Backend::kInterpreter)
    program_ = graph::make_interpreter(std::move(lowered));
  else if (options.mode == Mode::kFast)
    program_ = compiler::make_compiled(lowered, options.compiler);
  else
    program_ = compiler::make_searched(lowered, options.compiler, search_options(options),
                                       &search_report_.emplace());
}

Executable::Executable(std::unique_ptr<graph::Program> program)
    : state_(std::make_shared<GraphState>()), program_(std::move(program)) {
  state_->graph = program_->graph();
  for (const graph::Output& output : ir().outputs()) results_.push_back({output.edge});
  for (const graph::Node& node : ir().nodes())
    if (node.op == graph::Op::kInput) inputs_[node.attribute<graph::InputAttribute>().name];
  nodes_as_written_ = ir().size();
  needed_inputs_ = needed_inputs(ir(), ir());
}

void Executable::check_idle(std::string_view operation) const {
  if (running_->test(std::memory_order_relaxed)) throw_running(operation);
}

Executable::InputSlot& Executable::slot(std::string_view operation, std::string_view name) {
  check_idle(operation);
  auto found = inputs_.find(name);
  if (found != inputs_.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, unused] : inputs_) names.push_back("'" + known + "'");
  throw UserError(operation, "there is no input '{}'; inputs are {}", name, fmt::join(names, ", "));
}

Executable::InputSlot& Executable::slot(std::string_view operation, const Tensor& input) {
  const graph::Node& node = input.state()->graph.node(input.edge().node);
  if (input.state() != state_)
    throw UserError(operation, "{} belongs to another graph", describe(input));
  if (node.op == graph::Op::kInput && !input.edge().view.is_identity())
    throw UserError(operation, "{} is seen through a view; set the input itself", describe(input));
  if (node.op != graph::Op::kInput)
    throw UserError(operation, "{} is the result of {}, not an input; only inputs take data",
                    describe(input), graph::name(node.op));
  return slot(operation, node.attribute<graph::InputAttribute>().name);
}

void Executable::set(const Tensor& input, const Array& value) {
  slot("set", input).hold(value.cast(input.dtype()));
}

void Executable::set(std::string_view input, const Array& value) {
  InputSlot& target = slot("set", input);
  const DType dtype = state_->graph.node(*state_->graph.find_input(input)).dtype();
  target.hold(value.cast(dtype));
}

void Executable::set(const Tensor& input, const NestedValues& values) {
  slot("set", input).hold(fit(values, input.dtype(), input.rank()));
}

void Executable::set(std::string_view input, const NestedValues& values) {
  InputSlot& target = slot("set", input);
  const graph::Node& node = state_->graph.node(*state_->graph.find_input(input));
  target.hold(fit(values, node.dtype(), static_cast<int>(node.shape().size())));
}

void Executable::set_flat(const Tensor& input, const Array& values) {
  slot("set", input).hold(values.cast(input.dtype()), true);
}

void Executable::set_bytes(const Tensor& input, DType dtype, std::span<const std::byte> bytes) {
  const int64_t count = static_cast<int64_t>(bytes.size()) * 8 / graph::bits(dtype);
  if (graph::byte_size(dtype, count) != static_cast<int64_t>(bytes.size()))
    throw UserError("set_bytes", "{} bytes are no whole number of {} elements", bytes.size(),
                    dtype);
  set_flat(input, Array(dtype, {count}, {bytes.begin(), bytes.end()}));
}

void Executable::set_file(const Tensor& input, const std::string& path, const std::string& key) {
  if (key.empty() && !path.ends_with(".npz")) return set(input, graph::load_npy(path, "set_file"));
  std::map<std::string, Array> arrays = graph::load_npz(path, "set_file");
  auto found = key.empty() && arrays.size() == 1 ? arrays.begin() : arrays.find(key);
  if (found != arrays.end()) return set(input, found->second);
  std::vector<std::string> names;
  for (const auto& [name, unused] : arrays) names.push_back("'" + name + "'");
  throw UserError("set_file", "{} has no array '{}'; it has {}", path, key, fmt::join(names, ", "));
}

void Executable::set_loader(const Tensor& input, std::function<Array()> loader) {
  if (!loader) throw UserError("set_loader", "the loader of {} is empty", describe(input));
  slot("set_loader", input) = {std::nullopt, false, std::move(loader)};
}

void Executable::set_dim(const std::string& name, int64_t value) {
  check_idle("set_dim");
  // The program's dims are those of the views of outputs too; passes may have removed others that
  // the user wrote.
  auto dims = program_->graph().dims();
  dims.insert(state_->graph.dims().begin(), state_->graph.dims().end());
  auto found = dims.find(name);
  if (found == dims.end()) throw UserError("set_dim", "the graph has no dim '{}'", name);
  if (!found->second.contains(value))
    throw UserError("set_dim", "'{}' = {} is outside its range [{}, {}]", name, value,
                    found->second.lo, found->second.hi);
  dims_[name] = value;
}

void Executable::load_inputs() {
  for (auto& [name, input] : inputs_) {
    if (input.value || !input.loader || !needed_inputs_.contains(name)) continue;
    const DType dtype = state_->graph.node(*state_->graph.find_input(name)).dtype();
    input.value = input.loader().cast(dtype);
  }
}

/// True if the dims that were found for the last run still hold.
bool Executable::has_same_shapes() const {
  if (dims_ != bound_dims_) return false;
  return std::all_of(inputs_.begin(), inputs_.end(), [](const auto& each) {
    const InputSlot& input = each.second;
    if (input.value.has_value() != input.bound.has_value()) return false;
    return !input.value || input.value->extents() == *input.bound;
  });
}

graph::DimValues Executable::shape_flat_inputs() {
  std::map<std::string, const Array*> shaped;
  for (const auto& [name, input] : inputs_)
    if (input.value && !input.flat) shaped[name] = &*input.value;
  graph::DimValues dims = graph::bind_dims(state_->graph, shaped, dims_);
  std::vector<std::string> waiting;
  for (const auto& [name, input] : inputs_)
    if (input.value && input.flat) waiting.push_back(name);
  auto shape_of = [&](const std::string& name) -> const Shape& {
    return state_->graph.node(*state_->graph.find_input(name)).shape();
  };
  while (!waiting.empty()) {
    // One input may tell a dim that another one needs. If none can be next, the first says why.
    auto next = std::find_if(waiting.begin(), waiting.end(), [&](const std::string& name) {
      return graph::can_bind_flat(shape_of(name), dims);
    });
    if (next == waiting.end()) next = waiting.begin();
    Array& value = *inputs_.at(*next).value;
    value = value.reshaped(graph::bind_flat(*next, shape_of(*next), value.size(), dims));
    waiting.erase(next);
  }
  return dims;
}

void Executable::run(const RunOptions& options) {
  if (running_->test_and_set(std::memory_order_acquire)) throw_running("run");
  const auto over = [](std::atomic_flag* flag) { flag->clear(std::memory_order_release); };
  const std::unique_ptr<std::atomic_flag, decltype(over)> until_end(running_.get(), over);
  compute(options);
}

void Executable::compute(const RunOptions& options) {
  load_inputs();
  if (!has_same_shapes()) {
    request_.dims = shape_flat_inputs();
    bound_dims_ = dims_;
    for (auto& [name, input] : inputs_) {
      input.bound.reset();
      if (input.value) input.bound = input.value->extents();
    }
  }
  for (const auto& [name, input] : inputs_)
    request_.inputs[name] = input.value ? &*input.value : nullptr;
  std::ostream& text = options.text ? *options.text : std::cout;
  request_.text = &text;
  request_.on_step = nullptr;
  if (options.trace)
    request_.on_step = [&](const graph::StepReport& step) { text << trace_line(step); };
  program_->run_into(request_, values_);
  take_results();
}

/// Results go where they belong; what was there before is let go.
void Executable::take_results() {
  static const Extents kEmpty{0};
  for (size_t k = 0; k < results_.size(); ++k) {
    ResultSlot& result = results_[k];
    std::optional<Array>& place = result.next_of != nullptr ? result.next_of->value : result.value;
    if (place)
      std::swap(*place, values_[k]);
    else
      place.emplace(std::move(values_[k]));
    values_[k].rebind(f32, kEmpty, nullptr);
  }
}

Executable::InputSlot* Executable::find_input(std::string_view operation, const Tensor& tensor) {
  if (tensor.state() != state_)
    throw UserError(operation, "{} belongs to another graph", describe(tensor));
  const graph::Node& node = state_->graph.node(tensor.edge().node);
  if (node.op != graph::Op::kInput || !tensor.edge().view.is_identity()) return nullptr;
  return &slot(operation, node.attribute<graph::InputAttribute>().name);
}

std::optional<Array>& Executable::find_value(std::string_view operation, const Tensor& tensor) {
  check_idle(operation);
  // An input that is an output too is one value, that of the input.
  if (InputSlot* input = find_input(operation, tensor)) return input->value;
  for (ResultSlot& result : results_)
    if (result.edge == tensor.edge())
      return result.next_of != nullptr ? result.next_of->value : result.value;
  throw UserError(operation,
                  "{} is neither an input nor an output; pass it to compile() or keep() it before",
                  describe(tensor));
}

const Array& Executable::value_of(std::string_view operation, const Tensor& tensor) const {
  auto* self = const_cast<Executable*>(this);  // the lookups change nothing
  const std::optional<Array>& value = self->find_value(operation, tensor);
  if (value) return *value;
  const InputSlot* input = self->find_input(operation, tensor);
  if (input == nullptr)
    throw UserError(operation, "{} has no value: run() first, or it was dropped", describe(tensor));
  if (input->loader)
    throw UserError(operation, "{} is not loaded yet: run() calls its loader", describe(tensor));
  throw UserError(operation, "{} has no data: set it first, or it was dropped", describe(tensor));
}

Array Executable::get(const Tensor& tensor) const { return value_of("get", tensor); }

Array Executable::get(size_t output) const { return value_of("get", this->output(output)); }
Array Executable::get(std::string_view output) const {
  return value_of("get", this->output(output));
}

Tensor Executable::input(std::string_view name) const {
  const_cast<Executable*>(this)->slot("input", name);  // looks it up
  return {state_, state_->graph.whole(*state_->graph.find_input(name))};
}

Tensor Executable::output(size_t number) const {
  if (number >= results_.size())
    throw UserError("output", "there is no output {}; there are {}", number, results_.size());
  return {state_, results_[number].edge};
}

size_t Executable::output_number(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t k = 0; k < results_.size(); ++k) {
    names.push_back("'" + ir().outputs()[k].name + "'");
    if (ir().outputs()[k].name == name) return k;
  }
  throw UserError("output", "there is no output '{}'; outputs are {}", name,
                  fmt::join(names, ", "));
}

Tensor Executable::output(std::string_view name) const { return output(output_number(name)); }

void Executable::save(const Tensor& tensor, const std::string& path) const {
  graph::save_npy(path, value_of("save", tensor), "save");
}

Array Executable::retrieve(const Tensor& tensor) {
  return retrieve(std::vector<Tensor>{tensor}).front();
}

std::vector<Array> Executable::retrieve(const std::vector<Tensor>& tensors) {
  std::vector<Array> values;
  for (const Tensor& tensor : tensors) values.push_back(value_of("retrieve", tensor));
  drop(tensors);
  return values;
}

void Executable::drop(const Tensor& tensor) { find_value("drop", tensor).reset(); }

void Executable::drop(const std::vector<Tensor>& tensors) {
  // All are looked up before any is freed, so that a bad list changes nothing.
  std::vector<std::optional<Array>*> values;
  for (const Tensor& tensor : tensors) values.push_back(&find_value("drop", tensor));
  for (std::optional<Array>* value : values) value->reset();
}

void Executable::swap(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    throw UserError("swap", "{} is {}{} and {} is {}{}; only equal types can be exchanged",
                    describe(a), a.dtype(), graph::to_string(a.shape()), describe(b), b.dtype(),
                    graph::to_string(b.shape()));
  InputSlot* first = find_input("swap", a);
  InputSlot* second = find_input("swap", b);
  if (first != nullptr && second != nullptr)
    std::swap(*first, *second);  // loaders and flat data too
  else
    std::swap(find_value("swap", a), find_value("swap", b));
}

void Executable::update(const Tensor& input, const Tensor& output) {
  InputSlot& target = slot("update", input);
  if (input.dtype() != output.dtype() || input.shape() != output.shape())
    throw UserError("update", "{} is {}{} and {} is {}{}; a value and its next are of one type",
                    describe(input), input.dtype(), graph::to_string(input.shape()),
                    describe(output), output.dtype(), graph::to_string(output.shape()));
  for (const ResultSlot& result : results_)
    if (result.next_of == &target)
      throw UserError("update", "{} has a next value already", describe(input));
  const auto found = std::find_if(results_.begin(), results_.end(), [&](const ResultSlot& result) {
    return result.edge == output.edge();
  });
  if (output.state() != state_ || found == results_.end())
    throw UserError("update", "{} is no output; pass it to compile() or keep() it before",
                    describe(output));
  if (found->next_of != nullptr || find_input("update", output) != nullptr)
    throw UserError("update", "{} is the value of an input already", describe(output));
  found->next_of = &target;
  found->value.reset();
  request_.donated.insert(
      state_->graph.node(input.edge().node).attribute<graph::InputAttribute>().name);
}

std::string Executable::explain() const {
  if (dynamic_cast<const plan::CompiledProgram*>(program_.get()) != nullptr)
    return fmt::format("{} nodes as written, {} after passes; native code: {}", nodes_as_written_,
                       ir().size(), compiler::to_string(explanation()));
  return fmt::format(
      "{} nodes as written, {} after passes; run by the interpreter, one node at a time.\n{}",
      nodes_as_written_, ir().size(), graph::list_steps(ir()));
}

compiler::Explanation Executable::explanation() const {
  const auto* compiled = dynamic_cast<const plan::CompiledProgram*>(program_.get());
  if (compiled == nullptr)
    throw UserError("explanation", "the interpreter has no plan; compile for Backend::kCpu");
  compiler::ExplainOptions options;
  options.dims = dims_;
  options.search = search_report_;
  return compiler::explain(compiled->plan(), options);
}

Executable compile(const Graph& graph, const std::vector<Tensor>& outputs,
                   const CompileOptions& options) {
  return {graph, outputs, options};
}

void Executable::save(const std::string& path) const {
  const auto* compiled = dynamic_cast<const plan::CompiledProgram*>(program_.get());
  if (compiled == nullptr)
    throw UserError("save", "the interpreter has no plan to save; compile for Backend::kCpu");
  plan::save_plan(compiled->plan(), path);
}

Executable load(const std::string& path, const LoadOptions& options) {
  check_threads("load", options.threads);
  if (support::environment().flag(support::EnvVar::kCheckSteps))
    support::log_warn(
        "load: steps of {} are not checked: plan files do not say what kernels should compute; "
        "compile the graph to check them",
        path);
  return Executable(plan::load_plan(plan::load_plan_file(path), options.threads));
}

void transfer(const Executable& source, const Tensor& from, Executable& target, const Tensor& to) {
  target.set(to, source.get(from));
}

}  // namespace luminal
