// Speed of generated products (matrices, vectors, convolutions, with what is fused around them)
// against the register peak or the read bandwidth that the same run measures.
// Usage: cpu_gemm_bench [--threads=1|2] [--schedule=TEXT] [filter]
#include <fmt/core.h>

#include <string>

#include "benchmarks/cpu_gemm/machine_limits.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/graph/elements.h"
#include "luminal/kernel/derive.h"
#include "luminal/luminal.h"
#include "tests/contractions/loaded_kernel.h"

namespace luminal::benchmarks {
namespace {

using codegen::LoadedCpuKernel;
using runtime::HostMemory;

HostMemory random_memory(DType dtype, int64_t count) {
  HostMemory memory(graph::byte_size(dtype, count));
  std::vector<double> values(4096);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(i * 37 % 101) / 64 - 0.8;
  for (int64_t at = 0; at < count; at += 4096)
    if (graph::is_float(dtype))
      graph::store(dtype, memory.data(), at,
                   std::span<const double>(
                       values.data(), static_cast<size_t>(std::min<int64_t>(4096, count - at))));
  if (!graph::is_float(dtype))
    for (int64_t i = 0; i < memory.size(); ++i) memory.data()[i] = static_cast<std::byte>(i * 31);
  return memory;
}

/// A product and what it needs at least. Inputs called w are weights, packed ahead.
struct Case {
  std::string name;
  std::function<Tensor(Graph& graph)> write;
  PeakKind peak = PeakKind::kF32;
  double flops = 0;       ///< 0: compared with reading
  double read_bytes = 0;  ///< of weights
};

/// A case compiled for this machine, with data.
class Compiled {
 public:
  Compiled(const Case& each, const std::string& schedule, runtime::ThreadTeam& team) : team_(team) {
    Graph graph;
    const Tensor result = each.write(graph);
    graph::Graph ir = result.graph().ir();
    ir.add_output("y", result.edge());
    const kernel::GraphProgram program(ir);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    const auto derived = kernel::derive(arena_, program, cut, program.output(0));
    codegen::CpuKernelOptions options;
    options.threads = team.size();
    if (!schedule.empty()) options.schedule = codegen::Schedule::parse(schedule);
    for (uint32_t i = 0; i < static_cast<uint32_t>(ir.size()); ++i) {
      const graph::Node& node = ir.node({i});
      if (node.op != graph::Op::kInput) continue;
      memory_.push_back(random_memory(
          node.type.dtype, graph::element_count(graph::extents_of(node.type.shape, {}))));
      tensors_[{i}] = memory_.back().data();
      if (node.attribute<graph::InputAttribute>().name[0] == 'w') options.constants.push_back({i});
    }
    const graph::TensorType& type = ir.node(program.output(0)).type;
    memory_.emplace_back(
        graph::byte_size(type.dtype, graph::element_count(graph::extents_of(type.shape, {}))));
    tensors_[program.output(0)] = memory_.back().data();
    const double start = now(true);
    const codegen::CpuKernel code = codegen::cpu_kernel(arena_, std::get<kernel::Kernel>(derived),
                                                        codegen::host_target(), options);
    loaded_.emplace(code, codegen::host_target(), graph::DimValues{}, team.size());
    compile_ms_ = (now(true) - start) * 1e3;
    loaded_->run(tensors_, LoadedCpuKernel::on_team(team_), false);
  }

  void operator()() { loaded_->run(tensors_, LoadedCpuKernel::on_team(team_), true); }
  const std::string& schedule() const { return loaded_->schedule; }
  double compile_ms() const { return compile_ms_; }

