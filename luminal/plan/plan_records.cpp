#include "luminal/plan/plan_records.h"

#include <map>

#include "luminal/graph/text.h"
#include "luminal/plan/note_records.h"
#include "luminal/plan/record_reader.h"
#include "luminal/plan/record_writer.h"
#include "luminal/plan/verify.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/support/check.h"
#include "luminal/support/hash.h"

namespace luminal::plan {
namespace {

using graph::Array;

constexpr uint64_t kMostParts = uint64_t{1} << 32;

/// Constants by what they hold.
class ConstantTable {
 public:
  size_t add(const Array& value) {
    support::Hasher hasher;
    hasher.add(value.dtype()).add_all(value.extents()).add(value.bytes());
    const auto [found, is_new] = numbers_.emplace(hasher.finish128(), constants_.size());
    if (is_new) constants_.push_back(value);
    return found->second;
  }
  std::vector<Array> take() { return std::move(constants_); }
  const std::vector<Array>& all() const { return constants_; }

 private:
  std::map<support::Hash128, size_t> numbers_;
  std::vector<Array> constants_;
};

// Structured bindings name every member, so that a new one does not compile until it is kept here.

class Writer {
 public:
  PlanRecords run(const Plan& plan) {
    graph(plan.graph);
    body(plan);
    RecordWriter code;
    code.list(kernels_, [&](const std::string& artifact) { code.text(artifact); });
    RecordWriter all;
    all.text(constant_records());
    all.text(code.take());
    all.text(out_.take());
    return {all.take(), constants_.take()};
  }

 private:
  std::string constant_records() const {
    RecordWriter out;
    uint64_t offset = 0;
    out.list(constants_.all(), [&](const Array& value) {
      out.text(graph::name(value.dtype()));
      out.list(value.extents(), [&](int64_t extent) { out.signed_number(extent); });
      out.number(offset);
      offset = next_constant_offset(offset, value.bytes().size());
    });
    return out.take();
  }

  /// Everything but the graph, which variants have in common.
  void body(const Plan& plan) {
    const auto& [graph, dims, buffers, kernels, prepare, steps, outputs, results, slots, prepared,
                 definitions, donations, notes, estimated_for, made_for, variants] = plan;
    out_.list(dims, [&](const Expr& dim) { out_.expr(dim); });
    out_.list(buffers, [&](const PlanBuffer& each) { buffer(each); });
    out_.list(kernels, [&](const PlanKernel& each) {
      out_.number(kernel(each.artifact));
      out_.text(each.entry);
    });
    for (const std::vector<PlanStep>* list : {&prepare, &steps})
      out_.list(*list, [&](const PlanStep& each) { step(each); });
    out_.numbers(outputs);
    for (const size_t count : {results, slots, prepared}) out_.number(count);
    out_.list(definitions, [&](const KernelDefinition& each) { definition(each); });
    out_.list(donations, [&](const Donation& each) {
      out_.number(each.input);
      out_.number(each.result);
    });
    out_.list(notes, [&](const KernelNote& each) { write_note(each, out_); });
    for (const graph::DimValues* values : {&estimated_for, &made_for})
      out_.list(*values, [&](const auto& each) {
        out_.text(each.first);
        out_.signed_number(each.second);
      });
    out_.list(variants, [&](const Plan& each) { body(each); });
  }

  /// The number of code that several kernels and variants may share.
  size_t kernel(const runtime::Artifact& artifact) {
    const std::string bytes = runtime::to_bytes(artifact);
    const auto [found, is_new] = kernel_numbers_.emplace(support::hash128(bytes), kernels_.size());
    if (is_new) kernels_.push_back(bytes);
    return found->second;
  }

  void graph(const graph::Graph& graph) {
    out_.text(graph::to_text(graph, [&](const Array& value) { return constants_.add(value); }));
  }

  void maybe(const std::optional<size_t>& number) {
    out_.number(number ? *number + 1 : 0);  // 0 is none
  }

  void definition(const KernelDefinition& definition) {
    const auto& [graph, inputs, outputs, updated] = definition;
    this->graph(graph);
    out_.numbers(inputs);
    out_.numbers(outputs);
    maybe(updated);
  }

  void buffer(const PlanBuffer& buffer) {
    const auto& [name, type, bytes, place, index, value] = buffer;
    out_.text(name);
    out_.type(type);
    out_.expr(bytes);
    out_.number(static_cast<uint64_t>(place));
    out_.number(index);
    if (place == Place::kConstant) out_.number(constants_.add(value));
  }

