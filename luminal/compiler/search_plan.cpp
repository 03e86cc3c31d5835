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

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/compiler/build_plan.h"
#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/kernel_tuning.h"
#include "luminal/compiler/measured_costs.h"
#include "luminal/compiler/plan_bench.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/compiler/remembered_plan.h"
#include "luminal/search/interrupt.h"
#include "luminal/search/kernel_space.h"
#include "luminal/support/log.h"
#include "luminal/support/progress.h"

namespace luminal::compiler {
namespace {

using search::TunedChoice;
using Clock = std::chrono::steady_clock;

/// A draft and its kernels.
struct Structure {
  PlanDraft draft;
  support::Hash128 id;
  std::string choice;           // choice_cache.h
  std::vector<size_t> kernels;  // numbers of the tuning, by kernel of the draft
};

/// How far searches go: kernels of the best structures are tuned in steps, so that the first
/// kernels do not use up the time of the others.
constexpr size_t kTrials[] = {6, 16, 48, 200};
constexpr size_t kDeepened = 3;
constexpr size_t kFinalists = 3;
/// Kernels that take a smaller part of a run are not worth trials.
constexpr double kLeastShare = 0.005;
/// What part of the time is kept for timing whole plans.
constexpr double kForFinalists = 0.2;
/// When no more structures are begun: the rest is for schedules of the best.
constexpr double kForStructures = 0.5;
/// A structure whose kernels take so much longer than the best one is given up.
constexpr double kHopeless = 1.1;

class PlanSearch {
 public:
  PlanSearch(const graph::Graph& graph, const Options& options, const SearchOptions& search,
             FoundDefinitions* found)
      : graph_(graph),
        options_(options),
        search_(search),
        found_(found != nullptr ? found : &own_found_),
        database_(search.database != nullptr ? *search.database
                                             : search::default_tuning_database()),
        machine_(options.machine.value_or(kernel::Machine::cpu(threads_of(options)))),
        device_(search::device_text(options.target.value_or(codegen::host_target()),
                                    threads_of(options))),
        progress_(search.progress && search.seconds > 0
                      ? std::make_unique<support::Progress>("search", seconds_as_count())
                      : nullptr),
        tuning_(
            database_, device_, search, [this] { return !may_measure(1.0 - kForFinalists); },
            [this](const std::string& label, const search::TuneProgress& each) {
              show(label, each);
            }) {
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
    ran_out_ = !may_measure(1.0 - kForFinalists);
    SearchedPlan result{finish(), {}};
    result.report = report();
    if (search_.seconds > 0) remember(result.report);
    return result;
  }

 private:
  // ---- Time.

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  int64_t seconds_as_count() const { return std::llround(search_.seconds); }
  bool is_stopped() const {
    return (search_.cancel != nullptr && search_.cancel->load()) ||
           (watch_ && search::InterruptWatch::was_interrupted());
  }
  bool may_measure(double part) const {
    return search_.seconds > 0 && elapsed() < part * search_.seconds && !is_stopped();
  }
  /// Structures cost time, too, but what is found without measuring must not depend on the clock.
  bool may_explore() const {
    return search_.seconds > 0 ? may_measure(kForStructures) : !is_stopped();
  }

  void show(const std::string& label, const search::TuneProgress& each) {
    if (!progress_) return;
    progress_->set_done(std::min<int64_t>(static_cast<int64_t>(elapsed()), seconds_as_count()));
    progress_->set_status(fmt::format(
        "{:.1f} us of {:.1f} by the cost model; {}: {} tried, {} rejected", best_total(),
        total(structures_.front(), true), label, each.tried, each.rejected));
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
  /// If there is no such thing, the first draft is that of the cost model.
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
      add(std::move(draft));
      return std::nullopt;
    }
    if (!still_holds(*before, draft)) {
      add(PlanDraft(graph_, options_, found_));
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

  /// Whether there is nothing left to try, or no more time for it than was spent already.
  bool is_enough(const RememberedPlan& before) {
    seconds_before_ = before.seconds;
    return before.report.finished || search_.seconds <= before.seconds || search_.seconds <= 0;
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
      const TunedChoice& choice = tuning_.choice(structure.kernels[k]);
      result.schedules.push_back({k, choice.default_us, choice.best_us, chosen_.schedules[k]});
    }
    result.report = report;
    // What was disturbed is worth another search.
    const bool undisturbed = !report.interrupted && !report.unreliable;
    result.report.finished = report.finished && undisturbed;
    result.seconds = seconds_before_;
    if (ran_out_ && undisturbed) result.seconds = std::max(result.seconds, search_.seconds);
    database_.remember(result_key(choice_key_), to_text(result));
  }

