// Speed of generated attention: prefill as a share of the register peak, decoding as a share of
// what reading keys and values takes, both measured in the same run. Usage: cpu_attention_bench
// [filter]
#include <fmt/core.h>

#include <string>

#include "benchmarks/cpu_gemm/machine_limits.h"
#include "luminal/codegen/llvm/attention_for_tests.h"
#include "luminal/graph/elements.h"
#include "luminal/kernel/derive.h"
#include "tests/contractions/loaded_kernel.h"

namespace luminal::benchmarks {
namespace {

using codegen::AttentionExample;
using codegen::LoadedCpuKernel;
using graph::DType;
using runtime::HostMemory;
using symbolic::Expr;

struct Case {
  const char* name;
  AttentionExample example;
};
const Case kCases[] = {
    {"12x512x64", {.kv_heads = 12, .queries = 512, .keys = 512, .depth = 64}},
    {"12x2048x64", {.kv_heads = 12, .queries = 2048, .keys = 2048, .depth = 64}},
    {"12x2048x64 causal",
     {.kv_heads = 12, .queries = 2048, .keys = 2048, .depth = 64, .causal = true}},
    {"8x4x512x128 causal",
     {.kv_heads = 8, .groups = 4, .queries = 512, .keys = 512, .depth = 128, .causal = true}},
    {"decode 8x1 over 4096x128", {.kv_heads = 8, .queries = 1, .keys = 4096, .depth = 128}},
    {"decode 8x4 over 4096x128",
     {.kv_heads = 8, .groups = 4, .queries = 1, .keys = 4096, .depth = 128}},
    {"decode 12x1 over 128x64", {.kv_heads = 12, .queries = 1, .keys = 128, .depth = 64}},
};

/// A case compiled for this machine, with data.
class Compiled {
 public:
  Compiled(const AttentionExample& example, runtime::ThreadTeam& team) : team_(team) {
    codegen::AttentionWriter writer(example);
    const graph::NodeId result = writer.write();
    const kernel::GraphProgram program(writer.graph);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    const auto derived = kernel::derive(arena_, program, cut, result);
    const double start = now(true);
    const codegen::CpuKernel code =
        codegen::cpu_kernel(arena_, std::get<kernel::Kernel>(derived), codegen::host_target(),
                            {.threads = team.size()});
    loaded_.emplace(code, codegen::host_target(), graph::DimValues{}, team.size());
    compile_ms_ = (now(true) - start) * 1e3;
    for (const codegen::CpuLaunch& launch : code.launches)
      for (const codegen::LaunchBuffer& buffer : launch.buffers)
        if (buffer.kind == codegen::LaunchBuffer::Kind::kTensor) add(buffer.tensor);
  }

  void operator()() { loaded_->run(tensors_, LoadedCpuKernel::on_team(team_), true); }
  double compile_ms() const { return compile_ms_; }

 private:
  void add(kernel::NodeId id) {
    if (tensors_.contains(id)) return;
    const graph::TensorType& type = arena_.tensor(id);
    const int64_t count = symbolic::evaluate(graph::element_count(type.shape), {});
    memory_.emplace_back(graph::byte_size(type.dtype, count));
    std::vector<double> values(4096);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(i * 37 % 101) / 64 - 0.8;
    for (int64_t at = 0; at < count; at += 4096)
      graph::store(
          type.dtype, memory_.back().data(), at,
          std::span(values).first(static_cast<size_t>(std::min<int64_t>(4096, count - at))));
    tensors_[id] = memory_.back().data();
  }

  runtime::ThreadTeam& team_;
  kernel::Arena arena_;
  std::vector<HostMemory> memory_;
  std::map<kernel::NodeId, void*> tensors_;
  std::optional<LoadedCpuKernel> loaded_;
  double compile_ms_ = 0;
};

double size_of(const Expr& expr) { return static_cast<double>(*expr.constant_value()); }

void compare_with_peak(const std::string& name, const AttentionExample& example,
                       runtime::ThreadTeam& team) {
  Compiled attention(example, team);
  const PeakKind kind = example.dtype == DType::kF32 ? PeakKind::kF32 : PeakKind::kBf16;
  const codegen::TestKernel peak = peak_kernel(kind);
  std::vector<HostMemory> memory;
  for (int i = 0; i < team.size(); ++i) memory.emplace_back(4096);
  constexpr int64_t kRounds = 20000;
  const auto run_peak = [&] {
    team.run(
        [&](int thread) { peak({memory[static_cast<size_t>(thread)].data()}, {}, 0, kRounds); });
  };
  const std::vector<double> times =
      interleaved({run_peak, [&] { attention(); }}, team.size() == 1, 0.5);
  const double limit = peak_operations(kind) * kRounds * team.size() / times[0];
  double operations = 4 * size_of(example.kv_heads) * static_cast<double>(example.groups) *
                      size_of(example.queries) * size_of(example.keys) *
                      static_cast<double>(example.depth);
  if (example.causal) operations /= 2;
  const double rate = operations / times[1];
  fmt::print(
      "{:<38} {:d} thr {:9.3f} ms {:7.1f} GFLOP/s of {:7.1f} = {:.2f}  ({:.1f} ms to compile)\n",
      name, team.size(), times[1] * 1e3, rate / 1e9, limit / 1e9, rate / limit,
      attention.compile_ms());
}

void compare_with_reading(const std::string& name, const AttentionExample& example,
                          runtime::ThreadTeam& team) {
  Compiled attention(example, team);
  const codegen::TestKernel read = read_kernel();
  const double bytes = 2 * size_of(example.kv_heads) * size_of(example.keys) *
                       static_cast<double>(example.depth) * graph::bits(example.dtype) / 8;
  const HostMemory memory(static_cast<int64_t>(bytes));
  const HostMemory sink(4096);
  const auto run_read = [&] {
    team.static_loop(static_cast<int64_t>(bytes) / 256, [&](int64_t begin, int64_t end, int) {
      read({memory.data(), sink.data()}, {}, begin * 4, end * 4);
    });
  };
  const std::vector<double> times =
      interleaved({run_read, [&] { attention(); }}, team.size() == 1, 0.3);
  fmt::print(
      "{:<38} {:d} thr {:9.3f} ms {:7.1f} GB/s of {:7.1f} = {:.2f}  ({:.1f} ms to compile)\n", name,
      team.size(), times[1] * 1e3, bytes / times[1] / 1e9, bytes / times[0] / 1e9,
      times[0] / times[1], attention.compile_ms());
}

void run(const std::string& filter, runtime::ThreadTeam& team) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const Case& each : kCases) {
      const std::string name = fmt::format("{} {}", dtype, each.name);
      if (name.find(filter) == std::string::npos) continue;
      AttentionExample example = each.example;
      example.dtype = dtype;
      if (example.queries.is_constant(1))
        compare_with_reading(name, example, team);
      else
        compare_with_peak(name, example, team);
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
