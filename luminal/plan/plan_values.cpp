#include "luminal/plan/plan_values.h"

#include <algorithm>

#include "luminal/runtime/cpu/arena.h"
#include "luminal/support/check.h"

namespace luminal::plan {

size_t ExprTable::add(const Expr& expr) {
  const auto found = std::find(exprs_.begin(), exprs_.end(), expr);
  if (found != exprs_.end()) return static_cast<size_t>(found - exprs_.begin());
  exprs_.push_back(expr);
  return exprs_.size() - 1;
}

void ExprTable::compile(const std::vector<Expr>& dims) {
  compiled_.emplace(exprs_, dims);
  values_.resize(exprs_.size());
}

const runtime::EntryInfo& entry_of(const Plan& plan, const LaunchStep& launch) {
  const PlanKernel& kernel = plan.kernels[launch.kernel];
  for (const runtime::EntryInfo& entry : kernel.artifact.entries)
    if (entry.name == kernel.entry) return entry;
  throw InternalError(fmt::format("a kernel has no entry '{}'", kernel.entry));
}

PlanValues::PlanValues(const Plan& plan) : plan_(plan) {
  for (const PlanBuffer& buffer : plan.buffers) {
    std::vector<size_t> positions;
    for (const Expr& extent : buffer.type.shape) positions.push_back(sizes_.add(extent));
    extents_.emplace_back(positions.size());
    extent_positions_.push_back(std::move(positions));
    byte_positions_.push_back(sizes_.add(buffer.bytes));
  }
  bytes_.resize(plan.buffers.size());
  add_extent_checks(plan.graph);
  sizes_.compile(plan.dims);
  for (const std::vector<PlanStep>* steps : {&plan.steps, &plan.prepare})
    for (const PlanStep& step : *steps) {
      std::vector<ExprTable>& tables = launch_tables_.emplace_back();
      const auto* whole = std::get_if<LaunchStep>(&step.action);
      if (whole == nullptr) continue;
      for_each_launch(*whole, [&](const LaunchStep& launch) {
        ExprTable& table = tables.emplace_back();
        for (const Expr& scalar : launch.scalars) table.add(scalar);
        for (const Expr& expr : {launch.items, launch.scratch_bytes, launch.work}) table.add(expr);
        table.compile(plan.dims);
      });
    }
  launches_.resize(launch_tables_.size());
}

/// Extents that some dims make negative are the caller's error, wherever they are in the graph.
void PlanValues::add_extent_checks(const graph::Graph& graph) {
  const auto add = [&](const graph::Shape& shape) {
    const bool fine = std::all_of(shape.begin(), shape.end(),
                                  [](const Expr& extent) { return extent.bounds().lo >= 0; });
    if (fine ||
        std::find(checked_shapes_.begin(), checked_shapes_.end(), shape) != checked_shapes_.end())
      return;
    std::vector<size_t> positions;
    for (const Expr& extent : shape) positions.push_back(sizes_.add(extent));
    checked_shapes_.push_back(shape);
    checked_positions_.push_back(std::move(positions));
  };
  for (const graph::Node& node : graph.nodes()) {
    const bool known = std::all_of(node.shape().begin(), node.shape().end(), [&](const Expr& e) {
      return std::all_of(e.variables().begin(), e.variables().end(), [&](const Expr& variable) {
        return std::find(plan_.dims.begin(), plan_.dims.end(), variable) != plan_.dims.end();
      });
    });
    if (known) add(node.shape());
  }
}

void PlanValues::bind(const graph::DimBindings& dims) {
  std::vector<int64_t> numbers;
  for (const symbolic::Binding& binding : dims) numbers.push_back(*binding.value.constant_value());
  sizes_.evaluate(numbers);
  for (size_t k = 0; k < checked_shapes_.size(); ++k)
    for (const size_t position : checked_positions_[k])
      if (sizes_[position] < 0) graph::evaluate_shape(checked_shapes_[k], dims);
  for (size_t k = 0; k < plan_.buffers.size(); ++k) {
    for (size_t d = 0; d < extents_[k].size(); ++d)
      extents_[k][d] = sizes_[extent_positions_[k][d]];
    bytes_[k] = sizes_[byte_positions_[k]];
  }
  size_t number = 0;
  for (const std::vector<PlanStep>* steps : {&plan_.steps, &plan_.prepare})
    for (const PlanStep& step : *steps) {
      const size_t at = number++;
      const auto* launch = std::get_if<LaunchStep>(&step.action);
      if (launch == nullptr) continue;
      launches_[at] = evaluate_all(*launch, launch_tables_[at], numbers);
    }
}

bool PlanValues::writes_nothing(const LaunchStep& launch) const {
  const runtime::EntryInfo& entry = entry_of(plan_, launch);
  for (size_t k = 0; k < launch.buffers.size(); ++k)
    if (entry.buffers[k] != runtime::BufferUse::kRead && bytes_[launch.buffers[k]] > 0)
      return false;
  return true;
}

/// An empty extent may make no sense of the rest (division by it, for one), so what writes nothing
/// is not evaluated.
std::optional<LaunchValues> PlanValues::evaluate_all(const LaunchStep& step,
                                                     std::vector<ExprTable>& tables,
                                                     const std::vector<int64_t>& dims) const {
  LaunchValues all;
  std::vector<LaunchValues> first;
  int64_t work = 0, scratch = 0;
  size_t at = 0;
  bool runs = false;
  for_each_launch(step, [&](const LaunchStep& launch) {
    ExprTable& table = tables[at++];
    LaunchValues values;
    if (!writes_nothing(launch)) values = evaluate(launch, table, dims);
    scratch = std::max(scratch, values.scratch_bytes);
    if (at <= step.first.size()) {
      first.push_back(std::move(values));
      return;
    }
    work += values.work;
    runs = runs || values.items > 0;
    if (&launch == &step)
      all = std::move(values);
    else
      all.beside.push_back(std::move(values));
  });
  if (!runs) return std::nullopt;
  all.first = std::move(first);
  all.work = work;
  all.scratch_bytes = all.thread_bytes = scratch;
  std::vector<ThreadBuffer> own;
  find_thread_buffers(step, all, own);
  if (!own.empty())
    all.thread_bytes = own.back().offset + runtime::aligned_size(bytes_[own.back().buffer]);
  return all;
}

void PlanValues::find_thread_buffers(const LaunchStep& launch, const LaunchValues& values,
                                     std::vector<ThreadBuffer>& found) const {
  found.clear();
  int64_t offset = runtime::aligned_size(values.scratch_bytes);
  for_each_launch(launch, [&](const LaunchStep& each) {
    for (const size_t buffer : each.buffers) {
      if (plan_.buffers[buffer].place != Place::kThread) continue;
      const bool known = std::any_of(found.begin(), found.end(), [&](const ThreadBuffer& other) {
        return other.buffer == buffer;
      });
      if (known) continue;
      found.push_back({buffer, offset});
      offset += runtime::aligned_size(bytes_[buffer]);
    }
  });
}

LaunchValues PlanValues::evaluate(const LaunchStep& launch, ExprTable& table,
                                  const std::vector<int64_t>& dims) {
  table.evaluate(dims);
  LaunchValues values;
  for (const Expr& scalar : launch.scalars) values.scalars.push_back(table[table.add(scalar)]);
  values.items = table[table.add(launch.items)];
  values.scratch_bytes = table[table.add(launch.scratch_bytes)];
  values.work = table[table.add(launch.work)];
  values.thread_bytes = values.scratch_bytes;
  return values;
}

}  // namespace luminal::plan
