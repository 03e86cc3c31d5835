#include "luminal/compiler/search_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/kernel_tuning.h"
#include "luminal/compiler/measured_costs.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/compiler/plan_contest.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/compiler/search_history.h"
#include "luminal/compiler/search_machines.h"
#include "luminal/compiler/searched_program.h"
#include "luminal/compiler/structure_set.h"
#include "luminal/support/log.h"
#include "luminal/support/progress.h"
#include "luminal/support/trace.h"

namespace luminal::compiler {
namespace {

/// How far searches go: kernels of the best structures are tuned in steps, so that the first
/// kernels do not use up the time of the others.
constexpr size_t kTrials[] = {6, 16, 48, 200};
constexpr size_t kDeepened = 3;
/// A structure whose kernels take so much longer than the best one is given up.
constexpr double kHopeless = 1.1;
/// How many other ways to share launches are timed, of those that join more and of those that join
/// less.
constexpr size_t kOtherLaunches = 2;
/// Launches that make less of a run cannot be told from noise (search/duel.h).
constexpr double kLeastOfLaunches = 0.01;

class PlanSearch {
 public:
  PlanSearch(const graph::Graph& graph, const Options& options, const SearchOptions& search,
             const SearchPart& part, FoundDefinitions* found)
      : search_(with_seconds(search, part.seconds)),
        program_{graph,
                 options,
                 search_,
                 found != nullptr ? found : &own_found_,
                 search.database != nullptr ? *search.database : search::default_tuning_database(),
                 search::device_text(options.target.value_or(codegen::host_target()),
                                     threads_of(options))},
        session_(program_.database),
        machine_(options.machine.value_or(kernel::Machine::cpu(threads_of(options)))),
        time_(search_, part, seconds_of_data(graph, typical_dims(graph, options)),
              [this] { return known_run_us(); }),
        history_(program_, part),
        progress_(search_.progress && search_.seconds > 0
                      ? std::make_unique<support::Progress>("search")
                      : nullptr),
        tuning_(
            program_.database, program_.device, search_, [this] { return !time_.may_tune(); },
            [this](const std::string& label, const search::TuneProgress& each) {
              show(label, each);
            },
            [this] { return time_.seconds_for_kernels(); }) {
    if (progress_) progress_->set_budget(search_.seconds);
  }

  SearchedPlan run() {
    if (auto before = history_.recall(structures_)) return std::move(*before);
    for (const size_t kernel : structures_.front().kernels) tuning_.tune(kernel, 1);
    // Schedules first: most is gained there, and structures are compared by the best times.
    deepen(std::min(kTrials[0], search_.most_trials));
    calibrate();
    for (int k = 0; k < search_.structures && explored_all_; ++k) {
      explored_all_ = time_.may_explore();
      if (explored_all_) explore(k);
    }
    for (const size_t trials : kTrials) {
      deepen(std::min(trials, search_.most_trials));
      if (trials >= search_.most_trials) break;
    }
    // What takes too long for the time there is must not be in the way of anything else.
    for_best_kernels([&](size_t kernel) { tuning_.retry_interrupted(kernel); });
    note_works();
    explore_launches();
    ContestResult contest = compare_plans();
    SearchedPlan result{std::move(contest.plan), report(contest)};
    // What is known to be wrong is for the next search to find something better than.
    if (search_.seconds > 0 && result.report.fault.empty())
      history_.remember(result.report, structures_[contest.winner.structure], contest.winner,
                        tuning_, contest.was_refused || tuning_.was_refused());
    return result;
  }

 private:
  static SearchOptions with_seconds(SearchOptions search, double seconds) {
    search.seconds = seconds;
    return search;
  }

  // ---- Structures.

  /// What a search without measurements finds must not depend on how often it ran.
  void note_works() {
    if (search_.seconds > 0)
      compiler::note_works(program_.database, tuning_, program_.options, machine_);
  }

  void calibrate() {
    note_works();
    calibration_ = search::calibrated(
        search::known_works(program_.database, program_.device, search::compiler_text()), machine_);
    tuning_.set_machine(calibration_.machine);
    structures_.set_launch_cost(calibration_.machine.launch_us);
  }

