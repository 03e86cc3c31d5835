#include "luminal/compiler/search_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/kernel_tuning.h"
#include "luminal/compiler/measured_costs.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/compiler/remembered_plan.h"
#include "luminal/compiler/search_machines.h"
#include "luminal/compiler/structure_set.h"
#include "luminal/graph/query.h"
#include "luminal/search/interrupt.h"
#include "luminal/search/kernel_space.h"
#include "luminal/search/refusal.h"
#include "luminal/search/trial_time.h"
#include "luminal/support/log.h"
#include "luminal/support/progress.h"
#include "luminal/support/trace.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::compiler {
namespace {

using search::TunedChoice;
using Clock = std::chrono::steady_clock;

/// How far searches go: kernels of the best structures are tuned in steps, so that the first
/// kernels do not use up the time of the others.
constexpr size_t kTrials[] = {6, 16, 48, 200};
constexpr size_t kDeepened = 3;
constexpr size_t kFinalists = 3;
/// What part of the time is kept for timing whole plans: as much as comparing takes in so many
/// runs, within limits.
constexpr double kLeastForFinalists = 0.2;
constexpr double kMostForFinalists = 0.5;
constexpr double kRunsOfFinalists = 60;
/// Runs of each of them, at least; and about as many of kernels that nothing is known of yet.
constexpr double kRunsOfPlan = 15;
/// What making data of a plan and comparing its results take, for every byte of them.
constexpr double kSecondsOfDataPerByte = 2e-9;
/// Plans of which a run takes longer are compared with the plan of the cost model only if they are
/// the best: loading each of them takes seconds.
constexpr double kLongRun = 20'000;
/// Seconds that plans are compared for after an interrupt: who interrupts a search waits.
constexpr double kHurry = 4;
/// When nothing more is begun: what is in flight then has to end, and the plan to be written.
constexpr double kEnd = 0.97;
/// When no more structures are begun: the rest is for schedules of the best.
constexpr double kForStructures = 0.5;
/// A structure whose kernels take so much longer than the best one is given up.
constexpr double kHopeless = 1.1;
/// How many other ways to share launches are timed, of those that join more and of those that join
/// less.
constexpr size_t kOtherLaunches = 2;
/// Launches that make less of a run cannot be told from noise (search/duel.h).
constexpr double kLeastOfLaunches = 0.01;

/// What making data of a graph for whole plans, and comparing what they give, takes about.
double seconds_of_data(const graph::Graph& graph, const graph::DimValues& dims) {
  const graph::GraphStatistics counted = graph::statistics(graph);
  const symbolic::Values values(dims.begin(), dims.end());
  const int64_t bytes = symbolic::evaluate(counted.input_bytes + counted.output_bytes, values);
  const double seconds = kSecondsOfDataPerByte * static_cast<double>(bytes);
  return seconds < search::kLeastDataSeconds ? 0.0 : seconds;
}

class PlanSearch {
 public:
  PlanSearch(const graph::Graph& graph, const Options& options, const SearchOptions& search,
             const SearchPart& part, FoundDefinitions* found)
      : graph_(graph),
        options_(options),
        search_(with_seconds(search, part.seconds)),
        part_(part),
        found_(found != nullptr ? found : &own_found_),
        database_(search.database != nullptr ? *search.database
                                             : search::default_tuning_database()),
        session_(database_),
        machine_(options.machine.value_or(kernel::Machine::cpu(threads_of(options)))),
        device_(search::device_text(options.target.value_or(codegen::host_target()),
                                    threads_of(options))),
        data_seconds_(seconds_of_data(graph, typical_dims(graph, options))),
        progress_(search_.progress && search_.seconds > 0
                      ? std::make_unique<support::Progress>("search")
                      : nullptr),
        tuning_(
            database_, device_, search_,
            [this] { return !may_measure(1.0 - part_for_finalists()); },
            [this](const std::string& label, const search::TuneProgress& each) {
              show(label, each);
            },
            [this] { return seconds_for_kernels(); }) {
    if (progress_) progress_->set_budget(search_.seconds);
    if (search.interruptible) watch_.emplace();
  }