 private:
  runtime::ThreadTeam& team_;
  kernel::Arena arena_;
  std::vector<HostMemory> memory_;
  std::map<kernel::NodeId, void*> tensors_;
  std::optional<LoadedCpuKernel> loaded_;
  double compile_ms_ = 0;
};

void compare_with_peak(const Case& each, Compiled& product, runtime::ThreadTeam& team) {
  const codegen::TestKernel peak = peak_kernel(each.peak);
  std::vector<HostMemory> memory;
  for (int i = 0; i < team.size(); ++i) memory.emplace_back(4096);
  constexpr int64_t kRounds = 20000;
  const auto run_peak = [&] {
    team.run(
        [&](int thread) { peak({memory[static_cast<size_t>(thread)].data()}, {}, 0, kRounds); });
  };
  const std::vector<double> times =
      interleaved({run_peak, [&] { product(); }}, team.size() == 1, 0.4);
  const double limit = peak_operations(each.peak) * kRounds * team.size() / times[0];
  const double rate = each.flops / times[1];
  fmt::print("{:<36} {:d} thr {:9.1f} us {:7.1f} G/s of {:6.1f} = {:.2f}  ({:.1f} ms) {}\n",
             each.name, team.size(), times[1] * 1e6, rate / 1e9, limit / 1e9, rate / limit,
             product.compile_ms(), product.schedule());
}

void compare_with_reading(const Case& each, Compiled& product, runtime::ThreadTeam& team) {
  const codegen::TestKernel read = read_kernel();
  std::vector<HostMemory> results;
  for (int i = 0; i < team.size(); ++i) results.emplace_back(64);
  HostMemory memory(static_cast<int64_t>(each.read_bytes));
  memory.populate();
  const int64_t lines = memory.size() / 256 * 4;
  const auto run_read = [&] {
    team.static_loop(lines / 4, [&](int64_t begin, int64_t end, int thread) {
      read({memory.data(), results[static_cast<size_t>(thread)].data()}, {}, begin * 4, end * 4);
    });
  };
  const std::vector<double> times =
      interleaved({run_read, [&] { product(); }}, team.size() == 1, 0.4);
  const double limit = static_cast<double>(lines) * 64 / times[0];
  const double rate = each.read_bytes / times[1];
  fmt::print("{:<36} {:d} thr {:9.1f} us {:7.1f} GB/s, reading {:6.1f} = {:.2f}  ({:.1f} ms) {}\n",
             each.name, team.size(), times[1] * 1e6, rate / 1e9, limit / 1e9, rate / limit,
             product.compile_ms(), product.schedule());
}

PeakKind peak_of(DType dtype) {
  if (dtype == DType::kI8) return PeakKind::kI8;
  const bool dot = codegen::host_target().has(runtime::CpuFeature::kAvx512bf16);
  return dtype == DType::kBF16 && dot ? PeakKind::kBf16 : PeakKind::kF32;
}

std::vector<Case> matrix_cases() {
  struct Size {
    int64_t batch, m, n, k;
    bool weights, transposed;
    bool columns = false;  ///< A lies as k x m
  };
  const Size sizes[] = {
      {1, 64, 64, 64, false, false},          {1, 128, 128, 128, false, false},
      {1, 130, 130, 130, false, false},       {1, 512, 512, 512, false, false},
      {1, 512, 512, 512, true, true},         {1, 1024, 1024, 1024, false, false},
      {1, 2048, 2048, 2048, false, false},    {1, 2048, 2048, 2048, true, true},
      {1, 1000, 1003, 997, false, false},     {24, 512, 512, 64, false, true},
      {24, 512, 512, 64, false, false},       {7, 509, 503, 61, false, false},
      {1, 16, 512, 512, true, true},          {1, 4, 4096, 4096, true, true},
      {1, 3, 4096, 4096, false, true},        {1, 4, 4096, 4096, false, true},
      {1, 6, 4096, 4096, false, true},        {1, 8, 4096, 4096, false, true},
      {1, 16, 4096, 4096, false, true},       {1, 8, 14336, 4096, true, true},
      {1, 16, 14336, 4096, true, true},       {1, 64, 3072, 768, true, true},
      {1, 64, 64, 65536, false, false},       {1, 8, 32, 65536, false, false},
      {1, 256, 256, 16384, false, false},     {1, 768, 768, 4096, false, false, true},
      {1, 512, 2048, 512, false, false, true}};
  std::vector<Case> result;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8})
    for (const Size& size : sizes) {
      Case each;
      each.name = fmt::format("{} {}x{}x{}x{}{}{}{}", dtype, size.batch, size.m, size.n, size.k,
                              size.transposed ? "T" : "", size.weights ? " weights" : "",
                              size.columns ? " of columns" : "");
      each.peak = peak_of(dtype);
      each.flops =
          2.0 * static_cast<double>(size.batch * size.m) * static_cast<double>(size.n * size.k);
      each.write = [size, dtype](Graph& g) {
        Shape a{size.m, size.k};
        Shape b{size.k, size.n};
        if (size.columns) std::swap(a[0], a[1]);
        if (size.transposed) std::swap(b[0], b[1]);
        if (size.batch > 1) {
          a.insert(a.begin(), size.batch);
          b.insert(b.begin(), size.batch);
        }
        const Tensor x = g.input("x", a, dtype);
        const Tensor y = g.input(size.weights ? "w" : "y", b, dtype);
        const DType result_dtype = dtype == DType::kI8 ? DType::kI32 : dtype;
        return matmul(size.columns ? transpose(x) : x, size.transposed ? transpose(y) : y,
                      result_dtype);
      };
      result.push_back(std::move(each));
    }
  return result;
}