  /// One more structure, with the kernels that are new in it measured.
  void explore(int number) {
    const support::TraceSpan span("search", "another structure");
    const Options options = exploring(program_.options, calibration_.machine, search_.seed, number);
    const MeasuredCosts costs(program_.database, program_.device, options, *options.machine);
    PlanDraft draft(program_.graph, options, program_.found, &costs);
    if (structures_.contains(draft.structure())) return;
    structures_.add(std::move(draft));
    const double best = structures_.best_total();
    for (const size_t kernel : structures_.back().kernels) {
      const Structure& added = structures_.back();
      if (structures_.known_part(added) - structures_.saved(added) > kHopeless * best) return;
      tuning_.tune(kernel, 1);
      measured_all_ = measured_all_ && tuning_.is_finished(kernel, 1);
    }
  }

  void deepen(size_t trials) {
    for_best_kernels([&](size_t kernel) { tuning_.tune(kernel, trials); });
  }

  /// For kernels of the best structures, those first without which there is no plan, then those
  /// that a run spends most time in.
  void for_best_kernels(const std::function<void(size_t)>& action) {
    for (const size_t number : structures_.ranked(kDeepened)) {
      const Structure& structure = structures_[number];
      std::vector<std::tuple<bool, double, size_t>> order;
      for (const size_t kernel : structure.kernels)
        if (structures_.is_worth_trials(structure, kernel))
          order.emplace_back(!structures_.needs_another(kernel),
                             -structures_.time_in(structure, kernel), kernel);
      std::sort(order.begin(), order.end());
      for (const auto& [is_known, time, kernel] : order) action(kernel);
    }
  }

  /// The best structure with other launches: its kernels are known, so nothing is measured here.
  void explore_launches() {
    if (search_.structures <= 0) return;
    if (!time_.may_explore_launches()) {
      explored_all_ = false;
      return;
    }
    const support::TraceSpan span("search", "other launches");
    const size_t number = structures_.ranked(1).front();
    const double total = structures_.total(structures_[number]);
    if (!std::isfinite(total) || total > kLongRun) return;
    std::vector<OtherLaunches> others = structures_[number].draft.other_launches();
    std::erase_if(others, [&](const OtherLaunches& each) {
      return std::abs(each.saved) * calibration_.machine.launch_us < kLeastOfLaunches * total;
    });
    std::stable_sort(
        others.begin(), others.end(),
        [](const OtherLaunches& a, const OtherLaunches& b) { return a.saved > b.saved; });
    size_t joined = 0;
    size_t split = 0;
    for (const OtherLaunches& each : others) {
      size_t& taken = each.saved > 0 ? joined : split;
      if (taken == kOtherLaunches) continue;
      PlanDraft draft = program_.draft_of(each.choice);
      if (!draft.is_recalled() || structures_.contains(draft.structure())) continue;
      structures_.add_launches(number, each.how, std::move(draft));
      ++taken;
    }
  }

  ContestResult compare_plans() {
    const support::TraceSpan span("search", "compare whole plans");
    PlanContest contest(program_, time_, structures_, history_.earlier_plan());
    show_comparing(contest.size());
    return contest.run();
  }

  // ---- What is told.

  void show(const std::string& label, const search::TuneProgress& each) {
    if (!progress_) return;
    progress_->set_status(fmt::format("{}; {} tried, {} rejected of {}", best_text(), each.tried,
                                      each.rejected, label));
  }

  /// The best so far, as soon as all kernels of a plan have times.
  std::string best_text() const {
    const double first = structures_.total(structures_.front(), true);
    if (!std::isfinite(first)) return "first times";
    return fmt::format("best {:.1f} us of {:.1f}", structures_.best_total(), first);
  }

  void show_comparing(size_t plans) {
    if (!progress_) return;
    progress_->set_status(fmt::format("{}; comparing {} plans", best_text(), plans));
  }

  /// Whether kernels that a run spends much time in were disturbed. One batch of hundreds always
  /// is, on a quiet machine too.
  bool kernels_unreliable(const Structure& structure) const {
    constexpr double kMuch = 0.1;
    double disturbed = 0;
    const std::set<size_t> kernels(structure.kernels.begin(), structure.kernels.end());
    for (const size_t kernel : kernels)
      if (tuning_.is_unreliable(kernel)) disturbed += structures_.time_in(structure, kernel);
    return disturbed > kMuch * structures_.known_part(structure);
  }

