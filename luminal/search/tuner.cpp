#include "luminal/search/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <tuple>

#include "luminal/search/trial_time.h"
#include "luminal/support/check.h"
#include "luminal/support/trace.h"

namespace luminal::search {
namespace {

const Timing* timing_in(const std::vector<TuningRecord>& records, const std::string& schedule) {
  for (const TuningRecord& record : records)
    if (record.schedule == schedule) return std::get_if<Timing>(&record.result);
  return nullptr;
}

bool is_clearly_quicker(const Timing& timing, const Timing& standard) {
  return standard.median_us - timing.median_us >= noise_us(standard, timing);
}

bool was_disturbed(const TuningRecord& record) {
  const auto* timing = std::get_if<Timing>(&record.result);
  return timing != nullptr && timing->disturbed;
}

Timing scaled(Timing timing, double scale) {
  timing.median_us *= scale;
  timing.spread_us *= scale;
  return timing;
}

int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// How often a batch that was disturbed is repeated: what disturbs a machine that is quiet
/// otherwise is over soon.
constexpr int kRepeats = 2;

/// One search over one key.
class Tuning {
 public:
  Tuning(TuningDatabase& database, const TuningKey& key, const Space& space, Workbench& workbench,
         const TuneOptions& options)
      : database_(database),
        key_(key),
        space_(space),
        workbench_(workbench),
        options_(options),
        default_(space.starts().front()),
        tried_(options.tried_now != nullptr ? *options.tried_now : own_tried_),
        time_(options.seconds_left, options.seconds_per_way, options.clock) {}

  TuneResult run() {
    const std::unique_ptr<Strategy> strategy = make_strategy(options_.strategy);
    read();
    while (!is_stopped()) {
      std::vector<std::string> next = left_disturbed();
      if (next.empty())
        next = strategy->propose(space_, trials_, std::min(options_.batch, room()), options_.seed);
      if (next.empty() && options_.retry_interrupted) next = left_interrupted();
      if (next.empty()) {
        result_.finished = given_up_.empty() &&
                           (interrupted_.empty() || !options_.retry_interrupted) &&
                           std::none_of(records_.begin(), records_.end(), was_disturbed);
        break;
      }
      next.resize(time_.that_fit(next.size(), default_us()));
      if (next.empty()) break;
      try_out(std::move(next));
      if (!is_disturbed_) read();
      report();
      if (is_disturbed_) break;
    }
    result_.choice = choose(records_, default_);
    result_.interrupted = interrupted_.size();
    result_.seconds_per_way = time_.seconds_per_way();
    return result_;
  }

 private:
  bool is_stopped() const { return options_.stop && options_.stop(); }

  void read() {
    records_ = database_.records(key_);
    trials_.clear();
    for (const TuningRecord& record : records_) trials_.push_back({record.schedule, record.result});
    trials_.insert(trials_.end(), given_up_.begin(), given_up_.end());
    interrupted_ = database_.interrupted(key_);
    // What is no way of this space is none that could be tried.
    std::erase_if(interrupted_, [&](const std::string& each) {
      return each == default_ || space_.identity(each).empty();
    });
    for (const std::string& each : interrupted_)
      if (!is_trial(each)) trials_.push_back({each, Rejected{Rejected::Why::kInterrupted, ""}});
  }

  bool is_trial(const std::string& schedule) const {
    return std::ranges::count(trials_, schedule, &Trial::schedule) > 0;
  }

  /// How many more ways may be tried. However many were interrupted, the default is among them.
  size_t room() const {
    const size_t least = is_trial(default_) ? 0 : std::min<size_t>(1, options_.most_trials);
    return std::max(least, options_.most_trials - std::min(trials_.size(), options_.most_trials));
  }

  /// One of those that earlier searches were interrupted in.
  std::vector<std::string> left_interrupted() const {
    for (const std::string& each : interrupted_)
      if (!tried_.contains(each)) return {each};
    return {};
  }

