// Random graphs of every primitive, dtype and view as native code against the oracle. The settings
// are those of fuzz_test.cpp; FUZZ_PRINT=1 writes every graph and plan before it runs. Native code
// rounds elsewhere; what is near enough follows from the graph and the data (graph/expected.h).
#include <gtest/gtest.h>

#include <sstream>

#include "found_graphs.h"
#include "luminal/compiler/make_compiled.h"
#include "luminal/graph/expected.h"
#include "luminal/graph/text.h"
#include "luminal/support/error.h"
#include "random_graph.h"
#include "random_program.h"
#include "settings.h"

namespace luminal::fuzz {
namespace {

using graph::Array;
using graph::Graph;

/// What is made at random, and its data.
struct Kind {
  Graph (*make)(uint64_t seed, int steps);
  std::map<std::string, Array> (*inputs)(Random& random, const Graph& graph,
                                         const graph::DimValues& dims);
  int steps;
};
constexpr Kind kGraphs{random_graph, random_inputs, 14};
constexpr Kind kPrograms{random_program, program_inputs, 6};

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

/// The first output that is not as it should be, or "".
std::string wrong_output(const Graph& graph, const std::vector<graph::Expected>& expected,
                         const std::vector<Array>& actual) {
  for (size_t k = 0; k < expected.size(); ++k) {
    const graph::Comparison comparison = graph::compare(actual[k], expected[k]);
    if (!comparison.passed())
      return fmt::format("output {}: {}\n", graph.outputs()[k].name, graph::to_string(comparison));
  }
  return "";
}

/// What is wrong, or "".
std::string failure_of(const Kind& kind, const Graph& graph, uint64_t seed,
                       const compiler::Options& options) {
  Random random(seed);
  const graph::DimValues dims = random_dims(random, graph);
  const std::map<std::string, Array> inputs = kind.inputs(random, graph, dims);
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
  std::string wrong;
  for (const int pairs : {1, graph::kManyPairs}) {
    wrong = wrong_output(graph, graph::expected_outputs(graph, request, pairs), actual.outputs);
    if (wrong.empty()) return "";
  }
  return wrong + plan::to_string(compiled->plan());
}

/// The same, where compiling may throw.
std::string checked(const Kind& kind, const Graph& graph, uint64_t seed,
                    const compiler::Options& options) {
  try {
    return failure_of(kind, graph, seed, options);
  } catch (const std::exception& error) {
    return std::string("throws ") + error.what();
  }
}

void fuzz(const Kind& kind, const compiler::Options& options) {
  const int64_t iterations = setting("FUZZ_ITERATIONS", 150);
  const int64_t first = setting("FUZZ_SEED", 1);
  int64_t failures = 0;
  for (int64_t i = 0; i < iterations; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    const auto check = [&](int steps) {
      return checked(kind, kind.make(seed, steps), seed, options);
    };
    if (check(kind.steps).empty()) continue;
    int steps = 0;
    while (steps < kind.steps && check(steps).empty()) ++steps;
    ADD_FAILURE() << "FUZZ_SEED=" << seed << ", " << steps << " steps: " << check(steps) << "\n"
                  << graph::to_text(kind.make(seed, steps));
    if (++failures >= setting("FUZZ_FAILURES", 3)) return;
  }
}

TEST(CompiledFuzz, GraphsThatWereFoundWrongAreRight) {
  constexpr uint64_t kSeeds = 20;
  for (const FoundGraph& found : kFoundGraphs)
    for (uint64_t seed = 1; seed <= kSeeds; ++seed)
      for (const bool check_steps : {false, true}) {
        SCOPED_TRACE(fmt::format("{}, data of seed {}{}", found.what, seed,
                                 check_steps ? ", step by step" : ""));
        EXPECT_EQ(
            checked(kPrograms, graph::parse_text(found.text), seed, {.check_steps = check_steps}),
            "");
      }
}

TEST(CompiledFuzz, NativeCodeEqualsTheOracle) { fuzz(kGraphs, {.keep_text = true}); }

TEST(CompiledFuzz, EveryStepEqualsTheOracleOnItsInputs) { fuzz(kGraphs, {.check_steps = true}); }

TEST(CompiledFuzz, NativeCodeThatRoundsAsTheGraphSaysEqualsTheOracle) {
  fuzz(kGraphs, {.reassociate = false, .round_each = true, .keep_text = true});
}

TEST(CompiledFuzz, NativeCodeOfProgramsEqualsTheOracle) { fuzz(kPrograms, {}); }

TEST(CompiledFuzz, EveryStepOfProgramsEqualsTheOracleOnItsInputs) {
  fuzz(kPrograms, {.check_steps = true});
}

}  // namespace
}  // namespace luminal::fuzz
