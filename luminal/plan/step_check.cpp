#include "luminal/plan/step_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "luminal/graph/opaque.h"
#include "luminal/graph/text.h"
#include "luminal/plan/step_replay.h"
#include "luminal/support/error.h"
#include "luminal/support/hash.h"

namespace luminal::plan {
namespace {

using graph::Array;
using graph::RunRequest;
using support::Hash128;

/// Inputs and constants of up to so many bytes are looked at after every step, larger ones at the
/// end of the run.
constexpr size_t kWatchedBytes = size_t{16} << 20;

/// Ends a run at the first fault.
struct FaultFound {};

Array copied(const Array& array) {
  const std::span<const std::byte> bytes = array.bytes();
  return {array.dtype(), array.extents(), std::vector<std::byte>(bytes.begin(), bytes.end())};
}

Hash128 hash_of(const Array& array) { return support::Hasher().add(array.bytes()).finish128(); }

bool is_given(const PlanBuffer& buffer) {
  return buffer.place == Place::kInput || buffer.place == Place::kConstant;
}

const PlanStep& step_of(const Plan& plan, size_t number) {
  return number < plan.prepare.size() ? plan.prepare[number]
                                      : plan.steps[number - plan.prepare.size()];
}

/// What one step reads and writes, as tensors: a kernel as a whole, at its last launch.
struct Effects {
  std::vector<size_t> reads;
  std::vector<size_t> writes;
};

class Checker : public StepWatcher {
 public:
  Checker(const Plan& plan, const RunRequest& request, StepCheckReport& report)
      : plan_(plan), request_(request), report_(report) {
    for (size_t k = plan.prepare.size(); k < plan.prepare.size() + plan.steps.size(); ++k)
      if (const auto definition = step_of(plan, k).definition) {
        first_.emplace(*definition, k);
        last_[*definition] = k;
      }
    find_reads();
    find_last_reads();
  }

  void before(size_t number, const RunMemory& memory) override {
    if (number == 0) begin(memory);
    const PlanStep& step = step_of(plan_, number);
    if (const auto* host = std::get_if<HostStep>(&step.action)) capture(host->operands, memory);
    if (number < plan_.prepare.size() || !step.definition) return;
    if (first_.at(*step.definition) != number) return;
    capture(plan_.definitions[*step.definition].inputs, memory);
    restore_unread(*step.definition);
  }

  /// Of the run.
  const graph::DimValues& dims() const { return dims_; }

  void after(size_t number, const RunMemory& memory) override {
    ++report_.steps;
    const PlanStep& step = step_of(plan_, number);
    if (number >= plan_.prepare.size() && step.definition && last_.at(*step.definition) == number)
      check_kernel(number, plan_.definitions[*step.definition], memory);
    else if (const auto* host = std::get_if<HostStep>(&step.action))
      check_host(number, *host, memory);
    else if (const auto* copy = std::get_if<CopyStep>(&step.action))
      check_copy(number, *copy, memory);
    check_others(number, memory);
    const bool is_last = number + 1 == plan_.prepare.size() + plan_.steps.size();
    check_given(number, memory, is_last);
  }

 private:
  Effects effects_of(size_t number) const {
    const PlanStep& step = step_of(plan_, number);
    if (const auto* host = std::get_if<HostStep>(&step.action))
      return {host->operands, {host->result}};
    if (const auto* copy = std::get_if<CopyStep>(&step.action)) return {{copy->from}, {copy->to}};
    if (const auto* check = std::get_if<CheckStep>(&step.action)) return {{check->index}, {}};
    if (number < plan_.prepare.size() || !step.definition) return {};
    const KernelDefinition& definition = plan_.definitions[*step.definition];
    return {read_.at(*step.definition), definition.outputs};
  }

  /// The inputs of each definition that its launches read: a definition may name more, through
  /// views that leave all of a tensor out or as an index that can only be 0, and whoever plans
  /// memory need not keep those.
  void find_reads() {
    for (size_t k = 0; k < plan_.prepare.size() + plan_.steps.size(); ++k) {
      const PlanStep& step = step_of(plan_, k);
      if (!step.definition) continue;
      const KernelDefinition& definition = plan_.definitions[*step.definition];
      std::vector<size_t>& reads = read_[*step.definition];
      if (definition.updated) reads.push_back(*definition.updated);
      for_each_launch(std::get<LaunchStep>(step.action), [&](const LaunchStep& launch) {
        for (const size_t buffer : launch.buffers)
          if (std::find(definition.inputs.begin(), definition.inputs.end(), buffer) !=
              definition.inputs.end())
            reads.push_back(buffer);
      });
      for (const size_t buffer : definition.inputs)
        if (!is_read(*step.definition, buffer)) unread_.insert(buffer);
    }
  }

