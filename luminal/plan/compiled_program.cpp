#include "luminal/plan/compiled_program.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>

#include "luminal/graph/interpreter_steps.h"
#include "luminal/graph/run_binding.h"
#include "luminal/plan/buffer_memory.h"
#include "luminal/plan/host_step.h"
#include "luminal/plan/joint_launch.h"
#include "luminal/plan/run_checks.h"
#include "luminal/plan/sorted_rows.h"
#include "luminal/plan/variants.h"
#include "luminal/runtime/cpu/device.h"
#include "luminal/runtime/cpu/module.h"
#include "luminal/support/check.h"
#include "luminal/support/trace.h"

namespace luminal::plan {
namespace {

using graph::Array;
using graph::Node;
using graph::RunRequest;

const graph::Extents kNoElements{0};

class Compiled : public CompiledProgram, private RunMemory {
 public:
  Compiled(Plan plan, int threads)
      : plan_(std::move(plan)),
        values_(plan_),
        memory_(plan_, values_),
        checks_(plan_),
        team_(runtime::default_thread_team()) {
    threads_ = threads > 0 ? std::min(threads, team_.size()) : team_.size();
    load_kernels();
    find_inputs();
    sorted_prefixes_ = sorted_prefixes(plan_.graph);
    pointers_.resize(plan_.steps.size() + plan_.prepare.size());
    for (size_t k = 0; k < plan_.steps.size(); ++k)
      if (const auto* launch = std::get_if<LaunchStep>(&plan_.steps[k].action))
        if (is_joint(*launch)) joint_[k];
    prepared_values_.resize(plan_.prepare.size());
  }

  const graph::Graph& graph() const override { return plan_.graph; }
  const Plan& plan() const override { return plan_; }
  int64_t working_bytes() const override { return memory_.kept_bytes(); }

  std::vector<Array> run(const RunRequest& request) override {
    std::vector<Array> outputs;
    run_into(request, outputs);
    return outputs;
  }

  void run_into(const RunRequest& request, std::vector<Array>& outputs) override {
    const support::TraceSpan span("run", "run");
    outputs.resize(plan_.outputs.size());
    for (Array& output : outputs) output.rebind(graph::DType::kF32, kNoElements, nullptr);
    bind(request);
    place(request);
    prepare();
    for (size_t k = 0; k < plan_.steps.size(); ++k) execute(k, request, Sorted::kAsRead);
    memory_.give_outputs(outputs);
  }

  std::vector<Array> run(const RunRequest& request, StepWatcher& watcher) override {
    bind(request);
    place(request);
    prepared_values_.assign(plan_.prepare.size(), std::nullopt);
    is_new_.assign(plan_.buffers.size(), false);
    for (size_t k = 0; k < plan_.prepare.size(); ++k) {
      watcher.before(k, *this);
      prepare(k);
      watcher.after(k, *this);
    }
    for (size_t k = 0; k < plan_.steps.size(); ++k) {
      watcher.before(plan_.prepare.size() + k, *this);
      execute(k, request, Sorted::kWhole);
      watcher.after(plan_.prepare.size() + k, *this);
    }
    std::vector<Array> outputs(plan_.outputs.size());
    memory_.give_outputs(outputs);
    return outputs;
  }

 private:
  /// How much of its rows a sort computes: what later steps read, or all, for those who watch.
  enum class Sorted { kAsRead, kWhole };

  /// An input of the graph and its data in the run before.
  struct Input {
    std::string name;
    bool given = false;
    graph::DType dtype = graph::DType::kF32;
    graph::Extents extents;
  };

  /// What a prepare step was run with.
  struct Prepared {
    LaunchValues values;
    std::vector<Array> sources;
  };

  /// Code for another processor is not loaded: such a plan can be looked at and saved.
  void load_kernels() {
    uint64_t needed = 0;
    for (const PlanKernel& kernel : plan_.kernels) needed |= kernel.artifact.needed.bits();
    missing_ = runtime::CpuFeatures::from_bits(needed).without(runtime::host_cpu().features);
    if (!missing_.empty()) return;
    for (const PlanKernel& kernel : plan_.kernels) {
      modules_.push_back(std::make_unique<runtime::CpuModule>(kernel.artifact));
      entries_.push_back(modules_.back()->entry(kernel.entry));
    }
  }

  void find_inputs() {
    for (const graph::Step& step : graph::plan_steps(plan_.graph))
      if (plan_.graph.node(step.node).op == graph::Op::kInput) needed_inputs_.push_back(step.node);
    for (const NodeId id : plan_.graph.ids()) {
      const Node& node = plan_.graph.node(id);
      if (node.op != graph::Op::kInput) continue;
      inputs_.push_back({node.attribute<graph::InputAttribute>().name, false, {}, {}});
    }
  }