  // ---- Structures.

  void add(PlanDraft draft) {
    Structure structure{std::move(draft), {}, {}, {}};
    structure.id = structure.draft.structure();
    structure.choice = structure.draft.choice();
    for (size_t k = 0; k < structure.draft.kernels().size(); ++k)
      structure.kernels.push_back(tuning_.add(structure.draft.kernels().task(k)));
    structures_.push_back(std::move(structure));
  }

  bool is_known(support::Hash128 id) const {
    return std::any_of(structures_.begin(), structures_.end(),
                       [&](const Structure& each) { return each.id == id; });
  }

  /// What a run takes by what is known of its kernels; infinite if some of them is not known.
  double total(const Structure& structure, bool by_default = false) const {
    double sum = 0;
    for (size_t k = 0; k < structure.kernels.size(); ++k) {
      const double uses = structure.draft.uses()[k];
      if (uses == 0) continue;
      const TunedChoice& choice = tuning_.choice(structure.kernels[k]);
      const double time = by_default ? choice.default_us : choice.best_us;
      if (time == 0) return std::numeric_limits<double>::infinity();
      sum += uses * time;
    }
    return sum;
  }

  double best_total() const {
    double best = std::numeric_limits<double>::infinity();
    for (const Structure& each : structures_) best = std::min(best, total(each));
    return best;
  }

  /// Numbers of structures, the quickest first.
  std::vector<size_t> ranked(size_t most) const {
    std::vector<std::pair<double, size_t>> order;
    for (size_t k = 0; k < structures_.size(); ++k) order.emplace_back(total(structures_[k]), k);
    std::sort(order.begin(), order.end());
    std::vector<size_t> result;
    for (const auto& [time, k] : order)
      if (result.size() < most && (time < std::numeric_limits<double>::infinity() || k == 0))
        result.push_back(k);
    return result;
  }

  /// Kernels that were measured explain the machine; what nobody has measured is estimated so.
  void calibrate() {
    constexpr size_t kMost = 24;  // fitting takes an estimate of each, often
    constexpr int kRounds = 2;
    std::vector<search::TimedKernel> timed;
    for (size_t k = 0; k < tuning_.size() && timed.size() < kMost; ++k) {
      const search::KernelTask& task = tuning_.task(k);
      const kernel::EstimateOptions how{.dims = task.options.dims,
                                        .typical_dim = options_.typical_dim,
                                        .reassociate = options_.reassociate};
      const double time = tuning_.choice(k).default_us;
      // Attention is priced by its own template.
      if (time > 0 && !codegen::attention_cost(*task.arena, task.kernel, machine_, how))
        timed.push_back({task.arena.get(), &task.kernel, time, how});
    }
    fitted_ = machine_;
    if (timed.empty()) return;
    report_.model = search::quality_of(timed, machine_);
    fitted_ = search::fitted(timed, machine_, kRounds);
    report_.fitted_model = search::quality_of(timed, fitted_);
  }

  /// Constants under which unknown kernels look better or other than they did: the first time as
  /// they fit, then quicker than that, then each constant turned by chance.
  kernel::Machine machine_for(int number) const {
    constexpr double kOptimism = 0.6;
    constexpr double kFactors[] = {0.5, 0.7, 1.0, 1.4, 2.0};
    kernel::Machine machine = fitted_;
    if (number == 0) return machine;
    search::Random random(support::hash_combine(search_.seed, static_cast<uint64_t>(number)));
    for (const auto& [name, constant] : search::machine_constants()) {
      const bool is_time = name.ends_with("_us");
      const double optimism = is_time ? kOptimism : 1 / kOptimism;
      if (number % 2 == 1) machine.*constant *= name == "transcendental_flops" ? 1.0 : optimism;
      if (number > 1) machine.*constant *= kFactors[random.below(std::size(kFactors))];
    }
    return machine;
  }

  /// One more structure, with the kernels that are new in it measured.
  void explore(int number) {
    Options options = options_;
    options.machine = machine_for(number);
    const MeasuredCosts costs(database_, device_, options, *options.machine);
    PlanDraft draft(graph_, options, found_, &costs);
    if (is_known(draft.structure())) return;
    add(std::move(draft));
    const double best = best_total();
    for (const size_t kernel : structures_.back().kernels) {
      if (known_part(structures_.back()) > kHopeless * best) return;
      tuning_.tune(kernel, 1);
    }
  }

