#include "luminal/compiler/kernel_tuning.h"

#include "luminal/codegen/llvm/attention_cost.h"
#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/kernel/estimate.h"
#include "luminal/runtime/cpu/thread_team.h"
#include "luminal/search/kernel_data.h"
#include "luminal/search/kernel_expectation.h"
#include "luminal/search/refusal.h"
#include "luminal/search/schedule_hints.h"
#include "luminal/search/trial_time.h"
#include "luminal/support/log.h"
#include "luminal/support/trace.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::compiler {
namespace {

/// Made at the first trial: a search that finds everything in the database needs no workbench.
class LazyBench : public search::Workbench {
 public:
  explicit LazyBench(std::function<search::Workbench&()> make) : make_(std::move(make)) {}
  search::Tried try_out(const std::vector<std::string>& schedules) override {
    return make_().try_out(schedules);
  }
  search::Tried try_out_telling(const std::vector<std::string>& schedules,
                                const search::OnRejected& on_rejected) override {
    return make_().try_out_telling(schedules, on_rejected);
  }

 private:
  std::function<search::Workbench&()> make_;
};

/// Bytes of all tensors of a kernel.
double bytes_of(const search::KernelTask& task) {
  double bytes = 0;
  const auto add = [&](NodeId id) {
    const graph::TensorType& type = task.arena->tensor(id);
    const graph::Extents extents = graph::extents_of(type.shape, task.options.dims);
    bytes += static_cast<double>(graph::byte_size(type.dtype, graph::element_count(extents)));
  };
  for (const NodeId id : search::tensors_read(*task.arena, task.kernel)) add(id);
  for (const kernel::Root& root : task.kernel.roots) add(root.tensor);
  return bytes;
}

/// What runs of a kernel until it is timed take by the cost model; 0 where that is next to nothing.
double seconds_of_runs(const search::KernelTask& task) {
  constexpr double kMuchWork = 1e9;  // a hundredth of a second on any machine, about
  const symbolic::Values values(task.options.dims.begin(), task.options.dims.end());
  const int64_t work = symbolic::evaluate(kernel::work_of(*task.arena, task.kernel), values);
  if (static_cast<double>(work) < kMuchWork) return 0.0;
  kernel::Arena& arena = *task.arena;
  const auto machine = kernel::Machine::cpu(task.options.threads);
  const kernel::EstimateOptions how{.dims = task.options.dims};
  const auto attention = codegen::attention_cost(arena, task.kernel, machine, how);
  const double run_us =
      attention ? *attention : kernel::estimate(arena, task.kernel, machine, how).microseconds;
  return search::kRunsPerWay * run_us * 1e-6;
}

/// What trying the first way takes, as long as nothing else is known.
double expected_seconds(const search::KernelTask& task) {
  const double seconds = search::kSecondsPerByte * bytes_of(task) + seconds_of_runs(task) +
                         search::seconds_of_points(*task.arena, task.kernel, task.options.dims);
  return seconds < search::kLeastDataSeconds ? 0.0 : seconds;
}

std::unique_ptr<search::Workbench> real_bench(const search::KernelTask& task,
                                              search::BenchMemory& memory,
                                              const std::function<bool()>& stop) {
  search::BenchOptions options;
  options.check.stop = stop;
  options.measure.stop = stop;
  options.memory = &memory;
  options.cache = &codegen::default_kernel_cache();
  return std::make_unique<search::KernelBench>(task, runtime::default_thread_team(), options);
}

}  // namespace

KernelTuning::KernelTuning(
    search::TuningDatabase& database, std::string device, const SearchOptions& options,
    std::function<bool()> stop,
    std::function<void(const std::string&, const search::TuneProgress&)> progress,
    std::function<double()> seconds_left)
    : database_(database),
      device_(std::move(device)),
      options_(options),
      stop_(std::move(stop)),
      progress_(std::move(progress)),
      seconds_left_(std::move(seconds_left)) {}

KernelTuning::~KernelTuning() = default;

size_t KernelTuning::add(search::KernelTask task) {
  const search::TuningKey key = task.key(device_);
  const auto [place, is_new] = number_of_.emplace(key.shapes + "\n" + task.text, entries_.size());
  if (!is_new) return place->second;
  auto entry = std::make_unique<Entry>();
  entry->task = std::move(task);
  entry->key = key;
  const auto& hints = options_.hints != nullptr ? *options_.hints : search::shipped_hints();
  std::vector<std::string> tried_first = search::hinted_schedules(hints, key);
  for (std::string& each : search::near_schedules(database_, key))
    tried_first.push_back(std::move(each));
  entry->space = search::kernel_space(entry->task, tried_first);
  if (machine_) entry->space->set_machine(*machine_);
  const std::vector<search::TuningRecord> records = database_.records(key);
  entry->choice = search::choose(records, entry->space->starts().front());
  entry->seconds_per_way = expected_seconds(entry->task);
  known_ += entry->choice.tried;
  for (const search::TuningRecord& record : records) tell(*entry, record, true);
  entries_.push_back(std::move(entry));
  return place->second;
}

void KernelTuning::tell(const Entry& entry, const search::TuningRecord& record, bool known) const {
  if (!options_.on_trial) return;
  options_.on_trial({entry.task.label, support::to_hex(record.key.kernel), record.key.shapes,
                     record.schedule, record.schedule == entry.space->starts().front(), known,
                     record.result});
}

