#include "luminal/plan/compiled_program.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <limits>
#include <map>

#include "luminal/graph/interpreter_steps.h"
#include "luminal/graph/opaque.h"
#include "luminal/graph/query.h"
#include "luminal/graph/run_binding.h"
#include "luminal/plan/index_checks.h"
#include "luminal/plan/joint_launch.h"
#include "luminal/plan/plan_values.h"
#include "luminal/plan/result_pool.h"
#include "luminal/plan/sorted_rows.h"
#include "luminal/plan/variants.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/device.h"
#include "luminal/runtime/cpu/module.h"
#include "luminal/support/check.h"
#include "luminal/support/trace.h"

namespace luminal::plan {
namespace {

using graph::Array;
using graph::Node;
using graph::RunRequest;

/// Launches that compute fewer values are over before another thread has begun.
constexpr int64_t kSmallWork = 16384;

const graph::Extents kNoElements{0};

/// A tensor in foreign memory as an array, for as long as the memory is there.
Array borrowed(const PlanBuffer& buffer, const graph::Extents& extents, std::byte* data) {
  return Array::adopt(buffer.type.dtype, extents,
                      std::shared_ptr<std::byte>(std::shared_ptr<std::byte>(), data));
}

/// Positions that follow from the dims, and what computes them.
struct DimsCheck {
  Node gather;
  std::unique_ptr<graph::Program> positions;
};

class Compiled : public CompiledProgram, private RunMemory {
 public:
  Compiled(Plan plan, int threads)
      : plan_(std::move(plan)), values_(plan_), team_(runtime::default_thread_team()) {
    threads_ = threads > 0 ? std::min(threads, team_.size()) : team_.size();
    load_kernels();
    find_inputs();
    find_checks();
    sorted_prefixes_ = sorted_prefixes(plan_.graph);
    addresses_.resize(plan_.buffers.size());
    pointers_.resize(plan_.steps.size() + plan_.prepare.size());
    for (size_t k = 0; k < plan_.steps.size(); ++k)
      if (const auto* launch = std::get_if<LaunchStep>(&plan_.steps[k].action))
        if (is_joint(*launch)) joint_[k];
    prepared_.resize(plan_.prepared);
    prepared_values_.resize(plan_.prepare.size());
  }

  const graph::Graph& graph() const override { return plan_.graph; }
  const Plan& plan() const override { return plan_; }
  int64_t working_bytes() const override {
    int64_t total = slots_.size() + scratch_.size();
    for (const runtime::HostMemory& memory : prepared_) total += memory.size();
    return total;
  }

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
    place_buffers(request);
    prepare();
    for (size_t k = 0; k < plan_.steps.size(); ++k) execute(k, request);
    take_outputs(request, outputs);
  }

  std::vector<Array> run(const RunRequest& request, StepWatcher& watcher) override {
    bind(request);
    place_buffers(request);
    prepared_values_.assign(plan_.prepare.size(), std::nullopt);
    is_new_.assign(plan_.buffers.size(), false);
    for (size_t k = 0; k < plan_.prepare.size(); ++k) {
      watcher.before(k, *this);
      prepare(k);
      watcher.after(k, *this);
    }
    // Who watches sees whole results.
    const auto prefixes = std::exchange(sorted_prefixes_, {});
    for (size_t k = 0; k < plan_.steps.size(); ++k) {
      watcher.before(plan_.prepare.size() + k, *this);
      execute(k, request);
      watcher.after(plan_.prepare.size() + k, *this);
    }
    sorted_prefixes_ = prefixes;
    std::vector<Array> outputs(plan_.outputs.size());
    take_outputs(request, outputs);
    return outputs;
  }

 private:
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

