#include "luminal/compiler/plan_contest.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/search/kernel_space.h"
#include "luminal/search/refusal.h"
#include "luminal/support/log.h"

namespace luminal::compiler {
namespace {

/// Structures whose best plans are timed.
constexpr size_t kFinalists = 3;

bool has_side_effects(const graph::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const graph::Node& node) { return node.op == graph::Op::kCustom; });
}

void set_schedules(PlanDraft& draft, const Finalist& finalist) {
  for (size_t k = 0; k < finalist.schedules.size(); ++k)
    if (!finalist.schedules[k].empty()) draft.kernels().set_schedule(k, finalist.schedules[k]);
}

}  // namespace

PlanContest::PlanContest(const SearchedProgram& program, const SearchTime& time,
                         StructureSet& structures, const std::optional<Finalist>& earlier_plan)
    : program_(program), time_(time), structures_(structures), is_hurried_(time.is_stopped()) {
  const bool is_long = structures.known_part(structures.front()) > kLongRun;
  std::vector<Finalist> all = structures.finalists(is_long || is_hurried_ ? 1 : kFinalists);
  const Finalist fast = all.front();
  fast_fault_ = fast.fault;
  if (earlier_plan && std::ranges::count(all, earlier_plan->name(), &Finalist::name) == 0) {
    all.push_back(*earlier_plan);
    all.back().fault = structures.fault_of(all.back());
  }
  for (Finalist& each : all)
    (each.fault.empty() ? finalists_ : left_out_).push_back(std::move(each));
  has_stand_in_ = !fast.fault.empty() && !finalists_.empty();
  if (finalists_.empty()) {
    std::erase_if(left_out_, [&](const Finalist& each) { return each.name() == fast.name(); });
    finalists_.push_back(fast);
  }
  if (has_stand_in_ && earlier_plan) {  // it was proved
    const auto known = std::ranges::find(finalists_, earlier_plan->name(), &Finalist::name);
    if (known != finalists_.end()) std::rotate(finalists_.begin(), known, known + 1);
  }
  for (const Finalist& each : finalists_) names_.push_back(each.name());
}

ContestResult PlanContest::run() {
  ContestResult result;
  const std::string winner = has_side_effects(program_.graph) ? names_.front() : timed(result);
  const size_t number = number_of(winner);
  result.winner = finalists_[number];
  result.fast_fault = fast_fault_;
  std::vector<Finalist> told = finalists_;
  told.insert(told.end(), left_out_.begin(), left_out_.end());
  result.trials = structures_.trials(told, number, program_.database, key());
  result.plan = with_plain_estimates(result.winner, plan_of(winner));
  return result;
}

std::string PlanContest::timed(ContestResult& result) {
  const search::TuningKey kept_by = key();
  if (program_.search.seconds > 0)
    program_.database.add_kernel(
        kept_by.kernel, fmt::format("plan {}", finalists_[0].structure_text), "a whole plan");
  const auto plan = [this](const std::string& name) -> const Plan& { return plan_of(name); };
  const auto bench =
      program_.search.tools.plans
          ? program_.search.tools.plans(plan)
          : std::make_unique<PlanBench>(plan, program_.options, time_.plan_timing(is_hurried_));
  const search::ListedSpace space(names_);
  bool is_first = true;
  const search::TuneOptions how = how_to_time(is_first);
  search::TuneResult tuned;
  const auto why = search::refusal_of(
      [&] { tuned = search::tune(program_.database, kept_by, space, *bench, how); });
  if (why) support::log_warn("search: plans could not be compared: {}", *why);
  result.was_refused = why.has_value();
  result.unreliable = tuned.unreliable;
  result.finished = tuned.finished;
  return best_of(tuned, result);
}