  SearchedPlan run() {
    if (auto before = recalled()) return std::move(*before);
    for (const size_t kernel : structures_.front().kernels) tuning_.tune(kernel, 1);
    // Schedules first: most is gained there, and structures are compared by the best times.
    deepen(std::min(kTrials[0], search_.most_trials));
    calibrate();
    for (int k = 0; k < search_.structures && may_explore(); ++k) explore(k);
    for (const size_t trials : kTrials) {
      deepen(std::min(trials, search_.most_trials));
      if (trials >= search_.most_trials) break;
    }
    note_works();
    explore_launches();
    SearchedPlan result{finish(), {}};
    result.report = report();
    if (search_.seconds > 0) remember(result.report);
    return result;
  }

 private:
  // ---- Time.

  static SearchOptions with_seconds(SearchOptions search, double seconds) {
    search.seconds = seconds;
    return search;
  }
  /// After an interrupt.
  double hurry() const { return kHurry / static_cast<double>(part_.plans); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool is_stopped() const {
    return (search_.cancel != nullptr && search_.cancel->load()) ||
           (watch_ && search::InterruptWatch::was_interrupted());
  }
  bool may_measure(double part) const {
    return search_.seconds > 0 && elapsed() < part * search_.seconds && !is_stopped();
  }
  /// Of the time, for comparing whole plans.
  double part_for_finalists() const {
    const double run = structures_.known_part(structures_.front()) * 1e-6;
    const double wanted = kRunsOfFinalists * run + data_seconds_;
    return std::clamp(wanted / std::max(search_.seconds, 1e-9), kLeastForFinalists,
                      kMostForFinalists);
  }
  double seconds_for_kernels() const {
    return (1.0 - part_for_finalists()) * search_.seconds - elapsed();
  }
  /// How plans are timed: neither a short search nor one that was interrupted spends seconds on it.
  search::MeasureOptions plan_timing(bool is_hurried) const {
    constexpr double kShare = 0.25;
    constexpr double kLeast = 0.1;
    constexpr double kMost = 1.5;
    const double seconds = kShare * part_for_finalists() * search_.seconds;
    const double most = is_hurried ? std::max(hurry() / 8, kLeast) : kMost;
    return {.seconds = std::clamp(seconds, kLeast, most), .least_samples = 3, .sample_us = 1000};
  }
  /// Structures cost time, too, but what is found without measuring must not depend on the clock.
  bool may_explore() const {
    if (search_.seconds <= 0) return !is_stopped();
    // A structure is of new kernels mostly, of which nobody knows how long they take.
    const double run = structures_.known_part(structures_.front()) * 1e-6;
    return may_measure(kForStructures) && kRunsOfPlan * run <= seconds_for_kernels();
  }

  void show(const std::string& label, const search::TuneProgress& each) {
    if (!progress_) return;
    progress_->set_status(fmt::format("{}; {} tried, {} rejected of {}", best_text(), each.tried,
                                      each.rejected, label));
  }

  /// The best so far, as soon as all kernels of a plan have times.
  std::string best_text() const {
    const double first = structures_.total(structures_.front(), true);
    if (!std::isfinite(first)) return "first times";
    return fmt::format("best {:.1f} us, at first {:.1f}", structures_.best_total(), first);
  }

  void show_comparing(size_t plans) {
    if (!progress_) return;
    progress_->set_status(fmt::format("{}; comparing {} plans", best_text(), plans));
  }

  // ---- What was found before.

  /// What the result of a search is kept by: all that it follows from but the times.
  search::TuningKey result_key(support::Hash128 choice) const {
    support::Hasher hasher;
    hasher.add(choice).add(search_.seed).add(search_.strategy).add(search_.most_trials);
    hasher.add(search_.structures).add(options_.reassociate).add(options_.round_each);
    search::KernelTask task;
    task.text = fmt::format("search {}", support::to_hex(hasher.finish128()));
    task.options.dims = typical_dims(graph_, options_);
    return task.key(device_);
  }

  /// What an earlier search ended with, if this one could not go on from there or has no time to.
  /// Else the first draft is that of the cost model, and what was found before one of the others.
  std::optional<SearchedPlan> recalled() {
    std::optional<RememberedPlan> before;
    PlanDraft draft(graph_, options_, found_, nullptr,
                    [&](support::Hash128 key) -> std::optional<std::string> {
                      const auto text = database_.recall(result_key(key));
                      if (text) before = parse_remembered(*text);
                      if (!before || !is_enough(*before)) return std::nullopt;
                      return before->choice;
                    });
    choice_key_ = draft.choice_key();
    if (!draft.is_recalled()) {
      structures_.add(std::move(draft));
      if (before) keep_before(*before);
      return std::nullopt;
    }
    if (!still_holds(*before, draft)) {
      structures_.add(PlanDraft(graph_, options_, found_));
      keep_before(*before);
      return std::nullopt;
    }
    SearchedPlan result{{}, std::move(before->report)};
    result.report.recalled = true;
    for (RememberedSchedule& each : before->schedules) {
      draft.kernels().set_schedule(each.kernel, each.schedule);
      result.report.gains.push_back({draft.kernels().label(each.kernel), std::move(each.schedule),
                                     each.default_us, each.best_us, draft.uses()[each.kernel]});
    }
    sort_gains(result.report.gains);
    result.plan = draft.finish();
    return result;
  }

  /// A plan that was proved quicker stays until another one is. A better schedule of one of its
  /// kernels makes another plan, of which nothing is known as a whole.
  void keep_before(const RememberedPlan& before) {
    if (!structures_.contains(before.draft)) {
      PlanDraft draft = draft_of(before.choice);
      if (!draft.is_recalled() || draft.structure() != before.draft) return;
      structures_.add(std::move(draft));
    }
    Finalist finalist = structures_.plain(before.draft);
    for (const RememberedSchedule& each : before.schedules) {
      if (each.kernel >= finalist.schedules.size()) return;
      finalist.schedules[each.kernel] = each.schedule;
    }
    finalist.from_before = finalist.is_tuned();
    before_ = std::move(finalist);
  }

  /// The structure that a choice stands for.
  PlanDraft draft_of(const std::string& choice) const {
    return {graph_, options_, found_, nullptr,
            [&](support::Hash128) { return std::optional(choice); }};
  }

  /// Whether there is nothing left to try, or no more time for it than was spent already.
  bool is_enough(const RememberedPlan& before) {
    seconds_before_ = before.seconds;
    const bool is_spent = !search_.go_on && part_.share <= before.seconds;
    return before.report.finished || search_.seconds <= 0 || is_spent;
  }

  /// Whether the draft is the one that was remembered, and no better schedules became known since.
  bool still_holds(const RememberedPlan& before, const PlanDraft& draft) const {
    if (draft.structure() != before.draft) return false;
    const size_t count = draft.kernels().size();
    for (const RememberedSchedule& each : before.schedules)
      if (each.kernel >= count) return false;
    KernelTuning known(database_, device_, search_, nullptr, nullptr);
    std::vector<size_t> kernels;
    for (size_t k = 0; k < count; ++k) kernels.push_back(known.add(draft.kernels().task(k)));
    return best_schedules(known, kernels) == before.best;
  }

  static support::Hash128 best_schedules(const KernelTuning& tuning,
                                         const std::vector<size_t>& kernels) {
    support::Hasher hasher;
    for (const size_t kernel : kernels)
      hasher.add(std::string_view(tuning.choice(kernel).schedule));
    return hasher.finish128();
  }

  void remember(const SearchReport& report) {
    const Structure& structure = structures_[chosen_.structure];
    RememberedPlan result;
    result.choice = structure.choice;
    result.draft = structure.id;
    result.best = best_schedules(tuning_, structure.kernels);
    for (size_t k = 0; k < structure.kernels.size(); ++k) {
      if (chosen_.schedules[k].empty()) continue;
      const TunedChoice choice = choice_of(structure.kernels[k], chosen_.schedules[k]);
      result.schedules.push_back({k, choice.default_us, choice.best_us, choice.schedule});
    }
    result.report = report;
    // What was disturbed is worth another search.
    const bool undisturbed =
        !report.interrupted && !report.unreliable && !is_refused_ && !tuning_.was_refused();
    result.report.finished = report.finished && undisturbed;
    const bool is_spent = !report.finished && undisturbed;
    result.seconds = seconds_before_ + (is_spent ? std::max(part_.seconds, part_.share) : 0.0);
    database_.remember(result_key(choice_key_), to_text(result));
  }

  // ---- Structures.

  /// What a search without measurements finds must not depend on how often it ran.
  void note_works() {
    if (search_.seconds > 0) compiler::note_works(database_, tuning_, options_, machine_);
  }

  void calibrate() {
    note_works();
    const search::Calibration calibration = search::calibrated(
        search::known_works(database_, device_, search::compiler_text()), machine_);
    fitted_ = calibration.machine;
    tuning_.set_machine(fitted_);
    structures_.set_launch_cost(fitted_.launch_us);
    report_.model = calibration.before;
    report_.fitted_model = calibration.after;
  }

  /// One more structure, with the kernels that are new in it measured.
  void explore(int number) {
    const support::TraceSpan span("search", "another structure");
    const Options options = exploring(options_, fitted_, search_.seed, number);
    const MeasuredCosts costs(database_, device_, options, *options.machine);
    PlanDraft draft(graph_, options, found_, &costs);
    if (structures_.contains(draft.structure())) return;
    structures_.add(std::move(draft));
    const double best = structures_.best_total();
    for (const size_t kernel : structures_.back().kernels) {
      const Structure& added = structures_.back();
      if (structures_.known_part(added) - structures_.saved(added) > kHopeless * best) return;
      tuning_.tune(kernel, 1);
    }
  }

  /// Tunes the kernels of the best structures, those first that a run spends most time in.
  void deepen(size_t trials) {
    for (const size_t number : structures_.ranked(kDeepened)) {
      const Structure& structure = structures_[number];
      std::vector<std::pair<double, size_t>> order;
      for (const size_t kernel : structure.kernels)
        if (structures_.is_worth_trials(structure, kernel))
          order.emplace_back(-structures_.time_in(structure, kernel), kernel);
      std::sort(order.begin(), order.end());
      for (const auto& [time, kernel] : order) tuning_.tune(kernel, trials);
    }
  }

  /// The best structure with other launches: its kernels are known, so nothing is measured here.
  void explore_launches() {
    if (search_.structures <= 0 || (search_.seconds > 0 ? !may_measure(1.0) : is_stopped())) return;
    const support::TraceSpan span("search", "other launches");
    const size_t number = structures_.ranked(1).front();
    const double total = structures_.total(structures_[number]);
    if (!std::isfinite(total) || total > kLongRun) return;
    std::vector<OtherLaunches> others = structures_[number].draft.other_launches();
    std::erase_if(others, [&](const OtherLaunches& each) {
      return std::abs(each.saved) * fitted_.launch_us < kLeastOfLaunches * total;
    });
    std::stable_sort(
        others.begin(), others.end(),
        [](const OtherLaunches& a, const OtherLaunches& b) { return a.saved > b.saved; });
    size_t joined = 0;
    size_t split = 0;
    for (const OtherLaunches& each : others) {
      size_t& taken = each.saved > 0 ? joined : split;
      if (taken == kOtherLaunches) continue;
      PlanDraft draft = draft_of(each.choice);
      if (!draft.is_recalled() || structures_.contains(draft.structure())) continue;
      structures_.add_launches(number, each.how, std::move(draft));
      ++taken;
    }
  }

  // ---- Whole plans.

  Plan built(const Finalist& finalist) {
    // A draft gives one plan, and the first structure and that of an earlier search may be asked
    // for more.
    Structure& structure = structures_[finalist.structure];
    if (!used_.insert(finalist.structure).second) {
      const bool is_first = finalist.structure == 0;
      structure.draft = is_first ? PlanDraft(graph_, options_, found_) : draft_of(structure.choice);
    }
    for (size_t k = 0; k < finalist.schedules.size(); ++k)
      if (!finalist.schedules[k].empty())
        structure.draft.kernels().set_schedule(k, finalist.schedules[k]);
    return structure.draft.finish();
  }

  bool has_side_effects() const {
    return std::any_of(graph_.nodes().begin(), graph_.nodes().end(),
                       [](const graph::Node& node) { return node.op == graph::Op::kCustom; });
  }

  /// The quickest of the finalists; the first one, of the cost model, unless another is clearly
  /// quicker.
  Plan finish() {
    const support::TraceSpan span("search", "compare whole plans");
    const bool is_long = structures_.known_part(structures_.front()) > kLongRun;
    // Who interrupts a search wants its result soon, but the best.
    const bool is_hurried = is_stopped();
    std::vector<Finalist> all = structures_.finalists(is_long || is_hurried ? 1 : kFinalists);
    const auto is_before = [&](const Finalist& each) { return each.name() == before_->name(); };
    if (before_ && std::none_of(all.begin(), all.end(), is_before)) all.push_back(*before_);
    show_comparing(all.size());
    std::vector<std::string> names;
    for (const Finalist& each : all) names.push_back(each.name());
    const auto plan_of = [&](const std::string& name) -> const Plan& {
      const auto place = std::find(names.begin(), names.end(), name) - names.begin();
      auto& plan = plans_[name];
      if (!plan) plan = built(all[static_cast<size_t>(place)]);
      return *plan;
    };
    std::string winner = names.front();
    if (!has_side_effects()) {
      const search::TuningKey key = plan_key();
      if (search_.seconds > 0)
        database_.add_kernel(key.kernel, fmt::format("plan {}", all[0].structure_text),
                             "a whole plan");
      const auto bench = search_.tools.plans ? search_.tools.plans(plan_of)
                                             : std::make_unique<PlanBench>(plan_of, options_,
                                                                           plan_timing(is_hurried));
      const search::ListedSpace space(names);
      search::TuneOptions how;
      how.strategy = search::StrategyKind::kCostModel;
      how.most_trials = std::numeric_limits<size_t>::max();
      // Comparing is what the time was kept for, and the least that a search does: however long a
      // kernel took, the plan of the cost model is timed. A search that is interrupted compares
      // what it has found, if that is anything.
      how.stop = [this, is_first = search_.seconds > 0, count = all.size()]() mutable {
        return std::exchange(is_first, false) ? is_stopped() && count == 1 : !may_measure(kEnd);
      };
      // Where a run takes so long that nothing can be compared, no plan is run at all.
      bool is_timed = false;
      how.seconds_left = [&] {
        if (is_hurried) return is_timed ? 0.0 : hurry();
        const double left = kEnd * search_.seconds - elapsed();
        return is_timed ? left : std::max(left, kLeastForFinalists * search_.seconds);
      };
      how.seconds_per_way =
          kRunsOfPlan * structures_.known_part(structures_.front()) * 1e-6 + data_seconds_;
      how.keep_disturbed = false;
      how.on_trial = [&](const search::TuningRecord& record) {
        is_timed = true;
        const auto place = std::find(names.begin(), names.end(), record.schedule) - names.begin();
        tell(record, all[static_cast<size_t>(place)].title(), place == 0);
      };
      search::TuneResult result;
      const auto why =
          search::refusal_of([&] { result = search::tune(database_, key, space, *bench, how); });
      if (why) support::log_warn("search: plans could not be compared: {}", *why);
      is_refused_ = why.has_value();
      report_.unreliable = report_.unreliable || result.unreliable;
      winner = compared(names, key, result);
      finished_plans_ = result.finished;
    }
    const auto place = std::find(names.begin(), names.end(), winner) - names.begin();
    chosen_ = all[static_cast<size_t>(place)];
    note_gains(chosen_);
    report_.trials = structures_.trials(all, static_cast<size_t>(place), database_, plan_key());
    return with_plain_estimates(chosen_, plan_of(winner));
  }

  /// The plan as it will be recalled: estimates are those of the machine as it is thought to be,
  /// not of the guess that led to its structure.
  Plan with_plain_estimates(const Finalist& finalist, const Plan& plan) {
    if (finalist.structure == 0) return plan;
    const Structure& structure = structures_[finalist.structure];
    PlanDraft draft = draft_of(structure.choice);
    if (draft.structure() != structure.id) return plan;
    for (size_t k = 0; k < finalist.schedules.size(); ++k)
      if (!finalist.schedules[k].empty()) draft.kernels().set_schedule(k, finalist.schedules[k]);
    return draft.finish();
  }

  void tell(const search::TuningRecord& plan, const std::string& title, bool is_default) const {
    if (!search_.on_trial) return;
    search_.on_trial({"a whole plan", support::to_hex(plan.key.kernel), plan.key.shapes, title,
                      is_default, false, plan.result});
  }

  /// The best of plans by their times, which are told.
  std::string compared(const std::vector<std::string>& names, const search::TuningKey& key,
                       const search::TuneResult& result) {
    std::vector<search::TuningRecord> records = database_.records(key);
    std::erase_if(records, [&](const search::TuningRecord& record) {
      return std::find(names.begin(), names.end(), record.schedule) == names.end();
    });
    // What is kept was not disturbed.
    TunedChoice choice = search::choose(records, names.front());
    // Without a time of the first there is nothing to say that another is no slower.
    const bool is_proved = choice.default_us > 0 && choice.schedule != names.front();
    if (result.unreliable && !is_proved) {
      // Nobody knows which one is quicker.
      choice = result.choice;
      choice.best_us = choice.default_us;
    }
    report_.fast_us = choice.default_us;
    report_.best_us = choice.best_us;
    return is_proved ? choice.schedule : names.front();
  }

  search::TuningKey plan_key() const {
    search::KernelTask task;
    task.text = fmt::format("plan {}", support::to_hex(structures_.front().id));
    task.options.dims = typical_dims(graph_, options_);
    return task.key(device_);
  }

  // ---- What is told.

  void note_gains(const Finalist& chosen) {
    const Structure& structure = structures_[chosen.structure];
    for (size_t k = 0; k < structure.kernels.size(); ++k) {
      if (chosen.schedules[k].empty()) continue;
      const TunedChoice choice = choice_of(structure.kernels[k], chosen.schedules[k]);
      report_.gains.push_back({tuning_.task(structure.kernels[k]).label, choice.schedule,
                               choice.default_us, choice.best_us, structure.draft.uses()[k]});
    }
    sort_gains(report_.gains);
  }

  /// What is known of a kernel as if a schedule were the best: that of an earlier search need not
  /// be.
  TunedChoice choice_of(size_t kernel, const std::string& schedule) const {
    TunedChoice choice = tuning_.choice(kernel);
    if (choice.schedule == schedule) return choice;
    choice.schedule = schedule;
    const auto known = database_.find(tuning_.key(kernel), schedule);
    const auto* timing = known ? std::get_if<search::Timing>(&*known) : nullptr;
    choice.best_us = timing != nullptr ? timing->median_us : choice.default_us;
    return choice;
  }

  /// The largest first.
  static void sort_gains(std::vector<KernelGain>& gains) {
    std::stable_sort(gains.begin(), gains.end(), [](const KernelGain& a, const KernelGain& b) {
      return a.uses * (a.default_us - a.best_us) > b.uses * (b.default_us - b.best_us);
    });
  }

  /// Whether kernels that a run spends much time in were disturbed. One batch of hundreds always
  /// is, on a quiet machine too.
  bool kernels_unreliable() const {
    constexpr double kMuch = 0.1;
    const Structure& structure = structures_[chosen_.structure];
    double disturbed = 0;
    const std::set<size_t> kernels(structure.kernels.begin(), structure.kernels.end());
    for (const size_t kernel : kernels)
      if (tuning_.is_unreliable(kernel)) disturbed += structures_.time_in(structure, kernel);
    return disturbed > kMuch * structures_.known_part(structure);
  }

  SearchReport report() {
    SearchReport result = std::move(report_);
    result.structures = structures_.size();
    result.kernels = tuning_.size();
    result.measured = tuning_.measured();
    result.known = tuning_.known();
    bool finished = finished_plans_;
    for (size_t k = 0; k < tuning_.size(); ++k) result.rejected += tuning_.choice(k).rejected;
    for (const size_t kernel : structures_.front().kernels)
      finished = finished && tuning_.is_finished(kernel, 1);
    for (const size_t number : structures_.ranked(kDeepened))
      for (const size_t kernel : structures_[number].kernels)
        finished = finished && (tuning_.is_finished(kernel, search_.most_trials) ||
                                !structures_.is_worth_trials(structures_[number], kernel));
    result.finished = finished;
    result.interrupted = is_stopped();
    if (result.interrupted && progress_) progress_->set_interrupted();
    result.unreliable = result.unreliable || kernels_unreliable();
    if (result.unreliable)
      support::log_warn(
          "search: other work on this machine disturbed the times; search again when "
          "it is quiet");
    return result;
  }

  const graph::Graph& graph_;
  const Options& options_;
  const SearchOptions search_;
  const SearchPart part_;
  FoundDefinitions own_found_;
  FoundDefinitions* found_;
  search::TuningDatabase& database_;
  search::TuningSession session_;  // all that was found must not be lost to a full disk
  kernel::Machine machine_;
  kernel::Machine fitted_;
  std::string device_;
  double data_seconds_;
  Clock::time_point begin_ = Clock::now();
  std::optional<search::InterruptWatch> watch_;
  std::unique_ptr<support::Progress> progress_;
  KernelTuning tuning_;
  StructureSet structures_{tuning_};
  std::set<size_t> used_;  // structures whose draft has become a plan
  std::map<std::string, std::optional<Plan>> plans_;
  std::optional<Finalist> before_;  // what an earlier search found
  Finalist chosen_;
  support::Hash128 choice_key_;
  double seconds_before_ = 0;  // RememberedPlan::seconds of earlier searches
  SearchReport report_;
  bool finished_plans_ = true;
  bool is_refused_ = false;  // the machine did not let plans be compared
};

}  // namespace

SearchPart next_part(double seconds, double elapsed, size_t plans, size_t done) {
  // With no time at all it would go by what is known, and not be remembered.
  constexpr double kLeast = 1e-3;
  const double share = seconds / static_cast<double>(plans);
  const double left = (seconds - elapsed) / static_cast<double>(plans - std::min(done, plans - 1));
  return {std::max(left, kLeast * share), share, plans};
}

SearchedPlan search_plan(const graph::Graph& graph, const Options& options,
                         const SearchOptions& search, FoundDefinitions* found,
                         const std::optional<SearchPart>& part) {
  return PlanSearch(graph, options, search,
                    part.value_or(SearchPart{search.seconds, search.seconds, 1}), found)
      .run();
}

}  // namespace luminal::compiler