  void step(const PlanStep& step) {
    const auto& [action, label, node, made_by_rules, type, schedule, text, estimated_us, definition,
                 notes, part, parts] = step;
    out_.number(action.index());
    std::visit([&](const auto& each) { write(each); }, action);
    out_.text(label);
    out_.number(node.value);
    out_.number(made_by_rules ? 1 : 0);
    out_.type(type);
    out_.text(schedule);
    out_.text(text);
    out_.real(estimated_us);
    maybe(definition);
    out_.numbers(notes);
    out_.number(part);
    out_.number(parts);
  }

  void write(const LaunchStep& launch) {
    const auto& [kernel, buffers, scalars, items, scratch_bytes, chunk, threads, work, first,
                 beside] = launch;
    out_.number(kernel);
    out_.numbers(buffers);
    out_.list(scalars, [&](const Expr& scalar) { out_.expr(scalar); });
    for (const Expr& expr : {items, scratch_bytes, work}) out_.expr(expr);
    out_.signed_number(chunk);
    out_.signed_number(threads);
    for (const std::vector<LaunchStep>* list : {&first, &beside})
      out_.list(*list, [&](const LaunchStep& each) { write(each); });
  }
  void write(const HostStep& host) {
    const auto& [node, operands, result] = host;
    out_.node(node);
    out_.numbers(operands);
    out_.number(result);
  }
  void write(const CopyStep& copy) {
    const auto& [from, to] = copy;
    out_.number(from);
    out_.number(to);
  }
  void write(const CheckStep& check) {
    const auto& [gather, index] = check;
    out_.node(gather);
    out_.number(index);
  }

  RecordWriter out_;
  ConstantTable constants_;
  std::map<support::Hash128, size_t> kernel_numbers_;
  std::vector<std::string> kernels_;
};

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, std::vector<Array> constants,
         std::vector<runtime::Artifact> kernels, std::string_view file)
      : in_(bytes, file), constants_(std::move(constants)), kernels_(std::move(kernels)) {}

  Plan run() {
    const graph::Graph all = graph();
    Plan plan = body(all, true);
    in_.finish();
    return plan;
  }

 private:
  Plan body(const graph::Graph& graph, bool may_have_variants) {
    Plan plan;
    plan.graph = graph;
    plan.dims = in_.list([&] { return in_.expr(); });
    plan.buffers = in_.list([&] { return buffer(); });
    plan.kernels = in_.list([&] {
      PlanKernel kernel{kernels_[in_.number_below(kernels_.size(), "a kernel")], {}};
      kernel.entry = in_.text();
      return kernel;
    });
    plan.prepare = in_.list([&] { return step(); });
    plan.steps = in_.list([&] { return step(); });
    plan.outputs = in_.numbers();
    for (size_t* count : {&plan.results, &plan.slots, &plan.prepared})
      *count = in_.number_below(kMostParts, "a number of buffers");
    plan.definitions = in_.list([&] { return definition(); });
    plan.donations = in_.list([&] {
      const size_t input = in_.number();
      return Donation{input, in_.number()};
    });
    plan.notes = in_.list([&] { return read_note(in_); });
    for (graph::DimValues* values : {&plan.estimated_for, &plan.made_for})
      for (size_t k = in_.count(); k-- > 0;) {
        const std::string name = in_.text();
        (*values)[name] = in_.signed_number();
      }
    const size_t variants = in_.count();
    if (variants > 0 && !may_have_variants) RecordReader::reject("a variant has variants");
    for (size_t k = 0; k < variants; ++k) plan.variants.push_back(body(graph, false));
    return plan;
  }

  graph::Graph graph() { return graph::parse_text(in_.text(), {}, constants_); }

  std::optional<size_t> maybe() {
    const uint64_t number = in_.number_below(kMostParts, "a number");
    return number == 0 ? std::nullopt : std::optional(static_cast<size_t>(number - 1));
  }

  KernelDefinition definition() {
    KernelDefinition definition;
    definition.graph = graph();
    definition.inputs = in_.numbers();
    definition.outputs = in_.numbers();
    definition.updated = maybe();
    return definition;
  }

  PlanBuffer buffer() {
    PlanBuffer buffer;
    buffer.name = in_.text();
    buffer.type = in_.type();
    buffer.bytes = in_.expr();
    buffer.place = static_cast<Place>(in_.number_below(6, "a place"));
    buffer.index = in_.number_below(kMostParts, "the number of a buffer");
    if (buffer.place == Place::kConstant)
      buffer.value = constants_[in_.number_below(constants_.size(), "a constant")];
    return buffer;
  }