  /// Some of what earlier searches left disturbed, the default first and then the quickest.
  std::vector<std::string> left_disturbed() const {
    std::vector<std::tuple<bool, double, std::string>> left;
    for (const TuningRecord& record : records_)
      if (was_disturbed(record) && !tried_.contains(record.schedule) &&
          std::ranges::count(interrupted_, record.schedule) == 0)
        left.emplace_back(record.schedule != default_, std::get<Timing>(record.result).median_us,
                          record.schedule);
    std::sort(left.begin(), left.end());
    // As many as would be tried if nothing were known.
    const size_t room = options_.most_trials - std::min(tried_.size(), options_.most_trials);
    left.resize(std::min({left.size(), options_.batch, room}));
    std::vector<std::string> again;
    for (auto& [is_other, time, schedule] : left) again.push_back(std::move(schedule));
    return again;
  }

  double default_us() const {
    const Timing* timing = timing_in(records_, default_);
    return timing == nullptr ? 0.0 : timing->median_us;
  }

  bool may_repeat(const Tried& tried, int again) const {
    return tried.unreliable && again < kRepeats && !is_stopped() && time_.fits_again();
  }

  void try_out(std::vector<std::string> next) {
    // The default runs along: it says how fast the machine is just now.
    const bool default_failed = timing_in(records_, default_) == nullptr && knows_default();
    const auto own = std::find(next.begin(), next.end(), default_);
    if (own != next.end()) next.erase(own);
    if (!default_failed) next.insert(next.begin(), default_);
    support::TraceSpan span("search", fmt::format("try {} ways", next.size()));
    const OnRejected on_rejected = [&](const std::string& schedule, const Rejected& why) {
      // A search that is killed while it times the others does not try it again.
      if (why.why == Rejected::Why::kInterrupted || is_no_news(schedule, why)) return;
      database_.record({key_, schedule, why, now_seconds()});
      told_.insert(schedule);
    };
    const size_t new_ways = next.size() - (knows_default() && !default_failed ? 1 : 0);
    time_.begin();
    Tried tried = workbench_.try_out_telling(next, on_rejected);
    time_.end(new_ways, records_.empty());
    for (int again = 0; may_repeat(tried, again); ++again)
      tried = workbench_.try_out_telling(next, on_rejected);
    ++result_.batches;
    result_.disturbed += tried.unreliable ? 1 : 0;
    result_.unreliable = result_.disturbed > 0;
    LUMINAL_CHECK(tried.results.size() == next.size(), "{} results of {} ways",
                  tried.results.size(), next.size());
    for (size_t k = 0; k < next.size() && span.is_on(); ++k)
      span.note(next[k], to_string(tried.results[k]));
    is_disturbed_ = tried.unreliable && !options_.keep_disturbed;
    if (is_disturbed_) return show_only(next, tried.results);
    for (Measurement& result : tried.results)
      if (auto* timing = std::get_if<Timing>(&result)) timing->disturbed = tried.unreliable;
    keep(next, std::move(tried.results));
  }

  /// Results that are told and not kept.
  void show_only(const std::vector<std::string>& ways, std::vector<Measurement>& results) {
    records_.clear();
    for (size_t k = 0; k < ways.size(); ++k) {
      records_.push_back({key_, ways[k], std::move(results[k]), now_seconds()});
      if (options_.on_trial) options_.on_trial(records_.back());
    }
    result_.measured += ways.size();
  }

  bool knows_default() const {
    return std::any_of(records_.begin(), records_.end(),
                       [&](const TuningRecord& record) { return record.schedule == default_; });
  }

  /// Whether a way keeps its time all the same: it was timed, and nothing is wrong with it.
  bool is_no_news(const std::string& schedule, const Rejected& rejected) const {
    return timing_in(records_, schedule) != nullptr && !is_fault(rejected.why);
  }