  /// True if dims and inputs are as in the run before; remembers them.
  bool same_as_before(const RunRequest& request) {
    bool same = bound_ && request.dims == request_dims_;
    for (Input& input : inputs_) {
      const auto found = request.inputs.find(input.name);
      const Array* value = found == request.inputs.end() ? nullptr : found->second;
      const bool given = value != nullptr;
      if (given == input.given &&
          (!given || (value->dtype() == input.dtype && value->extents() == input.extents)))
        continue;
      same = false;
      input.given = given;
      if (!given) continue;
      input.dtype = value->dtype();
      input.extents = value->extents();
    }
    if (!same) request_dims_ = request.dims;
    return same;
  }

  void check_processor() const {
    if (missing_.empty()) return;
    throw UserError("run",
                    "the program was compiled for a processor with {}, which this one ({}) lacks; "
                    "save its plan and run that there, or compile for this one",
                    missing_.to_string(), runtime::host_cpu().model);
  }

  void bind(const RunRequest& request) {
    check_processor();
    if (same_as_before(request)) return;
    bound_ = false;
    dims_ = graph::bind_run(plan_.graph, request, needed_inputs_, plan_.dims);
    values_.bind(dims_);
    checks_.bind(dims_);
    if (memory_.take(dims_, team_.size()))
      prepared_values_.assign(plan_.prepare.size(), std::nullopt);
    bound_ = true;
  }

  void place(const RunRequest& request) {
    memory_.place(request);
    const std::vector<std::byte*>& addresses = memory_.addresses();
    const auto fill = [&](const PlanStep& step, std::vector<void*>& pointers) {
      const auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch == nullptr || is_joint(*launch)) return;
      pointers.resize(launch->buffers.size());
      for (size_t k = 0; k < pointers.size(); ++k)
        renew<void*>(pointers[k], addresses[launch->buffers[k]]);
    };
    for (size_t k = 0; k < plan_.steps.size(); ++k) fill(plan_.steps[k], pointers_[k]);
    place_joint_launches();
    for (size_t k = 0; k < plan_.prepare.size(); ++k)
      fill(plan_.prepare[k], pointers_[plan_.steps.size() + k]);
  }

  void prepare() {
    is_new_.assign(plan_.buffers.size(), false);
    for (size_t k = 0; k < plan_.prepare.size(); ++k) prepare(k);
  }

  /// Runs what prepares data, if that is new. Data is known to be the same if its memory is:
  /// holding on to it keeps others from writing there.
  void prepare(size_t k) {
    const auto& launch = std::get<LaunchStep>(plan_.prepare[k].action);
    const auto& values = values_.launch(plan_.steps.size() + k);
    if (!values) return;
    const bool reads_new = std::any_of(launch.buffers.begin(), launch.buffers.end(),
                                       [&](size_t buffer) { return is_new_[buffer]; });
    if (!reads_new && prepared_values_[k] && is_prepared(launch, *values, *prepared_values_[k]))
      return;
    support::TraceSpan span("prepare", plan_.prepare[k].label);
    if (span.is_on()) describe(span, plan_.prepare[k]);
    start(launch, *values, pointers_[plan_.steps.size() + k]);
    for (const size_t buffer : launch.buffers)
      is_new_[buffer] = plan_.buffers[buffer].place == Place::kPrepared;
    Prepared now{*values, {}};
    for (const size_t buffer : launch.buffers)
      if (plan_.buffers[buffer].place == Place::kInput)
        now.sources.push_back(memory_.input(buffer));
    prepared_values_[k] = std::move(now);
  }

  bool is_prepared(const LaunchStep& launch, const LaunchValues& values,
                   const Prepared& before) const {
    if (!(values == before.values)) return false;
    size_t source = 0;
    for (const size_t buffer : launch.buffers)
      if (plan_.buffers[buffer].place == Place::kInput &&
          before.sources[source++].bytes().data() != memory_.addresses()[buffer])
        return false;
    return true;
  }

  static bool is_joint(const LaunchStep& launch) {
    return !launch.first.empty() || !launch.beside.empty();
  }

  void place_joint_launches() {
    for (auto& [number, joint] : joint_) {
      const auto& values = values_.launch(number);
      if (values)
        joint.place(values_, entries_, std::get<LaunchStep>(plan_.steps[number].action), *values,
                    memory_.addresses(), memory_.scratch(), team_.size());
    }
  }

  /// How many threads a launch is for.
  int threads_of(const LaunchStep& launch, const LaunchValues& values) const {
    if (values.work < runtime::kSmallWork) return 1;
    int most = 0;
    for_each_launch(launch, [&](const LaunchStep& each) {
      most = std::max(most, each.threads > 0 ? std::min(each.threads, threads_) : threads_);
    });
    return most;
  }

