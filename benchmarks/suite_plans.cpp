#include "benchmarks/suite_plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "benchmarks/cpu_gemm/machine_limits.h"
#include "luminal/graph/expected.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::benchmarks {
namespace {

Array random_array(DType dtype, const Shape& shape, const Interval& interval,
                   std::mt19937_64& random) {
  Extents extents;
  int64_t count = 1;
  for (const Dim& dim : shape) count *= extents.emplace_back(symbolic::evaluate(dim, {}));
  std::vector<float> values(static_cast<size_t>(count));
  std::uniform_real_distribution<float> numbers(interval.low, interval.high);
  // Large arrays repeat themselves: billions of random numbers take longer than what is timed.
  const size_t fresh = std::min<size_t>(values.size(), (size_t{1} << 20) + 1);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = i < fresh ? numbers(random) : values[i - fresh];
  return Array::from<float>(f32, extents, values).cast(dtype);
}

int64_t bytes_of(const Tensor& tensor) {
  int64_t count = 1;
  for (const Dim& dim : tensor.shape()) count *= symbolic::evaluate(dim, {});
  return graph::byte_size(tensor.dtype(), count);
}

/// Inputs are called as Network calls them.
std::map<std::string, Array> inputs_of(const Executable& executable) {
  std::map<std::string, Array> result;
  for (const graph::Node& node : executable.ir().nodes())
    if (node.op == graph::Op::kInput) {
      const std::string& name = node.attribute<graph::InputAttribute>().name;
      result.emplace(name, executable.get(executable.input(name)));
    }
  return result;
}

std::vector<graph::Expected> by_oracle(const Executable& executable) {
  const std::map<std::string, Array> data = inputs_of(executable);
  graph::RunRequest request;
  for (const auto& [name, array] : data) request.inputs[name] = &array;
  std::vector<graph::Expected> expected = graph::expected_outputs(executable.ir(), request);
  for (graph::Expected& each : expected) graph::settle(each);
  return expected;
}

/// What kernels give that use no law but those that round as the graph says.
std::vector<graph::Expected> by_plain_kernels(const Network& network,
                                              const Executable& executable) {
  CompileOptions options;
  options.compiler.reassociate = false;
  options.compiler.rules = false;
  Executable plain = compile(network.graph, network.outputs, options);
  const std::map<std::string, Array> data = inputs_of(executable);
  graph::RunRequest request;
  for (const auto& [name, array] : data) request.inputs[name] = &array;
  return graph::expected_of_runs(executable.ir(), request,
                                 [&](const std::map<std::string, const Array*>& inputs) {
                                   for (const auto& [name, array] : inputs) plain.set(name, *array);
                                   plain.run();
                                   std::vector<Array> result;
                                   for (size_t k = 0; k < plain.output_count(); ++k)
                                     result.push_back(plain.get(k));
                                   return result;
                                 });
}

}  // namespace

CasePlans::CasePlans(const Case& each, const PlanOptions& options) {
  each.write(network_);
  const double start = now(false);
  fast_.emplace(compile(network_.graph, network_.outputs));
  compile_seconds_ = now(false) - start;
  if (options.search_seconds) search(*options.search_seconds);
  set_data();
  if (searched_ && options.check) check(each.flops);
}

void CasePlans::search(double seconds) {
  const double start = now(false);
  CompileOptions options;
  options.mode = Mode::kSearch;
  options.budget_seconds = seconds;
  searched_.emplace(compile(network_.graph, network_.outputs, options));
  search_seconds_ = now(false) - start;
  const auto& report = *searched_->search_report();
  // Not timed: it is known to be wrong, and another one is used.
  is_other_ = report.best_us < report.fast_us || (report.fast_us == 0 && report.best_us > 0);
}

void CasePlans::set_data() {
  std::mt19937_64 random(1);
  for (const Tensor& input : network_.inputs) {
    const Array array = random_array(input.dtype(), input.shape(), network_.values, random);
    fast_->set(input, array);
    if (searched_) searched_->set(input, array);  // the same memory: arrays share their bytes
    bytes_ += static_cast<double>(bytes_of(input));
  }
  for (const Tensor& output : network_.outputs) bytes_ += static_cast<double>(bytes_of(output));
  fast_->run();
  if (searched_) searched_->run();
}

void CasePlans::check(double work) {
  const double start = now(false);
  // The oracle takes some seconds for as many products; more are left to plain kernels.
  constexpr double kMostWork = 1e10;
  std::vector<graph::Expected> expected =
      work <= kMostWork ? by_oracle(*searched_) : by_plain_kernels(network_, *searched_);
  for (size_t k = 0; k < expected.size(); ++k) {
    const graph::Comparison comparison = graph::compare(searched_->get(k), expected[k]);
    if (!comparison.passed())
      fault_ += fmt::format("output {}: {}\n", k, graph::to_string(comparison));
  }
  checked_by_ = work <= kMostWork ? "the oracle" : "plain kernels";
  check_seconds_ = now(false) - start;
}

std::string CasePlans::search_text() const {
  return searched_ ? compiler::to_string(*searched_->search_report()) : "";
}

}  // namespace luminal::benchmarks
