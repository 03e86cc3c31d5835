// Speed of generated matrix products against the register peak (or, for one row, the read
// bandwidth) that the same run measures. Usage: cpu_gemm_bench [filter]
#include <fmt/core.h>

#include <string>

#include "benchmarks/cpu_gemm/machine_limits.h"
#include "luminal/codegen/llvm/gemm.h"
#include "luminal/graph/elements.h"
#include "luminal/runtime/cpu/arena.h"
#include "luminal/runtime/cpu/device.h"

namespace luminal::benchmarks {
namespace {

using codegen::GemmB;
using codegen::GemmLayout;
using codegen::GemmProblem;
using codegen::GemmSpec;
using graph::DType;
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

/// A product ready to run on a team.
class Product {
 public:
  Product(const GemmProblem& problem, const GemmSpec& spec, runtime::ThreadTeam& team)
      : problem_(problem),
        spec_(spec),
        layout_(spec, codegen::host_target()),
        team_(team),
        a_(random_memory(problem.a, problem.batch * problem.m * problem.k)),
        b_(random_memory(problem.b, problem.batch * problem.n * problem.k)),
        c_(graph::byte_size(problem.c, problem.batch * problem.m * problem.n)),
        packed_(spec.b_source == GemmB::kPrepacked
                    ? problem.batch * layout_.packed_bytes(problem.n, problem.k)
                    : 0),
        scratch_(team.size() * runtime::aligned_size(layout_.scratch_bytes(problem.k))),
        module_(codegen::KernelCompiler().compile(codegen::gemm_kernel(spec))) {
    buffers_ = {a_.data(), b_.data(), c_.data()};
    const int64_t ldb = problem.b_transposed ? problem.k : problem.n;
    scalars_ = {problem.m,
                problem.n,
                problem.k,
                problem.k,
                1,
                ldb,
                problem.n,
                problem.m * problem.k,
                problem.n * problem.k,
                problem.m * problem.n};
    if (spec.b_source == GemmB::kPrepacked) {
      const runtime::CpuModule packer(
          codegen::KernelCompiler().compile(codegen::gemm_pack_kernel(spec)));
      const std::vector<void*> arguments{b_.data(), packed_.data()};
      const std::vector<int64_t> scalars{problem.n, problem.k, ldb, problem.n * problem.k};
      packer.entry("pack")(arguments.data(), scalars.data(), 0,
                           problem.batch * layout_.panels(problem.n), nullptr);
      buffers_[1] = packed_.data();
    }
  }

  void operator()() {
    runtime::Launch launch;
    launch.buffers = buffers_;
    launch.scalars = scalars_;
    launch.size.items = layout_.items(problem_.batch, problem_.m, problem_.n);
    launch.scratch = scratch_.data();
    runtime::launch_on_team(team_, module_.entry("gemm"), launch,
                            layout_.scratch_bytes(problem_.k));
  }

  double operations() const {
    return 2.0 * static_cast<double>(problem_.batch * problem_.m) *
           static_cast<double>(problem_.n * problem_.k);
  }
  double bytes_of_b() const {
    return static_cast<double>(
        graph::byte_size(problem_.b, problem_.batch * problem_.n * problem_.k));
  }
  HostMemory& weights() { return spec_.b_source == GemmB::kPrepacked ? packed_ : b_; }