  bool is_read(size_t definition, size_t buffer) const {
    const std::vector<size_t>& reads = read_.at(definition);
    return std::find(reads.begin(), reads.end(), buffer) != reads.end();
  }

  /// The memory of an input that the launches do not read may have another tensor by now.
  void restore_unread(size_t definition) {
    const std::vector<size_t>& inputs = plan_.definitions[definition].inputs;
    for (size_t k = 0; k < inputs.size(); ++k)
      if (const auto found = kept_.find(inputs[k]);
          found != kept_.end() && !is_read(definition, inputs[k]))
        captured_[k] = found->second;
  }

  void keep_if_unread(size_t buffer, const RunMemory& memory) {
    if (unread_.contains(buffer)) kept_.insert_or_assign(buffer, copied(memory.array(buffer)));
  }

  void find_last_reads() {
    const size_t count = plan_.prepare.size() + plan_.steps.size();
    for (size_t k = plan_.prepare.size(); k < count; ++k)
      for (const size_t buffer : effects_of(k).reads) last_read_[buffer] = k;
    for (const size_t buffer : plan_.outputs) last_read_[buffer] = count;
  }

  void begin(const RunMemory& memory) {
    for (const symbolic::Binding& dim : memory.dims())
      dims_[dim.symbol.name()] = *dim.value.constant_value();
    for (size_t k = 0; k < plan_.buffers.size(); ++k) {
      if (!is_given(plan_.buffers[k])) continue;
      // What is given away may be written over after its last reader.
      const bool donated = request_.donated.contains(plan_.buffers[k].name);
      (donated ? written_ : given_).emplace(k, hash_of(memory.array(k)));
      if (donated) keep_if_unread(k, memory);
    }
  }

  void capture(const std::vector<size_t>& buffers, const RunMemory& memory) {
    captured_.clear();
    for (const size_t buffer : buffers) captured_.push_back(copied(memory.array(buffer)));
  }

  void check_kernel(size_t number, const KernelDefinition& definition, const RunMemory& memory) {
    RunRequest request;
    size_t next = 0;
    for (const graph::Node& node : definition.graph.nodes())
      if (node.op == graph::Op::kInput)
        request.inputs[node.attribute<graph::InputAttribute>().name] = &captured_.at(next++);
    for (const auto& [name, unused] : definition.graph.dims())
      if (const auto found = dims_.find(name); found != dims_.end()) request.dims.insert(*found);
    std::vector<graph::Expected> expected = graph::expected_outputs(definition.graph, request);
    if (!all_pass(definition, expected, memory))
      expected = graph::expected_outputs(definition.graph, request, graph::kManyPairs);
    for (size_t k = 0; k < expected.size(); ++k)
      compare(number, definition.outputs[k], expected[k], memory);
    ++report_.checked;
  }

  static bool all_pass(const KernelDefinition& definition,
                       const std::vector<graph::Expected>& expected, const RunMemory& memory) {
    for (size_t k = 0; k < expected.size(); ++k)
      if (!graph::compare(memory.array(definition.outputs[k]), expected[k]).passed()) return false;
    return true;
  }

  void check_host(size_t number, const HostStep& host, const RunMemory& memory) {
    std::vector<const Array*> operands;
    for (const Array& array : captured_) operands.push_back(&array);
    std::ostringstream unheard;
    Array value = graph::compute_opaque(host.node, operands, memory.dims(), unheard);
    compare(number, host.result, {std::move(value), {}, {}, false}, memory);
    ++report_.checked;
  }

  void check_copy(size_t number, const CopyStep& copy, const RunMemory& memory) {
    captured_ = {copied(memory.array(copy.from))};
    compare(number, copy.to, {captured_[0], {}, {}, false}, memory);
    ++report_.checked;
  }

  void compare(size_t number, size_t buffer, const graph::Expected& expected,
               const RunMemory& memory) {
    const Array actual = memory.array(buffer);
    const graph::Comparison comparison = graph::compare(actual, expected);
    report_.elements += comparison.size;
    report_.undecided += comparison.undecided;
    if (comparison.passed()) return;
    fail({StepFault::Kind::kWrongResult, number, plan_.buffers[buffer].name, comparison,
          std::move(captured_)});
  }