  void load_kernels() {
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

  void find_checks() {
    view_checks_ = view_checks(plan_.graph);
    for (const IndexCheck& check : index_checks(plan_.graph)) {
      if (!check.from_dims) continue;
      const Node& gather = plan_.graph.node(check.gather);
      graph::Subgraph part = graph::extract(plan_.graph, std::span(&gather.operands[0].node, 1));
      dims_checks_.push_back({gather, graph::make_interpreter(std::move(part.graph))});
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

  void bind(const RunRequest& request) {
    if (same_as_before(request)) return;
    bound_ = false;
    dims_ = graph::bind_run(plan_.graph, request, needed_inputs_, plan_.dims);
    values_.bind(dims_);
    for (const ViewCheck& check : view_checks_) check_view(check, dims_);
    for (const DimsCheck& check : dims_checks_) {
      RunRequest part;
      for (const auto& [name, interval] : check.positions->graph().dims())
        for (const symbolic::Binding& dim : dims_)
          if (dim.symbol.name() == name) part.dims[name] = *dim.value.constant_value();
      check_positions(check.gather, check.positions->run(part)[0], dims_);
    }
    bind_checks();
    size_memory();
    bound_ = true;
  }

  /// The bound of positions that a look at each of them can compare with.
  void bind_checks() {
    check_bounds_.assign(plan_.steps.size(), 0);
    for (size_t k = 0; k < plan_.steps.size(); ++k) {
      const auto* check = std::get_if<CheckStep>(&plan_.steps[k].action);
      if (check == nullptr || !check->gather.operands[0].view.conditions().empty() ||
          !stays_inside(check->gather.operands[1].view, dims_))
        continue;
      const Expr& extent = check->gather.operands[1].view.domain().back();
      check_bounds_[k] = *symbolic::substitute(extent, dims_).constant_value();
    }
  }

  /// What `take` gives. Where there is no memory, the error names the largest tensor that it is for
  /// (in place number `index`, or in any) and the dims that make it so large.
  template <typename Function>
  auto memory_for(Place place, std::optional<size_t> index, int64_t bytes,
                  const Function& take) try {
    return take();
  } catch (const DeviceError& error) {
    size_t largest = 0;
    int64_t most = -1;
    for (size_t k = 0; k < plan_.buffers.size(); ++k) {
      const PlanBuffer& buffer = plan_.buffers[k];
      if (buffer.place != place || (index && buffer.index != *index) || values_.bytes(k) <= most)
        continue;
      largest = k;
      most = values_.bytes(k);
    }
    const PlanBuffer& buffer = plan_.buffers[largest];
    std::string dims;
    for (const symbolic::Binding& dim : dims_)
      dims += fmt::format("{}{} = {}", dims.empty() ? " with " : ", ", dim.symbol.name(),
                          symbolic::to_string(dim.value));
    throw DeviceError(error.call(), error.code(),
                      "run: there is no memory for {} bytes of {}{}; the largest is '{}', {}{}, of "
                      "{} bytes; give smaller dims, or run parts of the graph one after the other",
                      bytes,
                      place == Place::kSlot     ? "values between steps"
                      : place == Place::kResult ? "a result"
                                                : "prepared weights",
                      dims, buffer.name, buffer.type.dtype,
                      graph::to_string(values_.extents(largest)), most);
  }

  void size_memory() {
    std::vector<int64_t> slot_bytes(plan_.slots, 0);
    for (size_t k = 0; k < plan_.buffers.size(); ++k)
      if (plan_.buffers[k].place == Place::kSlot && plan_.slots > 0)
        slot_bytes[plan_.buffers[k].index] =
            std::max(slot_bytes[plan_.buffers[k].index], values_.bytes(k));
    slot_offsets_.clear();
    int64_t total = 0;
    for (const int64_t bytes : slot_bytes) {
      slot_offsets_.push_back(total);
      total += runtime::aligned_size(bytes);
    }
    if (slots_.size() < total)
      slots_ = memory_for(Place::kSlot, {}, total, [&] { return runtime::HostMemory(total); });
    int64_t scratch = 0;
    for (size_t k = 0; k < pointers_.size(); ++k)
      if (const auto& launch = values_.launch(k))
        scratch = std::max(scratch, runtime::aligned_size(launch->thread_bytes));
    scratch *= team_.size();
    if (scratch_.size() < scratch) scratch_ = runtime::HostMemory(scratch);
    results_.resize(plan_.results);
    result_bytes_.assign(plan_.results, 0);
    for (size_t k = 0; k < plan_.buffers.size(); ++k) {
      const PlanBuffer& buffer = plan_.buffers[k];
      if (buffer.place == Place::kResult)
        result_bytes_[buffer.index] = std::max(result_bytes_[buffer.index], values_.bytes(k));
      if (buffer.place == Place::kPrepared && prepared_[buffer.index].size() < values_.bytes(k)) {
        prepared_[buffer.index] = memory_for(Place::kPrepared, buffer.index, values_.bytes(k),
                                             [&] { return runtime::HostMemory(values_.bytes(k)); });
        prepared_values_.assign(plan_.prepare.size(), std::nullopt);
      }
    }
  }

  const Array& input_array(const RunRequest& request, const PlanBuffer& buffer) const {
    return *request.inputs.find(buffer.name)->second;
  }

  /// Makes the memory of an input that was given away that of a result, if nobody else sees it.
  void take_over(const Donation& donation) {
    const PlanBuffer& buffer = plan_.buffers[donation.input];
    std::shared_ptr<std::byte>& result = results_[donation.result];
    if (result != nullptr || !request_->donated.contains(buffer.name)) return;
    const Array& input = input_array(*request_, buffer);
    const std::byte* data = input.bytes().data();
    const bool fits = values_.bytes(donation.input) == result_bytes_[donation.result] &&
                      reinterpret_cast<uintptr_t>(data) % runtime::kBufferAlignment == 0;
    const auto readers =
        std::count_if(request_->inputs.begin(), request_->inputs.end(), [&](const auto& other) {
          return other.second != nullptr && other.second->bytes().data() == data;
        });
    if (fits && !input.is_shared() && readers == 1) result = input.memory();
  }

  void place_buffers(const RunRequest& request) {
    request_ = &request;
    for (std::shared_ptr<std::byte>& result : results_) result.reset();  // of a run that failed
    for (const Donation& donation : plan_.donations) take_over(donation);
    for (size_t k = 0; k < results_.size(); ++k)
      if (results_[k] == nullptr)
        results_[k] = memory_for(Place::kResult, k, result_bytes_[k],
                                 [&] { return pool_.take(result_bytes_[k]); });
    for (size_t k = 0; k < plan_.buffers.size(); ++k) {
      const PlanBuffer& buffer = plan_.buffers[k];
      switch (buffer.place) {
        case Place::kInput:
          addresses_[k] = const_cast<std::byte*>(input_array(request, buffer).bytes().data());
          break;
        case Place::kConstant:
          addresses_[k] = const_cast<std::byte*>(buffer.value.bytes().data());
          break;
        case Place::kResult:
          addresses_[k] = results_[buffer.index].get();
          break;
        case Place::kSlot:
          addresses_[k] = plan_.slots == 0 ? nullptr : slots_.data() + slot_offsets_[buffer.index];
          break;
        case Place::kPrepared:
          addresses_[k] = prepared_[buffer.index].data();
          break;
        case Place::kThread:
          addresses_[k] = nullptr;
          break;
      }
    }
    const auto fill = [&](const PlanStep& step, std::vector<void*>& pointers) {
      const auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch == nullptr || is_joint(*launch)) return;
      pointers.resize(launch->buffers.size());
      for (size_t k = 0; k < pointers.size(); ++k) pointers[k] = addresses_[launch->buffers[k]];
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
        now.sources.push_back(input_array(*request_, plan_.buffers[buffer]));
    prepared_values_[k] = std::move(now);
  }

  bool is_prepared(const LaunchStep& launch, const LaunchValues& values,
                   const Prepared& before) const {
    if (!(values == before.values)) return false;
    size_t source = 0;
    for (const size_t buffer : launch.buffers)
      if (plan_.buffers[buffer].place == Place::kInput &&
          before.sources[source++].bytes().data() != addresses_[buffer])
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
                    addresses_, scratch_.data(), team_.size());
    }
  }

  /// How many threads a launch is for.
  int threads_of(const LaunchStep& launch, const LaunchValues& values) const {
    if (values.work < kSmallWork) return 1;
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
    call.scratch = scratch_.data();
    runtime::launch_on_team(team_, entries_[launch.kernel], call, values.scratch_bytes);
  }

  void describe(support::TraceSpan& span, const PlanStep& step) const {
    span.note("node", fmt::format("%{}", step.node.value));
    span.note("type", graph::to_string(step.type));
    if (!step.schedule.empty()) span.note("schedule", step.schedule);
  }

  void execute(size_t number, const RunRequest& request) {
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
      compute(*host, step.node, request);
    } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
      if (addresses_[copy->to] == addresses_[copy->from]) return;
      std::memcpy(addresses_[copy->to], addresses_[copy->from],
                  static_cast<size_t>(values_.bytes(copy->to)));
    } else {
      return check(std::get<CheckStep>(step.action), check_bounds_[number]);
    }
    if (!request.on_step) return;
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - begin;
    request.on_step({step.label, step.node, step.type.dtype,
                     graph::evaluate_shape(step.type.shape, dims_), elapsed.count()});
  }

