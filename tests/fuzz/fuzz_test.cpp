// The fuzzer: random graphs must verify, read back from their text, and give the same results after
// every pass. Two environment variables widen the search:
//
//   FUZZ_ITERATIONS   how many graphs each test makes (200 unless said)
//   FUZZ_SEED         the seed of the first one (1 unless said); each further graph adds 1
//
// A failure prints the seed, the fewest steps that still fail, and the text of that graph.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "luminal/graph/common_subexpressions.h"
#include "luminal/graph/constant_folding.h"
#include "luminal/graph/dead_nodes.h"
#include "luminal/graph/depth_first_order.h"
#include "luminal/graph/identities.h"
#include "luminal/graph/pass.h"
#include "luminal/graph/text.h"
#include "luminal/graph/verify.h"
#include "luminal/support/error.h"
#include "random_graph.h"
#include "random_values.h"
#include "settings.h"

namespace luminal::fuzz {
namespace {

using graph::Array;
using graph::Graph;
using test::same_values;

constexpr int kSteps = 24;

/// Everything a run shows: the outputs and what was printed on the way.
struct RunResult {
  std::vector<Array> outputs;
  std::string printed;
};

/// A graph together with data for it.
struct Sample {
  graph::DimValues dims;
  std::map<std::string, Array> inputs;
};

Sample random_sample(uint64_t seed, const Graph& graph) {
  Random random(seed);
  Sample sample;
  sample.dims = random_dims(random, graph);
  sample.inputs = random_inputs(random, graph, sample.dims);
  return sample;
}

RunResult run(const Graph& graph, const Sample& sample) {
  std::ostringstream printed;
  graph::RunRequest request;
  for (const auto& [name, value] : sample.inputs)
    if (graph.find_input(name)) request.inputs[name] = &value;
  request.dims = sample.dims;
  request.text = &printed;
  RunResult result;
  result.outputs = graph::make_interpreter(graph)->run(request);
  result.printed = printed.str();
  return result;
}

/// What differs between two runs of equal graphs, or "".
std::string difference(const Graph& graph, const RunResult& before, const RunResult& after) {
  if (before.outputs.size() != after.outputs.size()) return "the number of outputs";
  for (size_t i = 0; i < before.outputs.size(); ++i)
    if (!same_values(before.outputs[i], after.outputs[i]))
      return "output " + graph.outputs()[i].name;
  return before.printed == after.printed ? "" : "what was printed";
}

/// What is wrong with `changed`, which must compute the same as `original`; "" if nothing is.
std::string compare(const Graph& original, const Graph& changed, uint64_t seed) {
  for (const auto& problem : graph::problems(changed)) return "broken graph: " + problem;
  for (uint64_t round = 0; round < 2; ++round) {
    const Sample sample = random_sample(2 * seed + round, original);
    const std::string what = difference(original, run(original, sample), run(changed, sample));
    if (!what.empty()) return what + " changed";
  }
  return "";
}

/// Says what is wrong with a graph, or "".
using Check = std::function<std::string(const Graph& graph, uint64_t seed)>;

/// Makes the graph of a seed with a number of steps.
using Maker = Graph (*)(uint64_t seed, int steps);

std::string checked(const Check& check, Maker make, uint64_t seed, int steps) {
  try {
    return check(make(seed, steps), seed);
  } catch (const std::exception& error) {
    return std::string("throws ") + error.what();
  }
}

std::string text_of(Maker make, uint64_t seed, int steps) {
  try {
    return graph::to_text(make(seed, steps));
  } catch (const std::exception& error) {
    return std::string("(no text: ") + error.what() + ")";
  }
}

/// Which graphs a test looks at: `percent` of the number that is asked for.
struct FuzzOptions {
  Maker make = random_graph;
  int steps = kSteps;
  int64_t percent = 100;
};
/// Small and quick, and short chains keep the special values of the inputs.
constexpr FuzzOptions kExpressions{.make = random_expression, .steps = 6, .percent = 500};

/// Runs the check on many graphs; reports the first failure, cut down to the fewest steps.
void fuzz(const Check& check, const FuzzOptions& options = {}) {
  const int64_t iterations = setting("FUZZ_ITERATIONS", 200) * options.percent / 100;
  const int64_t first = setting("FUZZ_SEED", 1);
  for (int64_t i = 0; i < iterations; ++i) {
    const auto seed = static_cast<uint64_t>(first + i);
    std::string failure = checked(check, options.make, seed, options.steps);
    if (failure.empty()) continue;
    int steps = 0;
    while (steps < options.steps && checked(check, options.make, seed, steps).empty()) ++steps;
    failure = checked(check, options.make, seed, steps);
    FAIL() << "FUZZ_SEED=" << seed << ", " << steps << " steps: " << failure << "\n"
           << text_of(options.make, seed, steps);
  }
}

/// The pass keeps the graph's results. A graph that it leaves as it was needs no run.
Check pass_check(const graph::Pass& pass) {
  return [pass](const Graph& graph, uint64_t seed) -> std::string {
    const Graph changed = pass.run(graph).graph;
    if (graph::to_text(changed) == graph::to_text(graph)) return "";
    return compare(graph, changed, seed);
  };
}

TEST(Fuzz, GraphsVerifyAndRun) {
  fuzz([](const Graph& graph, uint64_t seed) { return compare(graph, graph, seed); });
}

TEST(Fuzz, TextReadsBackToTheSameGraph) {
  fuzz([](const Graph& graph, uint64_t seed) -> std::string {
    const std::string text = graph::to_text(graph);
    const Graph parsed = graph::parse_text(text, {{"byte_increment", byte_increment()}});
    if (graph::to_text(parsed) != text) return "the text changed to\n" + graph::to_text(parsed);
    return compare(graph, parsed, seed);
  });
}

TEST(Fuzz, CommonSubexpressionsKeepResults) { fuzz(pass_check(graph::common_subexpressions())); }

TEST(Fuzz, DeadNodesKeepResults) { fuzz(pass_check(graph::dead_nodes())); }

TEST(Fuzz, ConstantFoldingKeepsResults) { fuzz(pass_check(graph::constant_folding())); }

TEST(Fuzz, EveryIdentityAloneKeepsResults) {
  const auto check = [](const Graph& graph, uint64_t seed) -> std::string {
    for (const auto& identity : graph::all_identities()) {
      const std::string what = pass_check(graph::identity_pass(identity))(graph, seed);
      if (!what.empty()) return std::string(identity.name) + ": " + what;
    }
    return "";
  };
  fuzz(check, {.percent = 25});  // there are some forty of them
  fuzz(check, kExpressions);
}

TEST(Fuzz, AllIdentitiesTogetherKeepResults) {
  fuzz(pass_check(graph::identities()));
  fuzz(pass_check(graph::identities()), kExpressions);
}

TEST(Fuzz, DepthFirstOrderKeepsResults) { fuzz(pass_check(graph::depth_first_order())); }

TEST(Fuzz, TheDefaultPassesKeepResults) {
  const auto check = [](const Graph& graph, uint64_t seed) {
    return compare(graph, graph::default_passes().run(graph, {.verify = true}).graph, seed);
  };
  fuzz(check);
  fuzz(check, kExpressions);
}

TEST(Fuzz, TheDefaultPassesReachAFixedPoint) {
  fuzz([](const Graph& graph, uint64_t) -> std::string {
    const Graph once = graph::default_passes().run(graph).graph;
    const Graph twice = graph::default_passes().run(once).graph;
    return graph::to_text(once) == graph::to_text(twice) ? "" : "a second run changes the graph";
  });
}

/// Text with a few bytes removed, doubled or replaced.
std::string damaged(Random& random, std::string text) {
  for (int64_t edits = random.between(1, 4); edits > 0 && !text.empty(); --edits) {
    const auto at = static_cast<size_t>(random.index(text.size()));
    const auto count = static_cast<size_t>(random.between(1, 6));
    switch (random.between(0, 3)) {
      case 0:
        text.erase(at, count);
        break;
      case 1:
        text.insert(at, text.substr(at, count));
        break;
      case 2:
        text[at] = random.pick(std::string("%[](),=:0987654321-+*ix\"#\n "));
        break;
      default:
        text.insert(at, text.substr(static_cast<size_t>(random.index(text.size())), count));
    }
  }
  return text;
}

TEST(Fuzz, DamagedTextIsReadOrRefusedAsTheUsersError) {
  fuzz([](const Graph& graph, uint64_t seed) -> std::string {
    Random random(seed);
    for (int attempt = 0; attempt < 10; ++attempt) {
      const std::string text = damaged(random, graph::to_text(graph));
      try {
        const Graph parsed = graph::parse_text(text, {{"byte_increment", byte_increment()}});
        for (const auto& problem : graph::problems(parsed))
          return fmt::format("{}\nfor\n{}", problem, text);
      } catch (const UserError&) {
        continue;
      } catch (const std::exception& error) {
        return std::string(error.what()) + "\nfor\n" + text;
      }
    }
    return "";
  });
}

}  // namespace
}  // namespace luminal::fuzz