  /// Tensors that are needed later are as their steps left them. What this step wrote is taken
  /// down.
  void check_others(size_t number, const RunMemory& memory) {
    Effects own = effects_of(number);
    const PlanStep& step = step_of(plan_, number);
    // Before its last launch a kernel may have written a part of its result, also where a tensor
    // lies that it updates.
    const bool is_done = !step.definition || last_.at(*step.definition) <= number;
    if (!is_done) own.writes.insert(own.writes.end(), own.reads.begin(), own.reads.end());
    for (auto each = written_.begin(); each != written_.end();) {
      const auto& [buffer, hash] = *each;
      const auto last = last_read_.find(buffer);
      if (last == last_read_.end() || last->second <= number) {
        each = written_.erase(each);
        continue;
      }
      const bool is_own =
          std::find(own.writes.begin(), own.writes.end(), buffer) != own.writes.end();
      if (!is_own && !(hash == hash_of(memory.array(buffer)))) overwritten(number, buffer);
      ++each;
    }
    if (!is_done) return;
    for (const size_t buffer : own.writes) {
      written_[buffer] = hash_of(memory.array(buffer));
      keep_if_unread(buffer, memory);
    }
  }

  void check_given(size_t number, const RunMemory& memory, bool all) {
    for (const auto& [buffer, hash] : given_) {
      const Array array = memory.array(buffer);
      if (!all && array.bytes().size() > kWatchedBytes) continue;
      if (!(hash == hash_of(array))) overwritten(number, buffer);
    }
  }

  void overwritten(size_t number, size_t buffer) {
    fail({StepFault::Kind::kOverwritten,
          number,
          plan_.buffers[buffer].name,
          {},
          std::move(captured_)});
  }

  [[noreturn]] void fail(StepFault fault) {
    report_.fault = std::move(fault);
    throw FaultFound();
  }

  const Plan& plan_;
  const RunRequest& request_;
  StepCheckReport& report_;
  graph::DimValues dims_;
  std::map<size_t, size_t> first_;  // main launch of each definition
  std::map<size_t, size_t> last_;
  std::map<size_t, std::vector<size_t>> read_;  // buffers that a definition's launches read
  std::set<size_t> unread_;                     // buffers that some definition names beside those
  std::map<size_t, Array> kept_;                // these, as their steps left them
  std::map<size_t, size_t> last_read_;          // the last step that reads a buffer
  std::map<size_t, Hash128> given_;             // inputs and constants as they were at first
  std::map<size_t, Hash128> written_;           // other tensors as their steps left them
  std::vector<Array> captured_;                 // what the running kernel or host node reads
};

/// A request that gives the oracle what a run was given, also where the run computes in the memory
/// of inputs that it may have.
class OracleRequest {
 public:
  explicit OracleRequest(const RunRequest& request) {
    request_.inputs = request.inputs;
    request_.dims = request.dims;
    for (const std::string& name : request.donated)
      if (const auto found = request.inputs.find(name); found != request.inputs.end())
        request_.inputs[name] = &kept_.emplace(name, copied(*found->second)).first->second;
  }

  /// The first output that is not what the graph says.
  std::optional<StepFault> wrong_output(const graph::Graph& graph,
                                        const std::vector<Array>& outputs) const {
    // What one step rounds, those after it may make larger; a wrong rule is no matter of digits.
    constexpr double kThroughSteps = 16.0;
    std::optional<StepFault> fault;
    // What seems wrong with few moved runs deserves many.
    for (const int pairs : {1, graph::kManyPairs}) {
      auto expected = graph::expected_outputs(graph, request_, pairs);
      for (graph::Expected& each : expected)
        for (double& allowed : each.allowed) allowed *= kThroughSteps;
      fault.reset();
      for (size_t k = 0; k < outputs.size() && !fault; ++k)
        if (const graph::Comparison found = graph::compare(outputs[k], expected[k]);
            !found.passed())
          fault = {StepFault::Kind::kWrongOutput, 0, graph.outputs()[k].name, found};
      if (!fault) break;
    }
    return fault;
  }