  PlanStep step() {
    PlanStep step;
    switch (in_.number_below(4, "a step")) {
      case 0:
        step.action = launch(true);
        break;
      case 1:
        step.action = host();
        break;
      case 2: {
        CopyStep copy{in_.number(), 0};
        copy.to = in_.number();
        step.action = copy;
        break;
      }
      default: {
        CheckStep check{in_.node(), 0};
        check.index = in_.number();
        step.action = std::move(check);
      }
    }
    step.label = in_.text();
    step.node.value = static_cast<uint32_t>(in_.number_below(kMostParts, "a node"));
    step.made_by_rules = in_.number_below(2, "a flag") != 0;
    step.type = in_.type();
    step.schedule = in_.text();
    step.text = in_.text();
    step.estimated_us = in_.real();
    step.definition = maybe();
    step.notes = in_.numbers();
    step.part = in_.number_below(kMostParts, "the part of a kernel");
    step.parts = in_.number_below(kMostParts, "the parts of a kernel");
    return step;
  }

  LaunchStep launch(bool may_have_others) {
    LaunchStep launch;
    launch.kernel = in_.number();
    launch.buffers = in_.numbers();
    launch.scalars = in_.list([&] { return in_.expr(); });
    launch.items = in_.expr();
    launch.scratch_bytes = in_.expr();
    launch.work = in_.expr();
    launch.chunk = static_cast<int64_t>(in_.number_below(uint64_t{1} << 62, "a chunk"));
    launch.threads = static_cast<int>(in_.number_below(1 << 20, "a number of threads"));
    for (std::vector<LaunchStep>* list : {&launch.first, &launch.beside}) {
      const size_t count = in_.count();
      if (count > 0 && !may_have_others) RecordReader::reject("a launch in a launch has launches");
      for (size_t k = 0; k < count; ++k) list->push_back(this->launch(false));
    }
    return launch;
  }

  HostStep host() {
    HostStep host{in_.node(), {}, 0};
    host.operands = in_.numbers();
    host.result = in_.number();
    return host;
  }

  RecordReader in_;
  std::vector<Array> constants_;
  std::vector<runtime::Artifact> kernels_;
};

std::vector<Array> read_constants(std::span<const std::byte> bytes, const ConstantData& data,
                                  std::string_view file) {
  RecordReader in(bytes, file);
  std::vector<Array> constants = in.list([&] {
    const graph::DType dtype = in.dtype();
    graph::Extents extents = in.list([&] { return in.signed_number(); });
    const int64_t size = graph::byte_size(dtype, graph::element_count(extents));
    const uint64_t offset = in.number();
    if (offset % runtime::kBufferAlignment != 0) RecordReader::reject("a constant is misplaced");
    return Array::adopt(dtype, std::move(extents), data(offset, static_cast<uint64_t>(size)));
  });
  in.finish();
  return constants;
}

std::vector<runtime::Artifact> read_kernels(std::span<const std::byte> bytes,
                                            std::string_view file) {
  RecordReader in(bytes, file);
  std::vector<runtime::Artifact> kernels =
      in.list([&] { return runtime::artifact_from_bytes(in.text()); });
  in.finish();
  return kernels;
}

void check_functions(const graph::Graph& graph) {
  for (const graph::Node& node : graph.nodes())
    if (node.op == graph::Op::kCustom)
      throw UserError("save",
                      "the plan calls the function '{}', which is part of this program and cannot "
                      "be kept in a file; leave that op out of what is saved",
                      node.attribute<graph::CustomAttribute>().function->name);
}

}  // namespace

uint64_t next_constant_offset(uint64_t offset, uint64_t bytes) {
  return offset + static_cast<uint64_t>(runtime::aligned_size(static_cast<int64_t>(bytes)));
}

PlanRecords to_records(const Plan& plan) {
  check_functions(plan.graph);
  return Writer().run(plan);
}

Plan from_records(std::span<const std::byte> bytes, const ConstantData& data,
                  std::string_view file) {
  RecordReader all(bytes, file);
  const std::string constants = all.text();
  const std::string kernels = all.text();
  const std::string rest = all.text();
  all.finish();
  Plan plan = Reader(std::as_bytes(std::span(rest)),
                     read_constants(std::as_bytes(std::span(constants)), data, file),
                     read_kernels(std::as_bytes(std::span(kernels)), file), file)
                  .run();
  for (const std::string& problem : problems(plan)) RecordReader::reject(problem);
  return plan;
}

}  // namespace luminal::plan