  void start(const LaunchStep& launch, const LaunchValues& values,
             const std::vector<void*>& pointers) {
    runtime::Launch call;
    call.buffers = pointers;
    call.scalars = values.scalars;
    call.size = {values.items, launch.chunk, threads_of(launch, values)};
    call.scratch = memory_.scratch();
    runtime::launch_on_team(team_, entries_[launch.kernel], call, values.scratch_bytes);
  }

  void describe(support::TraceSpan& span, const PlanStep& step) const {
    span.note("node", fmt::format("%{}", step.node.value));
    span.note("type", graph::to_string(step.type));
    if (!step.schedule.empty()) span.note("schedule", step.schedule);
  }

  void execute(size_t number, const RunRequest& request, Sorted sorted) {
    const PlanStep& step = plan_.steps[number];
    support::TraceSpan span("step", step.label);
    if (span.is_on()) describe(span, step);
    const auto begin = std::chrono::steady_clock::now();
    if (const auto* launch = std::get_if<LaunchStep>(&step.action)) {
      const auto& values = values_.launch(number);
      if (values && is_joint(*launch))
        joint_.at(number).run(team_, threads_of(*launch, *values));
      else if (values)
        start(*launch, *values, pointers_[number]);
    } else if (const auto* host = std::get_if<HostStep>(&step.action)) {
      compute(*host, step.node, request, sorted);
    } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
      std::byte* const to = memory_.addresses()[copy->to];
      const std::byte* const from = memory_.addresses()[copy->from];
      if (to == from) return;
      std::memcpy(to, from, static_cast<size_t>(values_.bytes(copy->to)));
    } else {
      const size_t positions = std::get<CheckStep>(step.action).index;
      if (!checks_.quickly_in_range(number, memory_.addresses()[positions],
                                    values_.extents(positions)))
        checks_.check(number, array(positions));
      return;
    }
    if (!request.on_step) return;
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - begin;
    request.on_step({step.label, step.node, step.type.dtype,
                     graph::evaluate_shape(step.type.shape, dims_), elapsed.count()});
  }

  const graph::DimBindings& dims() const override { return dims_; }
  Array array(size_t buffer) const override { return memory_.array(buffer); }

  void compute(const HostStep& host, NodeId node, const RunRequest& request, Sorted sorted) {
    std::vector<Array> operands;
    for (const size_t operand : host.operands) {
      operands.push_back(array(operand));
      // The user's function may keep what it is given.
      if (host.node.op == graph::Op::kCustom && plan_.buffers[operand].place != Place::kInput) {
        const std::span<const std::byte> bytes = operands.back().bytes();
        operands.back() = Array(operands.back().dtype(), operands.back().extents(),
                                std::vector<std::byte>(bytes.begin(), bytes.end()));
      }
    }
    const auto prefix = sorted_prefixes_.find(node);
    run_host_step(host,
                  {.operands = operands,
                   .dims = dims_,
                   .result = memory_.addresses()[host.result],
                   .result_bytes = values_.bytes(host.result),
                   .team = team_,
                   .text = request.text != nullptr ? *request.text : std::cout,
                   .sorted_prefix = sorted == Sorted::kWhole || prefix == sorted_prefixes_.end()
                                        ? std::numeric_limits<int64_t>::max()
                                        : prefix->second});
  }

  Plan plan_;
  PlanValues values_;
  BufferMemory memory_;
  RunChecks checks_;
  runtime::ThreadTeam& team_;
  int threads_ = 1;
  runtime::CpuFeatures missing_;  // that the code needs; then none of it is loaded
  std::vector<std::unique_ptr<runtime::CpuModule>> modules_;
  std::vector<runtime::CpuEntry> entries_;
  std::vector<Input> inputs_;
  std::vector<NodeId> needed_inputs_;
  std::map<NodeId, int64_t> sorted_prefixes_;

  // Of the dims bound last.
  bool bound_ = false;
  graph::DimValues request_dims_;
  graph::DimBindings dims_;
  std::vector<std::optional<Prepared>> prepared_values_;
  std::vector<bool> is_new_;  // by buffer: prepared data that was made again before this run

  // Of the run.
  std::vector<std::vector<void*>> pointers_;
  std::map<size_t, JointLaunch> joint_;  // by step
};

}  // namespace

std::unique_ptr<CompiledProgram> load_plan(Plan plan, int threads) {
  if (!plan.variants.empty()) return load_variants(std::move(plan), threads);
  const support::TraceSpan span("compile", "load");
  return std::make_unique<Compiled>(std::move(plan), threads);
}

}  // namespace luminal::plan
