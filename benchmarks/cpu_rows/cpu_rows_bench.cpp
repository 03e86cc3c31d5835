// Speed of generated elementwise, reduction and row kernels in bytes read and written per second,
// against a copy with streaming stores that the same run measures; and of small ones on one and
// several threads. Usage: cpu_rows_bench [filter], which must be part of a printed name.
#include <fmt/core.h>

#include <string>

#include "benchmarks/cpu_gemm/machine_limits.h"
#include "benchmarks/cpu_rows/row_cases.h"
#include "luminal/codegen/llvm/cpu_kernel.h"
#include "luminal/graph/elements.h"
#include "luminal/kernel/derive.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/device.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::benchmarks {
namespace {

/// A case compiled for this machine, with data.
class Compiled {
 public:
  Compiled(const Case& each, DType dtype, int64_t rows, int64_t columns, runtime::ThreadTeam& team)
      : team_(team) {
    Writer write(dtype, rows, columns);
    const NodeId result = each.write(write);
    write.graph.add_output("y", write.graph.whole(result));
    const kernel::GraphProgram program(write.graph);
    const kernel::Cut cut = kernel::smallest_cut(program, *kernel::topological_order(program));
    const auto derived = kernel::derive(arena_, program, cut, result);
    codegen::CpuKernelOptions options;
    options.threads = team.size();
    // A copy of 16 bits per element shall stream as one of 32 does.
    options.streaming_bytes = int64_t{16} << 20;
    code_ = codegen::cpu_kernel(arena_, std::get<kernel::Kernel>(derived), codegen::host_target(),
                                options);
    for (const Expr& bytes : code_.temporaries)
      temporaries_.emplace_back(symbolic::evaluate(bytes, {}));
    for (const codegen::CpuLaunch& launch : code_.launches) add_launch(launch);
  }

  void operator()() {
    for (Part& part : parts_)
      runtime::launch_on_team(team_, part.entry, part.launch, part.scratch_bytes);
  }
  double bytes() const { return bytes_; }
  double compile_ms() const { return compile_ms_; }

 private:
  struct Part {
    std::unique_ptr<runtime::CpuModule> module;
    runtime::CpuEntry entry;
    std::vector<void*> buffers;
    runtime::Launch launch;
    int64_t scratch_bytes;
    runtime::HostMemory scratch;
  };

  void add_launch(const codegen::CpuLaunch& launch) {
    const double start = now(true);
    auto module =
        std::make_unique<runtime::CpuModule>(codegen::KernelCompiler().compile(launch.source));
    compile_ms_ += (now(true) - start) * 1e3;
    const runtime::CpuEntry entry = module->entry(launch.source.entries[0].name);
    const int64_t scratch = symbolic::evaluate(launch.scratch_bytes, {});
    Part part{std::move(module),
              entry,
              {},
              {},
              scratch,
              runtime::HostMemory(team_.size() * runtime::aligned_size(scratch))};
    const auto& uses = launch.source.entries[0].buffers;
    for (size_t i = 0; i < launch.buffers.size(); ++i)
      part.buffers.push_back(buffer(launch.buffers[i], uses[i]));
    part.launch.buffers = part.buffers;
    part.launch.size.items = symbolic::evaluate(launch.items, {});
    part.launch.size.chunk = launch.chunk;
    part.launch.size.threads = launch.threads;
    part.launch.scratch = part.scratch.data();
    parts_.push_back(std::move(part));
  }

  void* buffer(const codegen::LaunchBuffer& which, runtime::BufferUse use) {
    if (which.kind == codegen::LaunchBuffer::Kind::kTemporary)
      return temporaries_[which.temporary].data();
    if (const auto found = memory_.find(which.tensor); found != memory_.end())
      return found->second.data();
    const graph::TensorType& type = arena_.tensor(which.tensor);
    const int64_t count = symbolic::evaluate(graph::element_count(type.shape), {});
    runtime::HostMemory& memory =
        memory_.try_emplace(which.tensor, graph::byte_size(type.dtype, count)).first->second;
    bytes_ += static_cast<double>(memory.size());
    std::vector<double> values(4096);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<double>(i * 37 % 101) / 16 - 3;
    memory.populate();
    for (int64_t at = 0; use == runtime::BufferUse::kRead && at < count; at += 4096)
      graph::store(
          type.dtype, memory.data(), at,
          std::span(values).first(static_cast<size_t>(std::min<int64_t>(4096, count - at))));
    return memory.data();
  }

  runtime::ThreadTeam& team_;
  kernel::Arena arena_;
  codegen::CpuKernel code_;
  std::vector<Part> parts_;
  std::map<NodeId, runtime::HostMemory> memory_;
  std::vector<runtime::HostMemory> temporaries_;
  double bytes_ = 0;
  double compile_ms_ = 0;
};

/// Past the caches: a share of what copying reaches.
void run_big(const std::string& filter, runtime::ThreadTeam& team) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    std::optional<Compiled> copy;
    for (const Case& each : kCases) {
      const std::string name = fmt::format("big {} {} {} thr", dtype, each.name, team.size());
      if (name.find(filter) == std::string::npos) continue;
      if (!copy) copy.emplace(kCases[0], dtype, 4096, 4096, team);
      Compiled kernel(each, dtype, 4096, 4096, team);
      const std::vector<double> times =
          interleaved({[&] { (*copy)(); }, [&] { kernel(); }}, team.size() == 1, 0.15);
      const double limit = copy->bytes() / times[0];
      const double rate = kernel.bytes() / times[1];
      fmt::print(
          "{:<38} {:8.2f} ms {:6.1f} GB/s, copying {:6.1f} = {:.2f}  ({:.1f} ms to compile)\n",
          name, times[1] * 1e3, rate / 1e9, limit / 1e9, rate / limit, kernel.compile_ms());
    }
  }
}

/// Some microseconds: what threads gain or lose.
void run_small(const std::string& filter, runtime::ThreadTeam& one, runtime::ThreadTeam& team) {
  for (const DType dtype : {DType::kF32, DType::kBF16})
    for (const Case& each : kCases)
      for (const int64_t rows : {8, 64}) {
        const std::string name = fmt::format("small {} {} {}x512", dtype, each.name, rows);
        if (name.find(filter) == std::string::npos) continue;
        Compiled alone(each, dtype, rows, 512, one);
        Compiled together(each, dtype, rows, 512, team);
        const std::vector<double> times =
            interleaved({[&] { alone(); }, [&] { together(); }}, false, 0.03);
        fmt::print("{:<38} {:8.2f} us, {} threads {:8.2f} us = {:.2f}, {:6.1f} GB/s\n", name,
                   times[0] * 1e6, team.size(), times[1] * 1e6, times[0] / times[1],
                   together.bytes() / times[1] / 1e9);
      }
}

}  // namespace
}  // namespace luminal::benchmarks

int main(int argc, char** argv) {
  const std::string filter = argc > 1 ? argv[1] : "";
  luminal::runtime::ThreadTeam one({.threads = 1});
  luminal::runtime::ThreadTeam& team = luminal::runtime::default_thread_team();
  luminal::benchmarks::run_big(filter, one);
  luminal::benchmarks::run_big(filter, team);
  luminal::benchmarks::run_small(filter, one, team);
  return 0;
}