  /// Whether nothing is left to try of a kernel.
  bool is_finished(size_t kernel) const {
    return tuning_.is_finished(kernel, search_.most_trials) && !tuning_.has_interrupted(kernel);
  }

  /// Whether another search would find the same.
  bool is_finished(const ContestResult& contest) const {
    bool finished = contest.finished && explored_all_ && measured_all_;
    for (const size_t kernel : structures_.front().kernels)
      finished = finished && tuning_.is_finished(kernel, 1);
    for (const size_t number : structures_.ranked(kDeepened))
      for (const size_t kernel : structures_[number].kernels)
        finished = finished && (is_finished(kernel) ||
                                !structures_.is_worth_trials(structures_[number], kernel));
    return finished;
  }

  /// What is known of a run of the first structure, also of what takes too long to be tried.
  double known_run_us() const {
    const Structure& first = structures_.front();
    double result = structures_.known_part(first);
    for (const size_t kernel : first.kernels) result += tuning_.untried_us(kernel);
    return result;
  }

  /// Kernels of the first structure of which nothing is known: trying them did not fit.
  size_t untried() const {
    if (search_.seconds <= 0) return 0;
    const std::vector<size_t>& all = structures_.front().kernels;
    const std::set<size_t> kernels(all.begin(), all.end());
    return static_cast<size_t>(std::ranges::count_if(
        kernels, [&](size_t kernel) { return tuning_.choice(kernel).tried == 0; }));
  }

  SearchReport report(ContestResult& contest) {
    SearchReport result;
    result.fast_us = contest.fast_us;
    result.best_us = contest.best_us;
    result.structures = structures_.size();
    result.kernels = tuning_.size();
    result.measured = tuning_.measured();
    result.known = tuning_.known();
    for (size_t k = 0; k < tuning_.size(); ++k) result.rejected += tuning_.choice(k).rejected;
    result.untried = untried();
    result.model = calibration_.before;
    result.fitted_model = calibration_.after;
    result.gains = structures_.gains(contest.winner);
    result.trials = std::move(contest.trials);
    result.finished = is_finished(contest);
    result.interrupted = time_.is_stopped();
    if (result.interrupted && progress_) progress_->set_interrupted();
    result.unreliable =
        contest.unreliable || kernels_unreliable(structures_[contest.winner.structure]);
    if (result.unreliable)
      support::log_warn(
          "search: other work on this machine disturbed the times; search again when "
          "it is quiet");
    if (result.untried > 0 && result.measured + result.known == 0 && !result.interrupted)
      support::log_warn("search: nothing could be tried in {:g} s; give it a larger budget",
                        search_.seconds);
    tell_faults(contest);
    result.fault = contest.winner.fault;
    return result;
  }

  static void tell_faults(const ContestResult& contest) {
    if (!contest.winner.fault.empty())
      support::log_warn("search: the plan is known to be wrong, and no other was found: {}",
                        contest.winner.fault);
    else if (!contest.fast_fault.empty())
      support::log_warn("search: the plan of the cost model is wrong, another one is used: {}",
                        contest.fast_fault);
  }

  const SearchOptions search_;
  FoundDefinitions own_found_;
  SearchedProgram program_;
  search::TuningSession session_;  // all that was found must not be lost to a full disk
  kernel::Machine machine_;
  bool explored_all_ = true;  // structures that may be drafted were
  bool measured_all_ = true;  // kernels of these were tried, or their structure given up
  search::Calibration calibration_;
  SearchTime time_;
  SearchHistory history_;
  std::unique_ptr<support::Progress> progress_;
  KernelTuning tuning_;
  StructureSet structures_{tuning_};
};

}  // namespace

SearchedPlan search_plan(const graph::Graph& graph, const Options& options,
                         const SearchOptions& search, FoundDefinitions* found,
                         const std::optional<SearchPart>& part) {
  return PlanSearch(graph, options, search,
                    part.value_or(SearchPart{search.seconds, search.seconds, 1}), found)
      .run();
}

}  // namespace luminal::compiler