  const graph::DimBindings& dims() const override { return dims_; }
  Array array(size_t buffer) const override {
    const PlanBuffer& info = plan_.buffers[buffer];
    if (info.place == Place::kInput) return input_array(*request_, info);
    if (info.place == Place::kConstant) return info.value;
    return borrowed(info, values_.extents(buffer), addresses_[buffer]);
  }

  void compute(const HostStep& host, NodeId node, const RunRequest& request) {
    if (host.node.op == graph::Op::kArgSort) {
      const auto prefix = sorted_prefixes_.find(node);
      const int64_t wanted =
          prefix == sorted_prefixes_.end() ? std::numeric_limits<int64_t>::max() : prefix->second;
      return argsort_rows(host.node, array(host.operands[0]), dims_, wanted, team_,
                          reinterpret_cast<int64_t*>(addresses_[host.result]));
    }
    std::vector<Array> arrays;
    for (const size_t operand : host.operands) {
      arrays.push_back(array(operand));
      // The user's function may keep what it is given.
      if (host.node.op == graph::Op::kCustom && plan_.buffers[operand].place != Place::kInput) {
        const std::span<const std::byte> bytes = arrays.back().bytes();
        arrays.back() = Array(arrays.back().dtype(), arrays.back().extents(),
                              std::vector<std::byte>(bytes.begin(), bytes.end()));
      }
    }
    std::vector<const Array*> operands;
    for (const Array& array : arrays) operands.push_back(&array);
    if (host.node.op == graph::Op::kScatter && graph::bits(host.node.dtype()) >= 8)
      return scatter(host, operands);
    std::ostream& text = request.text != nullptr ? *request.text : std::cout;
    const Array result = graph::compute_opaque(host.node, operands, dims_, text);
    const std::span<const std::byte> bytes = result.bytes();
    if (!bytes.empty()) std::memmove(addresses_[host.result], bytes.data(), bytes.size());
  }

