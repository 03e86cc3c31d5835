// Random graphs of every primitive, dtype and view as native code against the oracle. The settings
// are those of fuzz_test.cpp; FUZZ_PRINT=1 writes every graph and plan before it runs. Native code
// rounds elsewhere; what is near enough follows from the graph and the data (graph/expected.h).
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/expected.h"
#include "luminal/graph/text.h"
#include "luminal/support/error.h"
#include "random_graph.h"

namespace luminal::fuzz {
namespace {

using graph::Array;
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
  if (!oracle.error.empty()) return "";
  graph::RunRequest request;
  for (const auto& [name, value] : inputs) request.inputs[name] = &value;
  request.dims = dims;
  const std::vector<graph::Expected> expected = graph::expected_outputs(graph, request);
  for (size_t k = 0; k < expected.size(); ++k) {
    const graph::Comparison comparison = graph::compare(actual.outputs[k], expected[k]);
    if (!comparison.passed())
      return fmt::format("output {}: {}\n{}", graph.outputs()[k].name, graph::to_string(comparison),
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

TEST(CompiledFuzz, EveryStepEqualsTheOracleOnItsInputs) { fuzz({.check_steps = true}); }

TEST(CompiledFuzz, NativeCodeThatRoundsAsTheGraphSaysEqualsTheOracle) {
  fuzz({.reassociate = false, .round_each = true, .keep_text = true});
}

}  // namespace
}  // namespace luminal::fuzz