 private:
  GemmProblem problem_;
  GemmSpec spec_;
  GemmLayout layout_;
  runtime::ThreadTeam& team_;
  HostMemory a_, b_, c_, packed_, scratch_;
  runtime::CpuModule module_;
  std::vector<void*> buffers_;
  std::vector<int64_t> scalars_;
};

PeakKind peak_kind(const GemmSpec& spec) {
  if (spec.mode == codegen::GemmMode::kDotBf16) return PeakKind::kBf16;
  return spec.mode == codegen::GemmMode::kDotI8 ? PeakKind::kI8 : PeakKind::kF32;
}

void compare_with_peak(const std::string& name, const GemmProblem& problem, const GemmSpec& spec,
                       runtime::ThreadTeam& team) {
  Product product(problem, spec, team);
  const PeakKind kind = peak_kind(spec);
  const codegen::TestKernel peak = peak_kernel(kind);
  std::vector<HostMemory> memory;
  for (int i = 0; i < team.size(); ++i) memory.emplace_back(4096);
  constexpr int64_t kRounds = 20000;
  const auto run_peak = [&] {
    team.run(
        [&](int thread) { peak({memory[static_cast<size_t>(thread)].data()}, {}, 0, kRounds); });
  };
  const std::vector<double> times =
      interleaved({run_peak, [&] { product(); }}, team.size() == 1, 0.6);
  const double limit = peak_operations(kind) * kRounds * team.size() / times[0];
  const double rate = product.operations() / times[1];
  fmt::print("{:<34} {:d} thr {:9.1f} us {:7.1f} G/s of {:6.1f} = {:.2f}  {}\n", name, team.size(),
             times[1] * 1e6, rate / 1e9, limit / 1e9, rate / limit, to_string(spec));
}

void compare_with_reading(const std::string& name, const GemmProblem& problem, const GemmSpec& spec,
                          runtime::ThreadTeam& team) {
  Product product(problem, spec, team);
  const codegen::TestKernel read = read_kernel();
  std::vector<HostMemory> results;
  for (int i = 0; i < team.size(); ++i) results.emplace_back(64);
  const int64_t lines = product.weights().size() / 256 * 4;
  const auto run_read = [&] {
    team.static_loop(lines / 4, [&](int64_t begin, int64_t end, int thread) {
      read({product.weights().data(), results[static_cast<size_t>(thread)].data()}, {}, begin * 4,
           end * 4);
    });
  };
  const std::vector<double> times =
      interleaved({run_read, [&] { product(); }}, team.size() == 1, 0.6);
  const double limit = static_cast<double>(lines) * 64 / times[0];
  const double rate = product.bytes_of_b() / times[1];
  fmt::print("{:<34} {:d} thr {:9.1f} us {:7.1f} GB/s, reading {:6.1f} = {:.2f}  {}\n", name,
             team.size(), times[1] * 1e6, rate / 1e9, limit / 1e9, rate / limit, to_string(spec));
}

struct Case {
  int64_t batch, m, n, k;
  bool constant;
};

void run(const std::string& filter, runtime::ThreadTeam& team) {
  const Case cases[] = {
      {1, 128, 128, 128, false},    {1, 512, 512, 512, false},    {1, 512, 512, 512, true},
      {1, 1024, 1024, 1024, false}, {1, 2048, 2048, 2048, false}, {1, 2048, 2048, 2048, true},
      {1, 1000, 1003, 997, false},  {24, 512, 512, 64, false},    {1, 16, 512, 512, false},
      {1, 64, 3072, 768, true},     {1, 130, 130, 130, false}};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kI8}) {
    const DType c = dtype == DType::kI8 ? DType::kI32 : dtype;
    for (const Case& each : cases) {
      const std::string name = fmt::format("{} {}x{}x{}x{}{}", dtype, each.batch, each.m, each.n,
                                           each.k, each.constant ? " prepacked" : "");
      if (name.find(filter) == std::string::npos) continue;
      const GemmProblem problem{dtype, dtype,         c,     each.batch, each.m, each.n, each.k,
                                false, each.constant, false, team.size()};
      compare_with_peak(name, problem, choose_gemm(problem, codegen::host_target()), team);
    }
    for (const auto& [n, k] :
         {std::pair<int64_t, int64_t>{14336, 4096}, {4096, 14336}, {768, 3072}}) {
      const std::string name = fmt::format("{} gemv {}x{}", dtype, n, k);
      if (name.find(filter) == std::string::npos) continue;
      const GemmProblem problem{dtype, dtype, c, 1, 1, n, k, true, true, false, team.size()};
      compare_with_reading(name, problem, choose_gemm(problem, codegen::host_target()), team);
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
