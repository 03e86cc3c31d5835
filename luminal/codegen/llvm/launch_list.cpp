#include "luminal/codegen/llvm/launch_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "luminal/kernel/canonical.h"

namespace luminal::codegen {

using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::NodeId;
using symbolic::Expr;

NodeId private_tensor(kernel::Arena& arena, const graph::TensorType& type) {
  // The arena grows with every load of such a tensor, so a free number is near.
  constexpr uint32_t kStandIns = 0x1000;
  NodeId id{kFirstPrivateTensor + kStandIns + static_cast<uint32_t>(arena.size())};
  while (arena.has_tensor(id)) ++id.value;
  arena.declare_tensor(id, type);
  return id;
}

NodeId private_tensor(kernel::Arena& arena, graph::DType dtype, std::span<const Expr> axes) {
  graph::Shape shape;
  for (const Expr& axis : axes) shape.push_back(axis.axis_extent());
  return private_tensor(arena, {dtype, shape});
}

bool is_constant(const kernel::Arena& arena, BodyId value, const CpuKernelOptions& options) {
  const std::vector<BodyId> reached = arena.reachable(std::span(&value, 1));
  return std::all_of(reached.begin(), reached.end(), [&](BodyId id) {
    const BodyNode& node = arena[id];
    return node.kind != BodyKind::kLoad ||
           std::find(options.constants.begin(), options.constants.end(), node.tensor) !=
               options.constants.end();
  });
}

void LaunchList::reserve(NodeId tensor, int64_t slack) {
  const graph::TensorType& type = arena_.tensor(tensor);
  Expr elements = 1;
  for (const Expr& extent : type.shape) elements = elements * extent;
  temporary_of_[tensor] = result_.temporaries.size();
  result_.temporaries.push_back(elements * (graph::bits(type.dtype) / 8) + slack);
}

void LaunchList::add_stored(const std::vector<Expr>& axes, BodyId value, NodeId tensor,
                            std::vector<Expr> store, const StoreOptions& how) {
  kernel::Kernel copy;
  std::vector<symbolic::Binding> bindings;
  for (const Expr& axis : axes) {
    copy.axes.push_back(Expr::axis(static_cast<int64_t>(copy.axes.size()), axis.axis_extent()));
    bindings.push_back({axis, copy.axes.back()});
  }
  for (Expr& expr : store) expr = symbolic::substitute(expr, bindings);
  copy.roots.push_back({tensor, arena_.substitute(value, bindings), std::move(store)});
  reserve(tensor, how.slack);
  const Expr work = kernel::work_of(arena_, copy);
  CpuKernelOptions options = options_;
  options.schedule.reset();  // it is for the main launch
  options.keep_order = how.keep_order;
  options.constants.insert(options.constants.end(), ahead_.begin(), ahead_.end());
  const bool ahead = is_constant(arena_, value, options);
  if (ahead) ahead_.push_back(tensor);
  CpuKernel part = cpu_kernel(arena_, copy, target_, options);
  const size_t before = result_.temporaries.size();
  for (const Expr& bytes : part.temporaries) result_.temporaries.push_back(bytes);
  for (CpuLaunch& launch : part.launches) {
    for (LaunchBuffer& buffer : launch.buffers) {
      if (buffer.kind == LaunchBuffer::Kind::kTemporary)
        buffer.temporary += before;
      else
        buffer = place(buffer.tensor);
    }
    launch.prepare = ahead;
    launch.work = work;
    result_.launches.push_back(std::move(launch));
  }
}

LaunchBuffer LaunchList::place(NodeId tensor) const {
  const auto found = temporary_of_.find(tensor);
  if (found == temporary_of_.end()) return {LaunchBuffer::Kind::kTensor, tensor, 0};
  return {LaunchBuffer::Kind::kTemporary, {}, found->second};
}

std::vector<NodeId> LaunchList::stored() const {
  std::vector<NodeId> result;
  for (const auto& [tensor, temporary] : temporary_of_) result.push_back(tensor);
  return result;
}

MainLaunch LaunchList::main_launch(const kernel::Kernel& kernel, const std::string& entry,
                                   const std::string& code) const {
  const kernel::CanonicalKernel canonical = kernel::canonicalize(arena_, kernel);
  MainLaunch main;
  main.tensors = canonical.tensors;
  for (const NodeId tensor : stored()) main.tensors.push_back(tensor);
  std::string key = canonical.text;
  for (const Expr& dim : canonical.dims) {
    main.dims.push_back(dim.name());
    main.launch.scalars.push_back(dim);
    key += fmt::format("dim {} to {}\n", dim.bounds().lo, dim.bounds().hi);
  }
  key += fmt::format("round {} stored {}\n", options_.round_each, stored().size());
  runtime::EntryInfo info{entry, {}, static_cast<int>(main.dims.size()), 0};
  for (const NodeId tensor : main.tensors) {
    const bool written =
        std::any_of(kernel.roots.begin(), kernel.roots.end(),
                    [&](const kernel::Root& root) { return root.tensor == tensor; });
    main.launch.buffers.push_back(place(tensor));
    info.buffers.push_back(written ? runtime::BufferUse::kWrite : runtime::BufferUse::kRead);
  }
  main.launch.source.label = code;
  main.launch.source.key = fmt::format("{} of\n{}", code, key);
  main.launch.source.entries = {std::move(info)};
  return main;
}

}  // namespace luminal::codegen