std::vector<Case> fused_cases() {
  std::vector<Case> result;
  const auto add = [&](const std::string& name, double flops,
                       std::function<Tensor(Graph & g)> write) {
    result.push_back({name, std::move(write), PeakKind::kF32, flops, 0});
  };
  add("f32 linear+bias+gelu 512x3072x768", 2.0 * 512 * 3072 * 768, [](Graph& g) {
    const Tensor product = matmul(g.input("x", {512, 768}), transpose(g.input("w", {3072, 768})));
    return gelu_tanh(product + g.input("c", {3072}));
  });
  add("f32 rms norm+linear 512x768x768", 2.0 * 512 * 768 * 768, [](Graph& g) {
    return matmul(rms_norm(g.input("x", {512, 768}), g.input("g", {768})),
                  transpose(g.input("w", {768, 768})));
  });
  add("f32 swiglu 128x2048x768", 4.0 * 128 * 2048 * 768, [](Graph& g) {
    const Tensor x = g.input("x", {128, 768});
    return silu(matmul(x, transpose(g.input("w1", {2048, 768})))) *
           matmul(x, transpose(g.input("w2", {2048, 768})));
  });
  struct Window {
    int64_t batch, in, out, size, kernel, stride;
  };
  for (const Window& each :
       {Window{1, 64, 64, 56, 3, 1}, Window{1, 32, 64, 14, 3, 1}, Window{32, 32, 64, 14, 3, 1},
        Window{1, 1, 32, 28, 3, 1}, Window{1, 256, 256, 14, 3, 1}, Window{1, 64, 128, 56, 3, 2},
        Window{1, 64, 256, 56, 1, 1}}) {
    const int64_t side = each.size / each.stride;
    add(fmt::format("f32 conv {}x{}->{} {}x{} on {}/{}", each.batch, each.in, each.out, each.kernel,
                    each.kernel, each.size, each.stride),
        2.0 * static_cast<double>(each.batch * each.in * each.out * each.kernel * each.kernel) *
            static_cast<double>(side * side),
        [each](Graph& g) {
          const Tensor x = g.input("x", {each.batch, each.in, each.size, each.size});
          const Tensor w = g.input("w", {each.out, each.in, each.kernel, each.kernel});
          const int64_t pad = each.kernel / 2;
          return relu(conv2d(x, w, g.input("c", {each.out}),
                             {.stride = {each.stride},
                              .padding = {Padding{pad, each.stride > 1 ? pad - 1 : pad}}}));
        });
  }
  add("f32 conv depthwise 128 3x3 on 56", 2.0 * 128 * 9 * 56 * 56, [](Graph& g) {
    return relu(conv2d(g.input("x", {1, 128, 56, 56}), g.input("w", {128, 1, 3, 3}),
                       g.input("c", {128}), {.padding = {Padding{1, 1}}, .groups = 128}));
  });
  return result;
}

