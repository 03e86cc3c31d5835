// Speed of generated elementwise, reduction and row kernels in bytes read and written per second,
// against a copy with streaming stores that the same run measures. Usage: cpu_rows_bench [filter]
#include <fmt/core.h>

#include <numbers>
#include <string>

#include "benchmarks/cpu_gemm/machine_limits.h"
#include "luminal/codegen/llvm/nest_kernel.h"
#include "luminal/graph/elements.h"
#include "luminal/graph/graph.h"
#include "luminal/kernel/derive.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/device.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::benchmarks {
namespace {

using graph::DType;
using graph::Edge;
using graph::Graph;
using graph::NodeId;
using graph::Op;
using graph::Scalar;
using graph::View;
using symbolic::Expr;

constexpr int64_t kRows = 4096;
constexpr int64_t kColumns = 4096;

/// Writes networks in primitives, on matrices of kRows x kColumns.
class Writer {
 public:
  explicit Writer(DType dtype) : dtype_(dtype) {}

  Graph graph;
  NodeId input(const char* name) { return graph.add_input(name, dtype_, {kRows, kColumns}); }
  NodeId unary(Op op, NodeId x) { return graph.add(op, {graph.whole(x)}); }
  NodeId binary(Op op, NodeId x, NodeId y) { return graph.add(op, {graph.whole(x), spread(y)}); }
  NodeId scalar(Op op, NodeId x, double value) {
    const NodeId constant = graph.add_constant(Scalar::of(dtype_, value));
    return graph.add(op, {graph.whole(x), {View({}, graph.node(x).type.shape, {}), constant}});
  }
  NodeId along_rows(Op op, NodeId x) {
    return graph.add(op, {graph.whole(x)}, graph::ReduceAttribute{1});
  }
  NodeId down_columns(Op op, NodeId x) {
    const int swap[] = {1, 0};
    return graph.add(op, {{graph.whole(x).view.permute(swap), x}}, graph::ReduceAttribute{1});
  }
  NodeId transposed(NodeId x) {
    const int swap[] = {1, 0};
    return graph.add(Op::kCopy, {{graph.whole(x).view.permute(swap), x}});
  }
  NodeId mean(NodeId x) { return scalar(Op::kMul, along_rows(Op::kSum, x), 1.0 / kColumns); }

 private:
  /// A column of one value per row, repeated along the row.
  Edge spread(NodeId y) {
    const Edge whole = graph.whole(y);
    if (graph.node(y).type.shape.size() == 2) return whole;
    return {whole.view.insert_axis(1, kColumns), y};
  }

  DType dtype_;
};

NodeId softmax(Writer& write) {
  const NodeId x = write.input("x");
  const NodeId most = write.scalar(Op::kMul, write.along_rows(Op::kReduceMax, x), -1);
  const NodeId shifted = write.unary(Op::kExp, write.binary(Op::kAdd, x, most));
  return write.binary(Op::kMul, shifted,
                      write.unary(Op::kRecip, write.along_rows(Op::kSum, shifted)));
}

NodeId normalised(Writer& write, NodeId centred) {
  const NodeId square = write.mean(write.binary(Op::kMul, centred, centred));
  const NodeId root = write.unary(Op::kSqrt, write.scalar(Op::kAdd, square, 1e-5));
  return write.binary(Op::kMul, centred, write.unary(Op::kRecip, root));
}

NodeId layer_norm(Writer& write) {
  const NodeId x = write.input("x");
  return normalised(write, write.binary(Op::kAdd, x, write.scalar(Op::kMul, write.mean(x), -1)));
}

NodeId rms_norm(Writer& write) { return normalised(write, write.input("x")); }

NodeId gelu(Writer& write) {
  const NodeId x = write.input("x");
  const NodeId cube = write.binary(Op::kMul, write.binary(Op::kMul, x, x), x);
  const NodeId inner = write.binary(Op::kAdd, x, write.scalar(Op::kMul, cube, 0.044715));
  const NodeId t = write.unary(Op::kTanh, write.scalar(Op::kMul, inner, 0.7978845608));
  return write.binary(Op::kMul, write.scalar(Op::kMul, x, 0.5), write.scalar(Op::kAdd, t, 1));
}

NodeId gelu_erf(Writer& write) {
  const NodeId x = write.input("x");
  const NodeId e = write.unary(Op::kErf, write.scalar(Op::kMul, x, 1 / std::numbers::sqrt2));
  return write.binary(Op::kMul, write.scalar(Op::kMul, x, 0.5), write.scalar(Op::kAdd, e, 1));
}

NodeId sin_chain(Writer& write) {
  const NodeId s =
      write.unary(Op::kSin, write.binary(Op::kAdd, write.input("a"), write.input("b")));
  return write.unary(Op::kSqrt, write.binary(Op::kMax, s, write.scalar(Op::kMul, s, -1)));
}

struct Case {
  const char* name;
  NodeId (*write)(Writer& write);
};
const Case kCases[] = {
    {"copy", [](Writer& write) { return write.unary(Op::kCopy, write.input("x")); }},
    {"add",
     [](Writer& write) { return write.binary(Op::kAdd, write.input("a"), write.input("b")); }},
    {"sqrt(abs(sin(a+b)))", sin_chain},
    {"gelu tanh", gelu},
    {"gelu erf", gelu_erf},
    {"softmax", softmax},
    {"layer norm", layer_norm},
    {"rms norm", rms_norm},
    {"row sum", [](Writer& write) { return write.along_rows(Op::kSum, write.input("x")); }},
    {"column sum", [](Writer& write) { return write.down_columns(Op::kSum, write.input("x")); }},
    {"transpose", [](Writer& write) { return write.transposed(write.input("x")); }},
};

/// A case compiled for this machine, with data.
class Compiled {
 public:
  Compiled(const Case& each, DType dtype, runtime::ThreadTeam& team) : team_(team) {
    Writer write(dtype);
    const NodeId result = each.write(write);
    write.graph.add_output("y", write.graph.whole(result));
    const kernel::GraphProgram program(write.graph);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    const auto derived = kernel::derive(arena_, program, cut, result);
    const kernel::Nest nest = kernel::build_nest(arena_, std::get<kernel::Kernel>(derived),
                                                 {.online = false, .keep_rows = true});
    codegen::NestKernelOptions options;
    options.streaming = true;
    kernel_ = codegen::nest_kernel(arena_, nest, codegen::host_target(), options);
    const double start = now(true);
    module_.emplace(codegen::KernelCompiler().compile(kernel_.source));
    compile_ms_ = (now(true) - start) * 1e3;
    for (const NodeId input : kernel_.inputs) add_buffer(input, true);
    for (const NodeId output : kernel_.outputs) add_buffer(output, false);
    items_ = symbolic::evaluate(kernel_.items, {});
    scratch_bytes_ = symbolic::evaluate(kernel_.scratch_bytes, {});
    scratch_.emplace(team.size() * runtime::aligned_size(scratch_bytes_));
  }

