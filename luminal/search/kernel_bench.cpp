#include "luminal/search/kernel_bench.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "luminal/codegen/llvm/code_version.h"
#include "luminal/graph/dim_binding.h"
#include "luminal/kernel/canonical.h"
#include "luminal/support/error.h"
#include "luminal/support/log.h"
#include "luminal/support/thread_pool.h"
#include "luminal/support/trace.h"
#include "luminal/symbolic/evaluate.h"

namespace luminal::search {
namespace {

/// Bytes that it takes beside its tensors, the scratch of one thread included.
double memory_of(const Candidate& candidate) {
  double bytes = 0;
  for (const int64_t each : candidate.temporaries) bytes += static_cast<double>(each);
  double scratch = 0;
  for (const CandidateLaunch& launch : candidate.launches)
    scratch = std::max(scratch, static_cast<double>(launch.scratch_bytes));
  return bytes + scratch;
}

/// Of the machine: what is free just now may be more at the next time.
double physical_memory() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// A candidate that this machine could never give the memory for is none.
std::variant<Candidate, Rejected> within_memory(std::variant<Candidate, Rejected> outcome) {
  const auto* candidate = std::get_if<Candidate>(&outcome);
  const double bytes = candidate == nullptr ? 0 : memory_of(*candidate);
  if (bytes <= physical_memory()) return outcome;
  return Rejected{Rejected::Why::kResources,
                  fmt::format("it needs {:.0f} MB beside its tensors, and there are {:.0f} in all",
                              bytes * 1e-6, physical_memory() * 1e-6)};
}

/// Code for a schedule, in an arena of its own: several are made at a time.
std::variant<Candidate, Rejected> built(const KernelTask& task,
                                        const kernel::CanonicalKernel& names,
                                        support::FileCache* cache,
                                        const std::string& schedule) try {
  kernel::Arena arena;
  const kernel::Kernel kernel = kernel::rebuild(*task.arena, task.kernel, names, arena);
  codegen::CpuKernelOptions options = task.options;
  options.schedule = codegen::Schedule::parse(schedule);
  codegen::CpuKernel code = codegen::cpu_kernel(arena, kernel, task.target, options);
  for (codegen::CpuLaunch& launch : code.launches) launch.source.label = task.label;
  return load_candidate(code, codegen::KernelCompiler(task.target, cache), task.options.dims);
} catch (const Error& error) {
  return Rejected{Rejected::Why::kCompile, error.what()};
}

/// How many threads a program would run a kernel on (plan/compiled_program.cpp).
int threads_of(const KernelTask& task) {
  const symbolic::Values dims(task.options.dims.begin(), task.options.dims.end());
  const int64_t work = symbolic::evaluate(kernel::work_of(*task.arena, task.kernel), dims);
  return work < runtime::kSmallWork ? 1 : task.options.threads;
}

void note_rejection(support::TraceSpan& span, const std::variant<Candidate, Rejected>& outcome) {
  if (const auto* rejected = std::get_if<Rejected>(&outcome); rejected != nullptr && span.is_on())
    span.note("rejected", to_string(Measurement(*rejected)));
}

}  // namespace

TuningKey KernelTask::key(const std::string& device) const {
  std::string shapes;
  for (const auto& [name, value] : options.dims)
    shapes += fmt::format("{}{}={}", shapes.empty() ? "" : " ", name, value);
  return {support::hash128(text), shapes, device, compiler_text()};
}

std::string device_text(const codegen::CpuTarget& target, int threads) {
  return fmt::format("cpu {}, {} thread{}", target.name, threads, threads == 1 ? "" : "s");
}

std::string compiler_text() {
  // Of how kernels are checked and timed. What was found in another way is not compared with what
  // is found now. 2: on the threads that programs run them on. 3: what is rounded to integers is
  // judged by its own moved runs, values of dims above the typical ones are tried. 4: values of any
  // size, dims of 0, and products of many factors that give 0 or NaN. 5: the thread that measures
  // keeps off the processors of the others. 6: values without infinities end where the dtype does,
  // and many of a maximum's values are equal.
  constexpr int kMeasuring = 6;
  return fmt::format("{} {}, measuring {}", codegen::code_version(), codegen::compiler_version(),
                     kMeasuring);
}

KernelBench::KernelBench(const KernelTask& task, runtime::ThreadTeam& team,
                         const BenchOptions& options)
    : KernelBench(
          task,
          [&task, cache = options.cache, names = kernel::canonicalize(*task.arena, task.kernel)](
              const std::string& schedule) { return built(task, names, cache, schedule); },
          team, options) {}

KernelBench::KernelBench(const KernelTask& task, Builder builder, runtime::ThreadTeam& team,
                         const BenchOptions& options)
    : task_(task), builder_(std::move(builder)), team_(team), options_(options) {
  constexpr int kMostThreads = 4;  // what goes wrong on many does so on these
  options_.check.threads = std::min(team.size(), kMostThreads);
  options_.check.on_failure = [this](const std::exception& error) { warn(error); };
}

KernelBench::~KernelBench() {
  // Another bench may come to lie where this one lay.
  if (options_.memory != nullptr && options_.memory->user == this) options_.memory->user = nullptr;
}

void KernelBench::tell(const std::string& schedule, const Known& known,
                       const OnRejected& on_rejected) {
  const auto* why = std::get_if<Rejected>(&known.outcome);
  if (why == nullptr || !on_rejected) return;
  const std::lock_guard lock(telling_);
  on_rejected(schedule, *why);
}

void KernelBench::build(const std::vector<std::string>& schedules, const OnRejected& on_rejected) {
  std::vector<std::pair<const std::string*, Known*>> missing;
  for (const std::string& schedule : schedules)
    if (const auto [place, is_new] = known_.try_emplace(schedule); is_new)
      missing.emplace_back(&schedule, &place->second);
  support::default_thread_pool().parallel_for(
      0, static_cast<int64_t>(missing.size()), 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const auto& [schedule, known] = missing[static_cast<size_t>(k)];
          support::TraceSpan span("trial", "build " + task_.label);
          span.note("way", *schedule);
          known->outcome = within_memory(builder_(*schedule));
          note_rejection(span, known->outcome);
          tell(*schedule, *known, on_rejected);
        }
      });
}