std::vector<Case> vector_cases() {
  std::vector<Case> result;
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16, DType::kI8})
    for (const bool weights : {true, false})
      for (const auto& [n, k] : {std::pair<int64_t, int64_t>{14336, 4096}, {4096, 14336}}) {
        const double bytes = static_cast<double>(graph::byte_size(dtype, n * k));
        const char* name = weights ? "w" : "y";
        result.push_back({fmt::format("{} gemv {}x{}{}", dtype, n, k, weights ? " weights" : ""),
                          [n = n, k = k, dtype, name](Graph& g) {
                            const DType to = dtype == DType::kI8 ? DType::kI32 : dtype;
                            return matmul(g.input("x", {1, k}, dtype),
                                          transpose(g.input(name, {n, k}, dtype)), to);
                          },
                          PeakKind::kF32, 0, bytes});
        if (weights || dtype == DType::kI8) continue;
        result.push_back({fmt::format("{} gemv {}x{} k rows", dtype, k, n),
                          [n = n, k = k, dtype](Graph& g) {
                            return matmul(g.input("x", {1, k}, dtype), g.input("y", {k, n}, dtype));
                          },
                          PeakKind::kF32, 0, bytes});
      }
  for (const bool weights : {true, false})
    result.push_back({fmt::format("i8 weights, f32 x, 14336x4096{}", weights ? " weights" : ""),
                      [weights](Graph& g) {
                        const Tensor q = g.input(weights ? "w" : "y", {14336, 4096}, DType::kI8);
                        return matmul(g.input("x", {1, 4096}), transpose(cast(q, DType::kF32))) *
                               g.input("s", {14336});
                      },
                      PeakKind::kF32, 0, 14336.0 * 4096});
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const int64_t m : {1, 4})
      result.push_back({fmt::format("{} x, 4-bit blocks, {}x14336x4096", dtype, m),
                        [dtype, m](Graph& g) {
                          const Tensor x = g.input("x", {m, 4096}, dtype);
                          const Tensor q = g.input("w1", {14336, 128, 32}, DType::kU4);
                          const Tensor scale = g.input("w2", {14336, 128, 1}, DType::kF16);
                          const Tensor w = (cast(q, DType::kF32) - 8.0) * cast(scale, DType::kF32);
                          return matmul(cast(x, DType::kF32), transpose(merge_dims(w, 1)));
                        },
                        PeakKind::kF32, 0, 14336.0 * 4096 * 4.5 / 8});
  result.push_back({"bf16 swiglu gemv 8192x2048",
                    [](Graph& g) {
                      const Tensor x = g.input("x", {1, 2048}, DType::kBF16);
                      const Tensor gate = g.input("w1", {8192, 2048}, DType::kBF16);
                      const Tensor up = g.input("w2", {8192, 2048}, DType::kBF16);
                      return silu(matmul(x, transpose(gate))) * matmul(x, transpose(up));
                    },
                    PeakKind::kF32, 0, 2.0 * 2 * 8192 * 2048});
  return result;
}

void run(const std::string& filter, const std::string& schedule, runtime::ThreadTeam& team) {
  for (const auto& cases : {matrix_cases(), fused_cases(), vector_cases()})
    for (const Case& each : cases) {
      if (each.name.find(filter) == std::string::npos) continue;
      Compiled product(each, schedule, team);
      if (each.flops > 0)
        compare_with_peak(each, product, team);
      else
        compare_with_reading(each, product, team);
      std::fflush(stdout);
    }
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  std::string filter;
  std::string threads;
  std::string schedule;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--threads=", 0) == 0)
      threads = argument.substr(10);
    else if (argument.rfind("--schedule=", 0) == 0)
      schedule = argument.substr(11);
    else
      filter = argument;
  }
  if (threads != "2") {
    luminal::runtime::ThreadTeam one({.threads = 1});
    luminal::benchmarks::run(filter, schedule, one);
  }
  if (threads != "1")
    luminal::benchmarks::run(filter, schedule, luminal::runtime::default_thread_team());
  return 0;
}