  /// Keeps what a batch gave. Times of several batches, also of other processes, are compared as if
  /// the default had taken as long in each.
  void keep(const std::vector<std::string>& ways, std::vector<Measurement> results) {
    const bool knew_default = knows_default();
    std::vector<TuningRecord> kept;
    std::vector<TuningRecord> new_ones;
    std::vector<std::string> interrupted;
    for (size_t k = 0; k < ways.size(); ++k) {
      tried_.insert(ways[k]);
      TuningRecord record{key_, ways[k], std::move(results[k]), now_seconds()};
      const bool is_known = ways[k] == default_ && knew_default;
      const auto* rejected = std::get_if<Rejected>(&record.result);
      // What was interrupted is for the next search to try again, and not for this one.
      const bool is_interrupted =
          rejected != nullptr && rejected->why == Rejected::Why::kInterrupted;
      if (is_interrupted && !is_known) give_up(record);
      // The default is tried first by every search: without its time nothing else is known.
      if (is_interrupted && ways[k] != default_) interrupted.push_back(ways[k]);
      const bool no_news = rejected != nullptr && is_no_news(ways[k], *rejected);
      if (!is_interrupted && !told_.contains(ways[k]) && !no_news) kept.push_back(record);
      if (!is_known) new_ones.push_back(std::move(record));
    }
    database_.note_interrupted(key_, interrupted);
    const double scale = database_.record_batch(kept, default_);
    for (TuningRecord& each : new_ones) {
      if (auto* timing = std::get_if<Timing>(&each.result)) *timing = scaled(*timing, scale);
      if (options_.on_trial) options_.on_trial(each);
      ++result_.measured;
    }
  }

  void give_up(const TuningRecord& record) {
    const auto is_same = [&](const Trial& trial) { return trial.schedule == record.schedule; };
    // The default runs along in every batch.
    if (std::none_of(given_up_.begin(), given_up_.end(), is_same))
      given_up_.push_back({record.schedule, record.result});
  }

  void report() const {
    if (!options_.on_progress) return;
    const TunedChoice choice = choose(records_, default_);
    options_.on_progress({choice.tried, choice.rejected, choice.default_us, choice.best_us});
  }

  TuningDatabase& database_;
  const TuningKey& key_;
  const Space& space_;
  Workbench& workbench_;
  const TuneOptions& options_;
  std::string default_;
  std::vector<TuningRecord> records_;
  std::vector<Trial> trials_;             // that the database has, and those below
  std::vector<Trial> given_up_;           // interrupted in this search
  std::vector<std::string> interrupted_;  // in any search, by the database
  std::set<std::string> own_tried_;
  std::set<std::string>& tried_;
  std::set<std::string> told_;  // rejected, and recorded already
  bool is_disturbed_ = false;
  TrialTime time_;
  TuneResult result_;
};

}  // namespace

TunedChoice choose(const std::vector<TuningRecord>& records, const std::string& default_schedule) {
  TunedChoice choice;
  choice.tried = records.size();
  const Timing* standard = timing_in(records, default_schedule);
  if (standard != nullptr) {
    choice.schedule = default_schedule;
    choice.default_us = choice.best_us = standard->median_us;
  }
  const auto rank = [](const TuningRecord& record, const Timing& timing) {
    return std::tie(timing.disturbed, timing.median_us, record.schedule);
  };
  const TuningRecord* best = nullptr;
  for (const TuningRecord& record : records) {
    const auto* timing = std::get_if<Timing>(&record.result);
    choice.rejected += timing == nullptr ? 1 : 0;
    // One whose time is known badly must not hide another that is clearly quicker.
    if (timing == nullptr || (standard != nullptr && !is_clearly_quicker(*timing, *standard)))
      continue;
    if (best == nullptr || rank(record, *timing) < rank(*best, std::get<Timing>(best->result)))
      best = &record;
  }
  if (best == nullptr) return choice;
  choice.schedule = best->schedule;
  choice.best_us = std::get<Timing>(best->result).median_us;
  return choice;
}

TuneResult tune(TuningDatabase& database, const TuningKey& key, const Space& space,
                Workbench& workbench, const TuneOptions& options) {
  return Tuning(database, key, space, workbench, options).run();
}

}  // namespace luminal::search