void KernelTuning::set_machine(const kernel::Machine& machine) {
  machine_ = machine;
  for (const auto& entry : entries_) entry->space->set_machine(machine);
}

search::TunedChoice KernelTuning::choice_with(size_t kernel, const std::string& schedule) const {
  search::TunedChoice result = choice(kernel);
  if (result.schedule == schedule) return result;
  result.schedule = schedule;
  const auto known = database_.find(key(kernel), schedule);
  const auto* timing = known ? std::get_if<search::Timing>(&*known) : nullptr;
  result.best_us = timing != nullptr ? timing->median_us : result.default_us;
  return result;
}

const std::string& KernelTuning::default_schedule(size_t kernel) const {
  return entries_[kernel]->space->starts().front();
}

std::optional<search::Rejected> KernelTuning::fault(size_t kernel,
                                                    const std::string& schedule) const {
  using Why = search::Rejected::Why;
  const auto known =
      database_.find(key(kernel), schedule.empty() ? default_schedule(kernel) : schedule);
  const auto* rejected = known ? std::get_if<search::Rejected>(&*known) : nullptr;
  if (rejected == nullptr) return std::nullopt;
  const bool is_wrong = rejected->why == Why::kWrongResult || rejected->why == Why::kCrash ||
                        rejected->why == Why::kOutOfBounds;
  return is_wrong ? std::optional(*rejected) : std::nullopt;
}

double KernelTuning::untried_us(size_t kernel) const {
  const Entry& entry = *entries_[kernel];
  return entry.choice.tried > 0 ? 0.0 : entry.seconds_per_way * 1e6 / search::kRunsPerWay;
}

bool KernelTuning::is_finished(size_t kernel, size_t trials) const {
  return entries_[kernel]->finished_trials >= trials;
}

/// Benches hold data, what is expected and code, so those of the last kernels are kept.
search::Workbench& KernelTuning::bench_of(size_t kernel) {
  constexpr double kMostBytes = 256e6;  // of tensors, which a bench has some copies of
  Entry& entry = *entries_[kernel];
  std::erase(with_benches_, kernel);
  with_benches_.push_back(kernel);
  double bytes = 0;
  for (size_t k = with_benches_.size(); k-- > 0;) {
    bytes += bytes_of(entries_[with_benches_[k]]->task);
    if (bytes <= kMostBytes || with_benches_[k] == kernel) continue;
    for (size_t old = 0; old <= k; ++old) entries_[with_benches_[old]]->bench.reset();
    with_benches_.erase(with_benches_.begin(), with_benches_.begin() + static_cast<int64_t>(k) + 1);
    break;
  }
  if (!entry.bench)
    entry.bench = options_.tools.kernels ? options_.tools.kernels(entry.task)
                                         : real_bench(entry.task, memory_, stop_);
  return *entry.bench;
}

void KernelTuning::tune(size_t kernel, size_t trials) {
  if (entries_[kernel]->finished_trials < trials) tune(kernel, trials, false);
}

void KernelTuning::retry_interrupted(size_t kernel) {
  if (has_interrupted(kernel)) tune(kernel, options_.most_trials, true);
}

void KernelTuning::tune(size_t kernel, size_t trials, bool retry_interrupted) {
  Entry& entry = *entries_[kernel];
  if (entry.is_refused) return;
  const support::TraceSpan span("tune", entry.task.label);
  LazyBench bench([&]() -> search::Workbench& {
    database_.add_kernel(entry.key.kernel, entry.task.text, entry.task.label);
    return bench_of(kernel);
  });
  search::TuneOptions how;
  how.strategy = options_.strategy;
  how.seed = options_.seed;
  how.most_trials = trials;
  how.tried_now = &entry.tried;
  how.retry_interrupted = retry_interrupted;
  how.stop = stop_;
  how.seconds_left = seconds_left_;
  how.seconds_per_way = entry.seconds_per_way;
  how.on_progress = [&](const search::TuneProgress& progress) {
    progress_(entry.task.label, progress);
  };
  how.on_trial = [&](const search::TuningRecord& record) { tell(entry, record, false); };
  search::TuneResult result;
  const auto why = search::refusal_of(
      [&] { result = search::tune(database_, entry.key, *entry.space, bench, how); });
  if (why) {
    support::log_warn("search: {} stays as it is: {}", entry.task.label, *why);
    entry.is_refused = was_refused_ = true;
    entry.bench.reset();
    entry.choice = search::choose(database_.records(entry.key), default_schedule(kernel));
    return;
  }
  entry.choice = result.choice;
  if (result.finished) entry.finished_trials = trials;
  entry.interrupted = result.interrupted;
  entry.seconds_per_way = result.seconds_per_way;
  measured_ += result.measured;
  entry.batches += result.batches;
  entry.disturbed += result.disturbed;
}

bool KernelTuning::is_unreliable(size_t kernel) const {
  constexpr double kMostDisturbed = 0.25;
  const Entry& entry = *entries_[kernel];
  return static_cast<double>(entry.disturbed) > kMostDisturbed * static_cast<double>(entry.batches);
}

}  // namespace luminal::compiler
