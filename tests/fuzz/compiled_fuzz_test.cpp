// Random graphs of every primitive, dtype and view as native code against the oracle. The settings
// are those of fuzz_test.cpp; FUZZ_PRINT=1 writes every graph and plan before it runs. Native code
// rounds elsewhere, and a graph may turn the last bit of a sum into another integer, so what is
// compared is exact where numbers are, and near elsewhere.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/query.h"
#include "luminal/graph/text.h"
#include "luminal/support/error.h"
#include "random_graph.h"
#include "random_values.h"

namespace luminal::fuzz {
namespace {

using graph::Array;
using graph::DType;
using graph::Graph;

int64_t setting(const char* name, int64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody writes it
  return text == nullptr ? otherwise : std::atoll(text);
}

/// What a run gives: values and text, or an error.
struct Outcome {
  std::vector<Array> outputs;
  std::string printed;
  std::string error;
};

Outcome run(graph::Program& program, const graph::DimValues& dims,
            const std::map<std::string, Array>& inputs) {
  std::ostringstream printed;
  graph::RunRequest request;
  for (const auto& [name, value] : inputs)
    if (program.graph().find_input(name)) request.inputs[name] = &value;
  request.dims = dims;
  request.text = &printed;
  Outcome outcome;
  try {
    outcome.outputs = program.run(request);
  } catch (const UserError& error) {
    outcome.error = error.what();
  }
  outcome.printed = printed.str();
  return outcome;
}

/// How near an output must be: what the narrowest float on the way to it allows. Nothing where no
/// bound holds: integers made of computed floats, which may become any neighbour; products of many
/// factors, which the oracle forms in f64; and narrow floats that are not rounded where the graph
/// says, which may overflow there and not here.
std::optional<double> tolerance_of(const Graph& graph, const graph::Edge& output, bool round_each) {
  int narrowest = 128;
  bool computed = false;
  for (const graph::NodeId id : graph::upstream(graph, std::span(&output.node, 1))) {
    const graph::Node& node = graph.node(id);
    if (!graph::is_float(node.dtype())) continue;
    if (node.op == graph::Op::kProd) return std::nullopt;
    narrowest = std::min(narrowest, graph::bits(node.dtype()));
    computed = computed || !node.operands.empty();
  }
  if (!graph::is_float(graph.node(output.node).dtype()))
    return computed ? std::nullopt : std::optional(0.0);
  if (computed && narrowest < 32 && !round_each) return std::nullopt;
  return narrowest == 64 ? 1e-9 : narrowest == 32 ? 1e-4 : narrowest == 16 ? 4e-2 : 0.5;
}

/// Near enough, for one op after the other rounding elsewhere.
bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= tolerance * std::max(1.0, std::max(std::abs(a), std::abs(b)));
}

/// How many elements are wrong.
int64_t wrong_elements(const Array& actual, const Array& expected, double tolerance) {
  if (actual.dtype() != expected.dtype() || actual.extents() != expected.extents())
    return std::max<int64_t>(1, expected.size());
  if (same_values(actual, expected)) return 0;
  int64_t wrong = 0;
  for (int64_t i = 0; i < expected.size(); ++i)
    if (!(actual.at(i) == expected.at(i)) &&
        !near(actual.at(i).as_double(), expected.at(i).as_double(), tolerance))
      ++wrong;
  return wrong;
}

/// What is wrong, or "".
std::string failure_of(const Graph& graph, uint64_t seed, const compiler::Options& options) {
  Random random(seed);
  const graph::DimValues dims = random_dims(random, graph);
  const std::map<std::string, Array> inputs = random_inputs(random, graph, dims);
  const Outcome oracle = run(*graph::make_interpreter(graph), dims, inputs);
  const auto compiled = compiler::make_compiled(graph, options);
  if (setting("FUZZ_PRINT", 0) != 0)
    fmt::print(stderr, "{}{}", graph::to_text(graph), plan::to_string(compiled->plan()));
  const Outcome actual = run(*compiled, dims, inputs);
  if (actual.error != oracle.error)
    return fmt::format("the error is '{}', not '{}'", actual.error, oracle.error);
  for (size_t k = 0; k < oracle.outputs.size(); ++k) {
    const auto tolerance = tolerance_of(graph, graph.outputs()[k].edge, options.round_each);
    if (!tolerance) continue;
    const int64_t wrong = wrong_elements(actual.outputs[k], oracle.outputs[k], *tolerance);
    if (wrong > 0)
      return fmt::format("{} elements of output {}\n{}", wrong, graph.outputs()[k].name,
                         plan::to_string(compiled->plan()));
  }
  return "";
}

std::string checked(uint64_t seed, int steps, const compiler::Options& options) {
  try {
    return failure_of(random_graph(seed, steps), seed, options);
  } catch (const std::exception& error) {
    return std::string("throws ") + error.what();
  }
}

void fuzz(const compiler::Options& options) {
  constexpr int kSteps = 14;
  const int64_t iterations = setting("FUZZ_ITERATIONS", 150);
  const int64_t first = setting("FUZZ_SEED", 1);
  int64_t failures = 0;
  for (int64_t i = 0; i < iterations; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    if (checked(seed, kSteps, options).empty()) continue;
    int steps = 0;
    while (steps < kSteps && checked(seed, steps, options).empty()) ++steps;
    ADD_FAILURE() << "FUZZ_SEED=" << seed << ", " << steps
                  << " steps: " << checked(seed, steps, options) << "\n"
                  << graph::to_text(random_graph(seed, steps));
    if (++failures >= setting("FUZZ_FAILURES", 3)) return;
  }
}

TEST(CompiledFuzz, NativeCodeEqualsTheOracle) { fuzz({.keep_text = true}); }

TEST(CompiledFuzz, NativeCodeThatRoundsAsTheGraphSaysEqualsTheOracle) {
  fuzz({.reassociate = false, .round_each = true, .keep_text = true});
}

}  // namespace
}  // namespace luminal::fuzz
