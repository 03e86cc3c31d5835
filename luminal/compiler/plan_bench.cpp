#include "luminal/compiler/plan_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include "luminal/compiler/kernel_set.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/plan/compiled_program.h"
#include "luminal/search/duel.h"
#include "luminal/search/refusal.h"
#include "luminal/support/check.h"
#include "luminal/support/error.h"
#include "luminal/support/log.h"

namespace luminal::compiler {
namespace {

using graph::Array;
using graph::Graph;
using graph::Node;
using search::Rejected;

/// What the positions of a node choose from, its last axis counts; nothing if it has none.
const graph::Edge* chosen_from(const Node& node) {
  if (node.op == graph::Op::kGather) return &node.operands[1];
  return node.op == graph::Op::kScatter ? &node.operands[0] : nullptr;
}

/// The shortest of what positions choose from.
int64_t shortest_choice(const Graph& graph, const graph::DimValues& dims) {
  int64_t shortest = std::numeric_limits<int64_t>::max();
  for (const Node& node : graph.nodes())
    if (const graph::Edge* data = chosen_from(node))
      shortest = std::min(shortest, graph::extents_of(data->view.domain(), dims).back());
  return std::max<int64_t>(shortest, 1);
}

/// Long arrays repeat themselves: making every value anew would take longer than the search.
constexpr int64_t kPeriod = 65'520;  // no power of two, and whole bytes of every dtype

void repeat(const Array& period, Array& array) {
  const auto from = period.bytes();
  const auto to = array.mutable_bytes();
  for (size_t done = 0; done < to.size(); done += from.size())
    std::copy_n(from.begin(), std::min(from.size(), to.size() - done), to.begin() + done);
}

/// Values around 0, the smaller the more of them a row has: sums over rows stay near 1.
void fill_reals(Array& array, std::mt19937_64& random) {
  const int64_t row = array.extents().empty() ? 1 : array.extents().back();
  const double scale = 2.0 / std::sqrt(static_cast<double>(std::max<int64_t>(row, 4)));
  std::vector<double> values(static_cast<size_t>(std::min(array.size(), kPeriod)));
  for (double& value : values)
    value = scale * (static_cast<double>(random() >> 11) * 0x1p-52 - 1.0);
  const graph::Extents extents{static_cast<int64_t>(values.size())};
  repeat(Array::from<double>(array.dtype(), extents, values), array);
}

void fill_integers(Array& array, int64_t limit, std::mt19937_64& random) {
  constexpr int64_t kSmall = 16;  // sums of products stay in range
  int64_t below = limit == std::numeric_limits<int64_t>::max() ? kSmall : limit;
  if (graph::bits(array.dtype()) <= 8) below = std::min(below, kSmall);
  if (array.dtype() == graph::DType::kBool) below = 2;
  std::vector<int64_t> values(static_cast<size_t>(std::min(array.size(), kPeriod)));
  for (int64_t& value : values)
    value = static_cast<int64_t>(random() % static_cast<uint64_t>(below));
  const graph::Extents extents{static_cast<int64_t>(values.size())};
  repeat(Array::from<int64_t>(array.dtype(), extents, values), array);
}

}  // namespace

graph::DimValues typical_dims(const Graph& graph, const Options& options) {
  graph::DimValues result;
  for (const auto& [name, interval] : graph.dims())
    result[name] = options.dims.contains(name)
                       ? options.dims.at(name)
                       : std::clamp(options.typical_dim, interval.lo, interval.hi);
  return result;
}

std::map<std::string, Array> random_inputs(const Graph& graph, const graph::DimValues& dims,
                                           uint64_t seed) {
  std::map<std::string, Array> result;
  std::mt19937_64 random(seed);
  const int64_t limit = shortest_choice(graph, dims);
  for (const Node& node : graph.nodes()) {
    if (node.op != graph::Op::kInput) continue;
    Array array(node.dtype(), graph::extents_of(node.shape(), dims));
    if (graph::is_float(node.dtype()))
      fill_reals(array, random);
    else
      fill_integers(array, limit, random);
    result.emplace(node.attribute<graph::InputAttribute>().name, std::move(array));
  }
  return result;
}

struct PlanBench::Loaded {
  std::unique_ptr<plan::CompiledProgram> program;
  std::optional<Rejected> rejected;
  graph::RunRequest request;
  std::ostringstream text;
  std::vector<Array> results;
  bool ran = false;