 private:
  std::map<std::string, Array> kept_;
  RunRequest request_;
};

bool has_definitions(const Plan& plan) {
  return std::all_of(plan.steps.begin(), plan.steps.end(), [](const PlanStep& step) {
    return !std::holds_alternative<LaunchStep>(step.action) || step.definition;
  });
}

std::string indented(std::string_view text, std::string_view margin) {
  std::string result;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) result += fmt::format("{}{}\n", margin, line);
  return result;
}

std::string describe(const StepFault& fault, const Plan& plan) {
  if (fault.kind == StepFault::Kind::kWrongOutput)
    return fmt::format(
        "every step computes what the plan says, and output \"{}\" is wrong: {}\n"
        "  a rule or law that chose what steps compute is at fault, not a kernel; see whether it "
        "is "
        "right without rules (Options::rules = false), or without those that round elsewhere "
        "(Options::reassociate = false)\n",
        fault.tensor, graph::to_string(fault.comparison));
  const PlanStep& step = step_of(plan, fault.step);
  std::string text = fmt::format("step {} of {} is wrong: {} (%{}, {})\n", fault.step + 1,
                                 plan.prepare.size() + plan.steps.size(), step.label,
                                 step.node.value, graph::to_string(step.type));
  if (fault.kind == StepFault::Kind::kOverwritten)
    text +=
        fmt::format("  it wrote to {}, which is not its own and is needed later\n", fault.tensor);
  else
    text += fmt::format("  of {}, {}\n", fault.tensor, graph::to_string(fault.comparison));
  if (!step.schedule.empty()) text += fmt::format("  schedule: {}\n", step.schedule);
  if (!fault.replay_file.empty())
    text += fmt::format("  to run it alone: luminal-replay {}\n", fault.replay_file);
  if (step.definition)
    text += "  it should compute\n" +
            indented(graph::to_text(plan.definitions[*step.definition].graph), "    ");
  if (!step.text.empty()) text += "  its loops are\n" + indented(step.text, "    ");
  return text;
}

/// Saves the wrong step beside what is said of it.
void save(const Plan& plan, const graph::DimValues& dims, const std::string& directory,
          StepCheckReport& report) {
  auto replay = replay_of(plan, *report.fault, dims);
  if (!replay) return;
  replay->report = describe(*report.fault, plan);
  report.fault->replay_file = save_step(*replay, directory);
}

class CheckedProgram : public CompiledProgram {
 public:
  CheckedProgram(std::unique_ptr<CompiledProgram> program, StepCheckOptions options)
      : program_(std::move(program)), options_(std::move(options)) {}

  const graph::Graph& graph() const override { return program_->graph(); }
  const Plan& plan() const override { return program_->plan(); }
  int64_t working_bytes() const override { return program_->working_bytes(); }
  std::vector<Array> run(const RunRequest& request) override {
    CompiledProgram& program = chosen(request);
    StepCheckReport report = check_steps(program, request, options_);
    if (!report.passed()) throw InternalError(to_string(report, program.plan()));
    return std::move(report.outputs);
  }
  std::vector<Array> run(const RunRequest& request, StepWatcher& watcher) override {
    return program_->run(request, watcher);
  }
  CompiledProgram& chosen(const RunRequest& request) override { return program_->chosen(request); }

 private:
  std::unique_ptr<CompiledProgram> program_;
  StepCheckOptions options_;
};

}  // namespace

StepCheckReport check_steps(CompiledProgram& program, const RunRequest& request,
                            const StepCheckOptions& options) {
  CompiledProgram& chosen = program.chosen(request);
  const Plan& plan = chosen.plan();
  if (!has_definitions(plan))
    throw UserError("check_steps",
                    "the plan does not say what its kernels should compute; compile it with "
                    "check_steps");
  StepCheckReport report;
  const OracleRequest oracle(request);
  Checker checker(plan, request, report);
  try {
    report.outputs = chosen.run(request, checker);
    report.fault = oracle.wrong_output(plan.graph, report.outputs);
  } catch (const FaultFound&) {
    if (!options.directory.empty()) save(plan, checker.dims(), options.directory, report);
  }
  return report;
}

std::string to_string(const StepCheckReport& report, const Plan& plan) {
  if (report.fault) return describe(*report.fault, plan);
  std::string text =
      fmt::format("{} steps are right: {} kernels, host nodes and copies, {} elements",
                  report.steps, report.checked, report.elements);
  if (report.undecided > 0)
    text += fmt::format(" ({} of them so sensitive that any value passes)", report.undecided);
  return text + "\n";
}

std::unique_ptr<CompiledProgram> with_checked_steps(std::unique_ptr<CompiledProgram> program,
                                                    StepCheckOptions options) {
  return std::make_unique<CheckedProgram>(std::move(program), std::move(options));
}

}  // namespace luminal::plan