void KernelBench::check(Known& known) {
  support::TraceSpan span("trial", "check " + task_.label);
  span.note("way", std::get<Candidate>(known.outcome).schedule);
  known.checked = true;
  if (auto why = check_->check(std::get<Candidate>(known.outcome))) {
    known.outcome = std::move(*why);
    note_rejection(span, known.outcome);
  } else {
    has_passed_ = true;
  }
}

std::optional<Rejected> KernelBench::make_check() try {
  if (!check_)
    check_ = std::make_unique<KernelCheck>(*task_.arena, task_.kernel, task_.options.dims,
                                           options_.check);
  return std::nullopt;
} catch (const std::exception& error) {
  warn(error);
  return Rejected{Rejected::Why::kInterrupted,
                  fmt::format("there is nothing to check it by: {}", error.what())};
}

void KernelBench::warn(const std::exception& error) {
  if (!has_warned_.exchange(true))
    support::log_warn("search: ways to compute {} cannot be checked, so they do not count: {}",
                      task_.label, error.what());
}

void KernelBench::check(const std::vector<std::string>& schedules, const OnRejected& on_rejected) {
  std::vector<std::pair<const std::string*, Known*>> unchecked;
  for (const std::string& schedule : schedules) {
    Known& known = known_.at(schedule);
    if (!known.checked && std::holds_alternative<Candidate>(known.outcome))
      unchecked.emplace_back(&schedule, &known);
  }
  if (unchecked.empty()) return;
  if (const auto why = make_check()) {
    for (const auto& [schedule, known] : unchecked) {
      known->outcome = *why;
      tell(*schedule, *known, on_rejected);
    }
    return;
  }
  // Which one the others are compared with must not be a matter of chance.
  size_t first = 0;
  const auto check_one = [&](size_t k) {
    const auto& [schedule, known] = unchecked[k];
    check(*known);
    tell(*schedule, *known, on_rejected);
  };
  while (first < unchecked.size() && !has_passed_) check_one(first++);
  support::default_thread_pool().parallel_for(static_cast<int64_t>(first),
                                              static_cast<int64_t>(unchecked.size()), 1,
                                              [&](int64_t begin, int64_t end) {
                                                for (int64_t k = begin; k < end; ++k)
                                                  check_one(static_cast<size_t>(k));
                                              });
  if (const auto revoked = check_->revoked())
    for (auto& [schedule, known] : known_)
      if (const auto* candidate = std::get_if<Candidate>(&known.outcome);
          candidate != nullptr && candidate->schedule == revoked->schedule)
        known.outcome = revoked->why;
}

TensorPlaces KernelBench::places() {
  constexpr int64_t kPage = 4096;
  BenchMemory& memory = options_.memory != nullptr ? *options_.memory : own_memory_;
  std::map<kernel::NodeId, int64_t> offsets;
  int64_t total = 0;
  const auto add = [&](kernel::NodeId id, int64_t bytes) {
    offsets[id] = total;
    total += (bytes + kPage - 1) / kPage * kPage;
  };
  for (const auto& [id, array] : check_->data()) add(id, std::ssize(array.bytes()));
  for (const kernel::Root& root : task_.kernel.roots) {
    const graph::TensorType& type = task_.arena->tensor(root.tensor);
    const int64_t count = graph::element_count(graph::extents_of(type.shape, task_.options.dims));
    add(root.tensor, graph::byte_size(type.dtype, count));
  }
  if (memory.block.size() < total) memory = {runtime::HostMemory(total), nullptr};
  TensorPlaces places;
  for (const auto& [id, offset] : offsets) places[id] = memory.block.data() + offset;
  if (std::exchange(memory.user, this) == this) return places;
  for (const auto& [id, array] : check_->data())
    std::copy(array.bytes().begin(), array.bytes().end(), places[id]);
  return places;
}

Tried KernelBench::try_out_telling(const std::vector<std::string>& schedules,
                                   const OnRejected& on_rejected) {
  build(schedules, on_rejected);
  check(schedules, on_rejected);
  std::vector<const Candidate*> candidates;
  std::vector<size_t> numbers;
  Tried tried;
  tried.results.resize(schedules.size());
  for (size_t k = 0; k < schedules.size(); ++k) {
    const Known& known = known_.at(schedules[k]);
    if (const auto* rejected = std::get_if<Rejected>(&known.outcome)) {
      tried.results[k] = *rejected;
    } else {
      candidates.push_back(&std::get<Candidate>(known.outcome));
      numbers.push_back(k);
    }
  }
  if (candidates.empty()) return tried;
  MeasureOptions how = options_.measure;
  how.threads = threads_of(task_);
  const Measured measured = measure(candidates, places(), team_, how);
  for (size_t k = 0; k < numbers.size(); ++k) tried.results[numbers[k]] = measured.timings[k];
  tried.unreliable = measured.unreliable;
  return tried;
}

}  // namespace luminal::search