  /// What the kernels of a structure take that are known.
  double known_part(const Structure& structure) const {
    double sum = 0;
    for (size_t k = 0; k < structure.kernels.size(); ++k)
      sum += structure.draft.uses()[k] * tuning_.choice(structure.kernels[k]).best_us;
    return sum;
  }

  /// What a run of a structure spends in a kernel.
  double time_in(const Structure& structure, size_t kernel) const {
    double sum = 0;
    for (size_t k = 0; k < structure.kernels.size(); ++k)
      if (structure.kernels[k] == kernel)
        sum += structure.draft.uses()[k] * tuning_.choice(kernel).best_us;
    return sum;
  }

  bool is_worth_trials(const Structure& structure, size_t kernel) const {
    return time_in(structure, kernel) >= kLeastShare * known_part(structure);
  }

  /// Tunes the kernels of the best structures, those first that a run spends most time in.
  void deepen(size_t trials) {
    for (const size_t number : ranked(kDeepened)) {
      const Structure& structure = structures_[number];
      std::vector<std::pair<double, size_t>> order;
      for (const size_t kernel : structure.kernels)
        if (is_worth_trials(structure, kernel))
          order.emplace_back(-time_in(structure, kernel), kernel);
      std::sort(order.begin(), order.end());
      for (const auto& [time, kernel] : order) tuning_.tune(kernel, trials);
    }
  }

  // ---- Whole plans.

  /// A structure with or without the schedules that were found.
  struct Finalist {
    size_t structure = 0;
    std::vector<std::string> schedules;  // by kernel of the draft; empty: the default
    std::string name() const {
      support::Hasher hasher;
      for (const std::string& each : schedules) hasher.add(std::string_view(each));
      return fmt::format("{} {}", structure_text, support::to_hex(hasher.finish128()));
    }
    std::string structure_text = {};
  };

  Finalist finalist(size_t number, bool tuned) const {
    const Structure& structure = structures_[number];
    Finalist result{number, {}, support::to_hex(structure.id)};
    for (const size_t kernel : structure.kernels) {
      const TunedChoice& choice = tuning_.choice(kernel);
      const bool other =
          tuned && !choice.schedule.empty() && choice.schedule != tuning_.default_schedule(kernel);
      result.schedules.push_back(other ? choice.schedule : "");
    }
    return result;
  }

  std::vector<Finalist> finalists() const {
    std::vector<Finalist> result{finalist(0, false)};
    const auto add = [&](Finalist each) {
      const auto same = [&](const Finalist& other) { return other.name() == each.name(); };
      if (std::none_of(result.begin(), result.end(), same)) result.push_back(std::move(each));
    };
    for (const size_t number : ranked(kFinalists)) add(finalist(number, true));
    add(finalist(0, true));
    return result;
  }

  Plan built(const Finalist& finalist) {
    // A draft gives one plan, and the first structure may be asked for two.
    Structure& structure = structures_[finalist.structure];
    if (used_.contains(finalist.structure)) structure.draft = PlanDraft(graph_, options_, found_);
    used_.insert(finalist.structure);
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
    const std::vector<Finalist> all = finalists();
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
      database_.add_kernel(key.kernel, fmt::format("plan {}", all[0].structure_text),
                           "a whole plan");
      const auto bench = search_.tools.plans ? search_.tools.plans(plan_of)
                                             : std::make_unique<PlanBench>(plan_of, options_);
      const search::ListedSpace space(names);
      search::TuneOptions how;
      how.strategy = search::StrategyKind::kCostModel;
      how.most_trials = std::numeric_limits<size_t>::max();
      // Comparing is what the time was kept for, and the least that a search does: however long a
      // kernel took, the plan of the cost model is timed.
      how.stop = [this, is_first = search_.seconds > 0]() mutable {
        return std::exchange(is_first, false) ? is_stopped() : !may_measure(2.0);
      };
      const search::TuneResult result = search::tune(database_, key, space, *bench, how);
      report_.unreliable = report_.unreliable || result.unreliable;
      std::vector<search::TuningRecord> records = database_.records(key);
      std::erase_if(records, [&](const search::TuningRecord& record) {
        return std::find(names.begin(), names.end(), record.schedule) == names.end();
      });
      const TunedChoice choice = search::choose(records, names.front());
      // Without a time of the first there is nothing to say that another is no slower.
      if (choice.default_us > 0) winner = choice.schedule;
      report_.fast_us = choice.default_us;
      report_.best_us = choice.best_us;
      finished_plans_ = result.finished;
    }
    const auto place = std::find(names.begin(), names.end(), winner) - names.begin();
    chosen_ = all[static_cast<size_t>(place)];
    note_gains(chosen_);
    note_trials(all, static_cast<size_t>(place));
    return plan_of(winner);
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
      const TunedChoice& choice = tuning_.choice(structure.kernels[k]);
      report_.gains.push_back({tuning_.task(structure.kernels[k]).label, choice.schedule,
                               choice.default_us, choice.best_us, uses_of(chosen, k)});
    }
    sort_gains(report_.gains);
  }