  void scatter(const HostStep& host, std::span<const Array* const> operands) {
    const int64_t rows = graph::scatter_row_count(host.node, dims_);
    const auto some = [&](int64_t begin, int64_t end, int) {
      graph::scatter_rows(host.node, operands, dims_, begin, end, addresses_[host.result]);
    };
    if (values_.bytes(host.result) < kSmallWork)
      some(0, rows, 0);
    else
      team_.static_loop(rows, some);
  }

  void check(const CheckStep& step, int64_t bound) const {
    const int64_t count = graph::element_count(values_.extents(step.index));
    const graph::DType dtype = plan_.buffers[step.index].type.dtype;
    if (quickly_in_range(dtype, addresses_[step.index], count, bound)) return;
    check_positions(step.gather, array(step.index), dims_);
  }

  void take_outputs(const RunRequest& request, std::vector<Array>& outputs) {
    for (size_t k = 0; k < outputs.size(); ++k) {
      const PlanBuffer& info = plan_.buffers[plan_.outputs[k]];
      const auto& memory = info.place == Place::kInput      ? input_array(request, info).memory()
                           : info.place == Place::kConstant ? info.value.memory()
                                                            : results_[info.index];
      outputs[k].rebind(info.type.dtype, values_.extents(plan_.outputs[k]), memory);
    }
    for (std::shared_ptr<std::byte>& result : results_) result.reset();
  }

  Plan plan_;
  PlanValues values_;
  runtime::ThreadTeam& team_;
  int threads_ = 1;
  std::vector<std::unique_ptr<runtime::CpuModule>> modules_;
  std::vector<runtime::CpuEntry> entries_;
  std::vector<Input> inputs_;
  std::vector<NodeId> needed_inputs_;
  std::vector<ViewCheck> view_checks_;
  std::vector<DimsCheck> dims_checks_;
  std::map<NodeId, int64_t> sorted_prefixes_;

  // Of the dims bound last.
  bool bound_ = false;
  graph::DimValues request_dims_;
  graph::DimBindings dims_;
  std::vector<int64_t> check_bounds_;  // of each step; 0 if a quick look does not do
  std::vector<int64_t> slot_offsets_;
  std::vector<int64_t> result_bytes_;
  runtime::HostMemory slots_;
  runtime::HostMemory scratch_;
  std::vector<runtime::HostMemory> prepared_;
  std::vector<std::optional<Prepared>> prepared_values_;
  std::vector<bool> is_new_;  // by buffer: prepared data that was made again before this run

  // Of the run.
  const RunRequest* request_ = nullptr;
  ResultPool pool_;
  std::vector<std::shared_ptr<std::byte>> results_;
  std::vector<std::byte*> addresses_;
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
