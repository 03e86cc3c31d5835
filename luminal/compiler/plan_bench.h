// Whole plans, timed against each other by turns on the same random data.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "luminal/compiler/options.h"
#include "luminal/compiler/plan.h"
#include "luminal/graph/expected.h"
#include "luminal/graph/program.h"
#include "luminal/search/measure.h"
#include "luminal/search/other_work.h"
#include "luminal/search/tuner.h"
#include "luminal/support/error.h"

namespace luminal::compiler {

/// Data for the inputs of a graph, the same for equal arguments. Dims that are not given count as
/// `typical`. Integers are positions that are in range wherever something is gathered or scattered.
std::map<std::string, graph::Array> random_inputs(const graph::Graph& graph,
                                                  const graph::DimValues& dims, uint64_t seed);

/// Values for all dims that a graph's inputs need.
graph::DimValues typical_dims(const graph::Graph& graph, const Options& options);

/// See above. Ways are names of plans. Results of every plan are compared, element by element, with
/// those of the first one of the first batch (graph::expected_of_runs).
class PlanBench : public search::Workbench {
 public:
  /// What processors have done; tests say it themselves.
  using TellTimes = std::function<std::optional<search::ProcessorTimes>()>;
  PlanBench(std::function<Plan(const std::string&)> plan, const Options& options,
            const search::MeasureOptions& measure = {.seconds = 1.5,
                                                     .least_samples = 3,
                                                     .sample_us = 1000},
            TellTimes times = search::processor_times);
  ~PlanBench() override;

  search::Tried try_out(const std::vector<std::string>& plans) override;

 private:
  struct Loaded;
  Loaded& loaded(const std::string& name);
  void load(const std::string& name, Loaded& place);
  /// What an error says of a plan that was being loaded.
  search::Rejected failed(const Loaded& place, const UserError& error);
  /// Finds what all plans should give.
  void expect(Loaded& first, int pairs);
  /// What is wrong with what a plan gave.
  std::optional<search::Rejected> compared(const std::vector<graph::Array>& results);
  /// Those that look quicker than the first one have to prove it (search/duel.h). `numbers` says
  /// which of the plans were timed.
  void settle(const std::vector<std::string>& plans, const std::vector<size_t>& numbers,
              search::Measured& measured);
  /// Whether others used the processors since the last batch, or since the first plan was loaded.
  /// Waits until that is known: plans may be compared in less time.
  bool is_disturbed() const;
  /// Other memory for the inputs; nothing is loaded after it.
  void begin_anew();

  std::function<Plan(const std::string&)> plan_;
  const Options& options_;
  search::MeasureOptions measure_;
  TellTimes times_;
  search::OtherWork others_;
  std::map<std::string, graph::Array> inputs_;
  std::string first_;  // the first that ran
  std::vector<graph::Expected> expected_;
  bool is_sure_ = false;  // what is expected was found from many runs
  bool has_warned_ = false;
  std::map<std::string, std::unique_ptr<Loaded>> loaded_;
};

}  // namespace luminal::compiler