  void run() { program->run_into(request, results); }
};

PlanBench::PlanBench(std::function<Plan(const std::string&)> plan, const Options& options,
                     const search::MeasureOptions& measure, TellTimes times)
    : plan_(std::move(plan)),
      options_(options),
      measure_(measure),
      times_(std::move(times)),
      others_(times_) {
  measure_.threads = threads_of(options);
}

PlanBench::~PlanBench() = default;

PlanBench::Loaded& PlanBench::loaded(const std::string& name) {
  std::unique_ptr<Loaded>& place = loaded_[name];
  if (place) return *place;
  place = std::make_unique<Loaded>();
  try {
    const auto why = search::refusal_of([&] { load(name, *place); });
    // Another time there may be more memory.
    if (why) place->rejected = Rejected{Rejected::Why::kInterrupted, *why};
  } catch (const UserError& error) {
    place->rejected = failed(*place, error);
  } catch (const Error& error) {
    place->rejected = Rejected{Rejected::Why::kCompile, error.what()};
  }
  return *place;
}

Rejected PlanBench::failed(const Loaded& place, const UserError& error) {
  // What one plan ran on another one has to run on as well. But if the first one did not run, or
  // did not when its inputs were moved, that is because of data of our own.
  const bool is_at_fault = !place.program || (!first_.empty() && !place.ran);
  if (is_at_fault) return {Rejected::Why::kCompile, error.what()};
  if (!std::exchange(has_warned_, true))
    support::log_warn("search: there is no data to compare whole plans on: {}", error.what());
  return {Rejected::Why::kInterrupted, error.what()};
}

void PlanBench::load(const std::string& name, Loaded& place) {
  place.program = plan::load_plan(plan_(name), options_.threads);
  const Graph& graph = place.program->graph();
  const graph::DimValues dims = typical_dims(graph, options_);
  if (inputs_.empty()) inputs_ = random_inputs(graph, dims, 1);
  for (const auto& [input, array] : inputs_) place.request.inputs[input] = &array;
  place.request.dims = dims;
  place.request.text = &place.text;
  place.run();
  place.ran = true;
  if (first_.empty()) first_ = name;
  // What is expected takes some runs and much memory, and a plan alone is compared with nothing.
  if (expected_.empty() && name != first_) expect(loaded(first_), 1);
  place.rejected = compared(place.results);
}

void PlanBench::expect(Loaded& first, int pairs) {
  const graph::RunRequest request = first.request;
  const auto run = [&](const std::map<std::string, const Array*>& inputs) {
    first.request.inputs = inputs;
    first.run();
    return first.results;
  };
  expected_ = graph::expected_of_runs(first.program->graph(), request, run, pairs);
  first.request.inputs = request.inputs;
}

std::optional<Rejected> PlanBench::compared(const std::vector<Array>& results) {
  for (size_t k = 0; k < expected_.size(); ++k) {
    const graph::Comparison comparison = graph::compare(results[k], expected_[k]);
    if (comparison.passed()) continue;
    // Few runs may agree by chance where right ones need not.
    if (!std::exchange(is_sure_, true)) {
      expect(loaded(first_), graph::kManyPairs);
      return compared(results);
    }
    return Rejected{Rejected::Why::kWrongResult,
                    fmt::format("output {}, beside that of the first plan: {}", k,
                                graph::to_string(comparison))};
  }
  return std::nullopt;
}

void PlanBench::begin_anew() {
  loaded_.clear();
  for (auto& [name, array] : inputs_) {
    Array other = array;
    other.mutable_bytes();
    array = std::move(other);
  }
}

void PlanBench::settle(const std::vector<std::string>& plans, const std::vector<size_t>& numbers,
                       search::Measured& measured) try {
  // Preparing more data again and again takes longer than it is worth, and luck with addresses
  // matters to plans that take microseconds.
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  int64_t bytes = loaded(plans.front()).program->working_bytes();
  for (const auto& [name, array] : inputs_) bytes += std::ssize(array.bytes());
  search::DuelOptions how;
  how.clock = measure_.clock;
  how.seconds = measure_.seconds;
  how.threads = measure_.threads;
  how.disturbed = [this] { return is_disturbed(); };
  const bool is_small = bytes <= kMostBytes;
  if (!is_small) how.loads = 1;
  search::settle_by_duels(
      measured,
      [&](size_t way) -> std::function<void()> {
        if (is_small && loaded_.size() > 1) begin_anew();
        Loaded& each = loaded(plans[numbers[way]]);
        LUMINAL_CHECK(!each.rejected, "a plan that ran: {}", each.rejected->detail);
        return [&each] { each.run(); };
      },
      how);
} catch (const Error& error) {
  support::log_warn("search: plans could not be compared again: {}", error.what());
  measured.unreliable = true;
}

bool PlanBench::is_disturbed() const {
  // A model of a machine has a clock of its own, and nothing to do with this one.
  if (measure_.clock) return false;
  std::this_thread::sleep_for(std::chrono::duration<double>(others_.seconds_to_know()));
  return others_.disturbs(threads_of(options_), search::usable_processors());
}

search::Tried PlanBench::try_out(const std::vector<std::string>& plans) {
  search::Tried tried;
  tried.results.resize(plans.size());
  std::vector<std::function<void()>> runs;
  std::vector<size_t> numbers;
  for (size_t k = 0; k < plans.size(); ++k) {
    Loaded& each = loaded(plans[k]);
    if (each.rejected) {
      tried.results[k] = *each.rejected;
      continue;
    }
    runs.emplace_back([&each] { each.run(); });
    numbers.push_back(k);
  }
  if (runs.empty()) return tried;
  search::Measured measured = search::measure_runs(runs, measure_);
  if (numbers.front() == 0) settle(plans, numbers, measured);
  measured.unreliable = measured.unreliable || is_disturbed();
  others_ = search::OtherWork(times_);
  for (size_t k = 0; k < numbers.size(); ++k) tried.results[numbers[k]] = measured.timings[k];
  tried.unreliable = measured.unreliable;
  return tried;
}

}  // namespace luminal::compiler