  /// The largest first.
  static void sort_gains(std::vector<KernelGain>& gains) {
    std::stable_sort(gains.begin(), gains.end(), [](const KernelGain& a, const KernelGain& b) {
      return a.uses * (a.default_us - a.best_us) > b.uses * (b.default_us - b.best_us);
    });
  }

  /// Whole plans with what timing them gave, then structures that did not come so far.
  void note_trials(const std::vector<Finalist>& all, size_t winner) {
    std::set<size_t> timed;
    for (size_t k = 0; k < all.size(); ++k) {
      const Structure& structure = structures_[all[k].structure];
      const bool tuned = std::any_of(all[k].schedules.begin(), all[k].schedules.end(),
                                     [](const std::string& each) { return !each.empty(); });
      StructureTrial trial;
      trial.name = fmt::format("structure {}, {} schedules", all[k].structure + 1,
                               tuned ? "tuned" : "default");
      trial.used = k == winner;
      const double kernels = total(structure, !tuned);
      trial.kernels_us = std::isfinite(kernels) ? kernels : 0.0;
      if (const auto known = database_.find(plan_key(), all[k].name())) {
        if (const auto* timing = std::get_if<search::Timing>(&*known))
          trial.measured_us = timing->median_us;
        else
          trial.rejected = search::to_string(*known);
      }
      timed.insert(all[k].structure);
      report_.trials.push_back(std::move(trial));
    }
    for (size_t k = 0; k < structures_.size(); ++k) {
      if (timed.contains(k)) continue;
      const double kernels = total(structures_[k]);
      const bool known = std::isfinite(kernels);
      report_.trials.push_back({fmt::format("structure {}", k + 1), false, known ? kernels : 0.0,
                                0.0,
                                known ? "its kernels take longer than those of others"
                                      : "given up: kernels of it that were measured take longer "
                                        "than others do as a whole"});
    }
  }

  double uses_of(const Finalist& chosen, size_t kernel) const {
    return structures_[chosen.structure].draft.uses()[kernel];
  }

  SearchReport report() {
    SearchReport result = std::move(report_);
    result.structures = structures_.size();
    result.kernels = tuning_.size();
    result.measured = tuning_.measured();
    bool finished = finished_plans_;
    for (size_t k = 0; k < tuning_.size(); ++k) {
      result.known += tuning_.choice(k).tried;
      result.rejected += tuning_.choice(k).rejected;
    }
    for (const size_t kernel : structures_.front().kernels)
      finished = finished && tuning_.is_finished(kernel, 1);
    for (const size_t number : ranked(kDeepened))
      for (const size_t kernel : structures_[number].kernels)
        finished = finished && (tuning_.is_finished(kernel, search_.most_trials) ||
                                !is_worth_trials(structures_[number], kernel));
    result.finished = finished;
    result.interrupted = is_stopped();
    result.unreliable = result.unreliable || tuning_.unreliable();
    if (result.unreliable)
      support::log_warn(
          "search: other work on this machine disturbed the times; search again when "
          "it is quiet");
    return result;
  }

  const graph::Graph& graph_;
  const Options& options_;
  const SearchOptions& search_;
  FoundDefinitions own_found_;
  FoundDefinitions* found_;
  search::TuningDatabase& database_;
  kernel::Machine machine_;
  kernel::Machine fitted_;
  std::string device_;
  Clock::time_point begin_ = Clock::now();
  std::optional<search::InterruptWatch> watch_;
  std::unique_ptr<support::Progress> progress_;
  KernelTuning tuning_;
  std::vector<Structure> structures_;
  std::set<size_t> used_;  // structures whose draft has become a plan
  std::map<std::string, std::optional<Plan>> plans_;
  Finalist chosen_;
  support::Hash128 choice_key_;
  double seconds_before_ = 0;  // RememberedPlan::seconds of the search before
  bool ran_out_ = false;
  SearchReport report_;
  bool finished_plans_ = true;
};

}  // namespace

SearchedPlan search_plan(const graph::Graph& graph, const Options& options,
                         const SearchOptions& search, FoundDefinitions* found) {
  return PlanSearch(graph, options, search, found).run();
}

}  // namespace luminal::compiler