/// `is_first` is true until some plan was timed.
search::TuneOptions PlanContest::how_to_time(bool& is_first) const {
  search::TuneOptions how;
  how.strategy = search::StrategyKind::kCostModel;
  how.most_trials = std::numeric_limits<size_t>::max();
  // Comparing is what the time was kept for, and the least that a search does: however long a
  // kernel took, the plan of the cost model is timed. A search that is interrupted compares what it
  // has found, if that is anything.
  how.stop = [this, is_begin = program_.search.seconds > 0]() mutable {
    return std::exchange(is_begin, false) ? time_.is_stopped() && size() == 1
                                          : !time_.may_compare();
  };
  // Where a run takes so long that nothing can be compared, no plan is run at all.
  how.seconds_left = [this, &is_first] { return time_.seconds_for_plans(is_hurried_, is_first); };
  how.seconds_per_way = time_.seconds_per_plan();
  how.keep_disturbed = false;
  how.on_trial = [this, &is_first](const search::TuningRecord& record) {
    is_first = false;
    tell(record);
  };
  return how;
}

std::string PlanContest::best_of(const search::TuneResult& tuned, ContestResult& result) const {
  std::vector<search::TuningRecord> records = program_.database.records(key());
  std::erase_if(records, [&](const search::TuningRecord& record) {
    return std::ranges::count(names_, record.schedule) == 0;
  });
  // What is kept was not disturbed.
  search::TunedChoice choice = search::choose(records, names_.front());
  // A plan that only stands in for that of the cost model, and fails, gives way to whatever works.
  const bool has_failed = has_stand_in_ && std::ranges::any_of(records, [&](const auto& record) {
                            return record.schedule == names_.front() &&
                                   std::holds_alternative<search::Rejected>(record.result);
                          });
  // Else, without a time of the first, there is nothing to say that another is no slower.
  const bool is_proved = choice.schedule != names_.front() && !choice.schedule.empty() &&
                         (choice.default_us > 0 || has_failed);
  // Nothing was kept: nobody knows which one is quicker, and the time is what it was just now.
  if (tuned.unreliable && !is_proved && choice.default_us == 0) choice = tuned.choice;
  result.fast_us = has_stand_in_ ? 0.0 : choice.default_us;
  result.best_us = is_proved ? choice.best_us : choice.default_us;
  return is_proved ? choice.schedule : names_.front();
}

search::TuningKey PlanContest::key() const {
  const std::string text = fmt::format("plan {}", support::to_hex(structures_.front().id));
  // Times are parts of what the first takes.
  return program_.key(has_stand_in_ ? fmt::format("{} by {}", text, names_.front()) : text);
}

size_t PlanContest::number_of(const std::string& name) const {
  return static_cast<size_t>(std::ranges::find(names_, name) - names_.begin());
}

const Plan& PlanContest::plan_of(const std::string& name) {
  const auto known = plans_.find(name);
  if (known != plans_.end()) return known->second;
  return plans_.emplace(name, built(finalists_[number_of(name)])).first->second;
}

Plan PlanContest::built(const Finalist& finalist) {
  // A draft gives one plan, and the first structure and that of an earlier search may be asked for
  // more.
  Structure& structure = structures_[finalist.structure];
  if (!used_.insert(finalist.structure).second) {
    const bool is_first = finalist.structure == 0;
    structure.draft = is_first ? program_.first_draft() : program_.draft_of(structure.choice);
  }
  set_schedules(structure.draft, finalist);
  return structure.draft.finish();
}

/// The plan as it will be recalled: estimates are those of the machine as it is thought to be, not
/// of the guess that led to its structure.
Plan PlanContest::with_plain_estimates(const Finalist& finalist, const Plan& plan) const {
  if (finalist.structure == 0) return plan;
  const Structure& structure = structures_[finalist.structure];
  PlanDraft draft = program_.draft_of(structure.choice);
  if (draft.structure() != structure.id) return plan;
  set_schedules(draft, finalist);
  return draft.finish();
}

void PlanContest::tell(const search::TuningRecord& plan) const {
  if (!program_.search.on_trial) return;
  const size_t number = number_of(plan.schedule);
  program_.search.on_trial({"a whole plan", support::to_hex(plan.key.kernel), plan.key.shapes,
                            finalists_[number].title(), number == 0, false, plan.result});
}

}  // namespace luminal::compiler