  void operator()() {
    runtime::Launch launch;
    launch.buffers = buffers_;
    launch.size.items = items_;
    launch.size.chunk = std::max<int64_t>(1, items_ / (16 * team_.size()));
    launch.scratch = scratch_->data();
    runtime::launch_on_team(team_, module_->entry("nest"), launch, scratch_bytes_);
  }
  double bytes() const { return bytes_; }
  double compile_ms() const { return compile_ms_; }

 private:
  void add_buffer(NodeId id, bool filled) {
    const graph::TensorType& type = arena_.tensor(id);
    const int64_t count = symbolic::evaluate(graph::element_count(type.shape), {});
    memory_.emplace_back(graph::byte_size(type.dtype, count));
    bytes_ += static_cast<double>(memory_.back().size());
    buffers_.push_back(memory_.back().data());
    std::vector<double> values(4096);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(i * 37 % 101) / 16 - 3;
    for (int64_t at = 0; filled && at < count; at += 4096)
      graph::store(type.dtype, memory_.back().data(), at, values);
    if (!filled) memory_.back().populate();
  }

  runtime::ThreadTeam& team_;
  kernel::Arena arena_;
  codegen::NestKernel kernel_;
  std::optional<runtime::CpuModule> module_;
  std::vector<runtime::HostMemory> memory_;
  std::optional<runtime::HostMemory> scratch_;
  std::vector<void*> buffers_;
  int64_t items_ = 0;
  int64_t scratch_bytes_ = 0;
  double bytes_ = 0;
  double compile_ms_ = 0;
};

void run(const std::string& filter, runtime::ThreadTeam& team) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Compiled copy(kCases[0], dtype, team);
    for (const Case& each : kCases) {
      const std::string name = fmt::format("{} {}", dtype, each.name);
      if (name.find(filter) == std::string::npos) continue;
      Compiled kernel(each, dtype, team);
      const std::vector<double> times =
          interleaved({[&] { copy(); }, [&] { kernel(); }}, team.size() == 1, 0.4);
      const double limit = copy.bytes() / times[0];
      const double rate = kernel.bytes() / times[1];
      fmt::print(
          "{:<26} {:d} thr {:8.2f} ms {:6.1f} GB/s, copying {:6.1f} = {:.2f}  (compiled in {:.1f} "
          "ms)\n",
          name, team.size(), times[1] * 1e3, rate / 1e9, limit / 1e9, rate / limit,
          kernel.compile_ms());
    }
  }
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  luminal::runtime::ThreadTeam one({.threads = 1});
  luminal::benchmarks::run(filter, one);
  luminal::benchmarks::run(filter, luminal::runtime::default_thread_team());
  return 0;
}
