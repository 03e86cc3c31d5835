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
  return graph::expected_outputs(executable.ir(), request);
}

/// Floats moved by a unit of their last place, to a side that differs from element to element.
Array moved(const Array& array, double side) {
  if (!graph::is_float(array.dtype())) return array;
  std::vector<double> values = array.to_vector<double>();
  const double unit = side * graph::last_place(array.dtype());
  std::minstd_rand random(1);
  for (double& value : values) value *= 1.0 + ((random() & 0x100) != 0 ? unit : -unit);
  return Array::from<double>(array.dtype(), array.extents(), values);
}

/// What kernels give that use no law but those that round as the graph says. As the oracle finds
/// what is allowed, so it is found here: from how far runs lie apart whose inputs (the weights of
/// every layer among them) are moved by the last place, to one side and to the other.
std::vector<graph::Expected> by_plain_kernels(const Network& network,
                                              const Executable& executable) {
  CompileOptions options;
  options.compiler.reassociate = false;
  options.compiler.rules = false;
  Executable plain = compile(network.graph, network.outputs, options);
  const std::map<std::string, Array> inputs = inputs_of(executable);
  const auto outputs = [&](double side) {
    for (const auto& [name, array] : inputs)
      plain.set(name, side == 0.0 ? array : moved(array, side));
    plain.run();
    std::vector<Array> result;
    for (size_t k = 0; k < plain.output_count(); ++k) result.push_back(plain.get(k));
    return result;
  };
  const std::vector<Array> value = outputs(0.0), up = outputs(1.0), down = outputs(-1.0);
  std::vector<graph::Expected> result;
  for (size_t k = 0; k < value.size(); ++k) {
    graph::Expected each{value[k], {}, {}};
    const double unit = graph::last_place(value[k].dtype());
    for (int64_t i = 0; i < each.value.size(); ++i) {
      const auto [low, high] = std::minmax(
          {value[k].at(i).as_double(), up[k].at(i).as_double(), down[k].at(i).as_double()});
      each.allowed.push_back(graph::kSlack * (high - low) +
                             unit * std::abs(each.value.at(i).as_double()));
    }
    result.push_back(std::move(each));
  }
  return result;
}

/// What an element may be off by is found from how far such runs lie apart, which may be little by
/// chance: no element is asked to be better than all of them are on the whole.
void settle(graph::Expected& expected) {
  double squares = 0;
  double count = 0;
  for (const double each : expected.allowed) {
    if (!std::isfinite(each)) continue;
    squares += each * each;
    ++count;
  }
  if (count == 0) return;
  const double typical = std::sqrt(squares / count);
  for (double& each : expected.allowed) each = std::max(each, typical);
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
  is_other_ = report.best_us < report.fast_us;
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
    settle(expected[k]);
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
