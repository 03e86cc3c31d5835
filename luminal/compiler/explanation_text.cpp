#include <algorithm>
#include <cmath>
#include <map>

#include "luminal/compiler/explanation.h"
#include "luminal/compiler/explanation_kernels.h"
#include "luminal/compiler/explanation_words.h"
#include "luminal/runtime/cpu/round_trip.h"

namespace luminal::compiler {
namespace {

constexpr size_t kSlowest = 5;
constexpr size_t kMostAliases = 12;

class TextWriter {
 public:
  TextWriter(const Explanation& explanation, const ExplainText& how)
      : all_(explanation), how_(how), has_times_(how.times && explanation.measured_us > 0) {}

  std::string run() {
    summary();
    if (has_times_) slowest();
    steps();
    if (how_.details) write_kernels(all_, lines_);
    memory();
    if (all_.search) search();
    for (const Explanation& variant : all_.variants) {
      lines_.line("");
      lines_.append(TextWriter(variant, how_).run());
    }
    return lines_.take();
  }

 private:
  // ---- The whole.

  void summary() {
    size_t launches = 0, others = 0, once = 0;
    for (const ExplainedStep& step : all_.steps) {
      if (step.once)
        ++once;
      else
        ++(step.kind == "launch" ? launches : others);
    }
    std::string head = all_.title.empty() ? "" : all_.title + ": ";
    head += plural(launches, "launch");
    if (launches != 1) head.insert(head.size() - 1, "e");
    if (others > 0) head += fmt::format(" and {}", plural(others, "other step"));
    head += fmt::format(" of {}", plural(all_.kernels.size(), "kernel"));
    if (has_times_) head += fmt::format(", {} a run", time_text(run_us()));
    head += fmt::format(", {} by the model", time_text(all_.estimated_us));
    lines_.line("{}", head);
    if (has_times_) against_best();
    if (!all_.not_run.empty()) lines_.line("  not run: {}", all_.not_run);
    if (once > 0)
      lines_.line("  {} of weights and constants, run once for all runs", plural(once, "step"));
    if (!all_.dims.empty()) {
      std::string dims;
      for (const auto& [name, value] : all_.dims)
        dims += fmt::format("{}{} = {}", dims.empty() ? "" : ", ", name, value);
      lines_.wrapped("  ",
                     "with " + dims +
                         (all_.as_estimated ? "" : "; estimates are for other dims, see the plan"));
    }
    if (how_.times && all_.limits) machine(*all_.limits);
  }

  void against_best() {
    if (all_.floor_us > 0)
      lines_.line("  {} of what this machine can do at best, which is {}{}",
                  percent(all_.floor_us, run_us()), time_text(all_.floor_us),
                  all_.floor_us < run_us() ? "; the rest is explained below" : "");
    if (all_.run_us > 0)
      lines_.line("  that is the median of whole runs; its steps, each timed apart, take {}",
                  time_text(all_.measured_us));
    if (is_above(all_.floor_us, run_us()))
      lines_.wrapped("  ",
                     "That is more than all: what steps read was in nearer caches than is reckoned "
                     "with, or other work kept the machine busy while its limits were measured.");
  }

  /// Whether more than 100 % is shown.
  static bool is_above(double part, double whole) { return std::round(100 * part / whole) > 100; }

  void machine(const search::MachineLimits& limits) {
    std::string reads;
    for (const search::MachineLimits::Reads& each : limits.reads)
      reads += fmt::format(
          "{}{:.3g} GB/s from {}", reads.empty() ? "" : ", ", each.rate * 1e-9,
          &each == &limits.reads.back() ? "memory" : size_text(static_cast<double>(each.bytes)));
    std::string peaks = fmt::format("{:.3g} Gflop/s in f32", limits.f32_flops * 1e-9);
    if (limits.bf16_flops > 0) peaks += fmt::format(", {:.3g} in bf16", limits.bf16_flops * 1e-9);
    if (limits.i8_flops > 0) peaks += fmt::format(", {:.3g} in i8", limits.i8_flops * 1e-9);
    if (limits.round_trip >= runtime::kLeastOfApart)
      peaks += fmt::format("; cores that share no cache: {:.2g} us for a word and its answer",
                           limits.round_trip * 1e6);
    lines_.wrapped("  machine: ", fmt::format("{}; reads {}; {}",
                                              plural(static_cast<size_t>(limits.threads), "thread"),
                                              reads, peaks));
  }

  /// What a run takes: as a whole, if that is known.
  double run_us() const { return all_.run_us > 0 ? all_.run_us : all_.measured_us; }

  /// Equal steps are one: the same kernels in the same launch.
  struct Sum {
    const ExplainedStep* step = nullptr;
    size_t count = 0;
    double measured_us = 0;
    double floor_us = 0;
  };

  static std::string key_of(const ExplainedStep& step) {
    std::string key = fmt::format("{} {} {} {} {}", step.once, step.kind, step.part,
                                  step.kernels.empty() ? step.label : "", step.schedule);
    for (const size_t kernel : step.kernels) key += fmt::format(" {}", kernel);
    return key;
  }

  std::vector<Sum> sums() const {
    std::vector<Sum> result;
    std::map<std::string, size_t> known;
    for (const ExplainedStep& step : all_.steps) {
      if (step.once) continue;
      const auto [place, is_new] = known.emplace(key_of(step), result.size());
      if (is_new) result.push_back({&step, 0, 0, 0});
      Sum& sum = result[place->second];
      ++sum.count;
      sum.measured_us += step.measured_us;
      sum.floor_us += step.floor_us;
    }
    return result;
  }

  void slowest() {
    std::vector<Sum> order = sums();
    std::stable_sort(order.begin(), order.end(),
                     [](const Sum& a, const Sum& b) { return a.measured_us > b.measured_us; });
    lines_.line("\nWhere the time goes");
    for (size_t k = 0; k < order.size() && k < kSlowest; ++k) {
      const Sum& sum = order[k];
      const std::string times = sum.count > 1 ? fmt::format("{} x ", sum.count) : "";
      std::string text = fmt::format("  {:>9}  {:>5}  {:<60}", time_text(sum.measured_us),
                                     percent(sum.measured_us, all_.measured_us),
                                     cut_to(times + sum.step->label, 60));
      if (sum.floor_us > 0)
        text += fmt::format("  {} of best, {}", percent(sum.floor_us, sum.measured_us),
                            sum.step->bound);
      lines_.line("{}", text);
    }
    of_best();
  }

  /// What a part of the best is, which stands in two tables.
  void of_best() {
    const auto is_known = [](const ExplainedStep& step) {
      return !step.once && step.floor_us > 0 && step.measured_us > 0;
    };
    const auto is_beyond = [&](const ExplainedStep& step) {
      return is_known(step) && is_above(step.floor_us, step.measured_us);
    };
    if (std::none_of(all_.steps.begin(), all_.steps.end(), is_known)) return;
    std::string text =
        "the least time that bytes and flops take at the machine's limits, as a part of the time "
        "that was measured";
    if (std::any_of(all_.steps.begin(), all_.steps.end(), is_beyond))
      text +=
          "; more than 100 %: data was still in a nearer cache than the one that holds all of a "
          "run, whose limit counts, or other work ran while limits were measured";
    lines_.wrapped("  of best: ", text);
  }

  // ---- Steps.

  void steps() {
    lines_.line("\nWhat runs, in order");
    std::string head = fmt::format("  {:>4}  {:<40} {:<22}", "", "computes", "by");
    if (has_times_) head += fmt::format(" {:>9} {:>9}", "measured", "of best");
    lines_.line("{} {:>9} {:>9} {:>8}", head, "estimate", "bytes", "flops");
    std::vector<size_t> once, every;
    for (size_t k = 0; k < all_.steps.size(); ++k) (all_.steps[k].once ? once : every).push_back(k);
    if (!once.empty()) {
      lines_.line("  once:");
      list(once);
      lines_.line("  in every run:");
    }
    list(every);
  }

  /// Steps of a list, repeated parts once.
  void list(const std::vector<size_t>& steps) {
    std::vector<std::string> keys;
    for (const size_t step : steps) keys.push_back(key_of(all_.steps[step]));
    for (size_t k = 0; k < steps.size();) {
      const auto [period, times] =
          how_.all_steps ? std::pair<size_t, size_t>(1, 1) : repeat_at(keys, k);
      if (times > 1)
        lines_.line("  {} times{}:", times, period > 1 ? fmt::format(", {} steps", period) : "");
      for (size_t i = 0; i < period; ++i) step(steps, k + i, period, times);
      if (times > 1 && k + period * times < steps.size()) lines_.line("  then:");
      k += period * times;
    }
  }

  /// How long a part is that begins here and is repeated, and how often; the one that covers most.
  static std::pair<size_t, size_t> repeat_at(const std::vector<std::string>& keys, size_t begin) {
    constexpr size_t kLongest = 256;
    std::pair<size_t, size_t> best(1, 1);
    for (size_t period = 1; period <= kLongest && begin + 2 * period <= keys.size(); ++period) {
      size_t times = 1;
      while (begin + (times + 1) * period <= keys.size() &&
             std::equal(keys.begin() + static_cast<int64_t>(begin),
                        keys.begin() + static_cast<int64_t>(begin + period),
                        keys.begin() + static_cast<int64_t>(begin + times * period)))
        ++times;
      if (times > 1 && period * times > best.first * best.second) best = {period, times};
    }
    return best;
  }

  /// One line; of a repeated step with the mean of its times.
  void step(const std::vector<size_t>& steps, size_t first, size_t period, size_t times) {
    const ExplainedStep& step = all_.steps[steps[first]];
    double measured = 0, floor = 0;
    for (size_t k = 0; k < times; ++k) {
      measured += all_.steps[steps[first + k * period]].measured_us;
      floor += all_.steps[steps[first + k * period]].floor_us;
    }
    std::string label = step.label;
    if (step.parts > 1) label += fmt::format(", {} of {}", step.part, step.parts);
    std::string text = fmt::format("  {:>4}  {:<40} {:<22}", fmt::format("{}.", steps[first] + 1),
                                   cut_to(label, 40), cut_to(step.implementation, 22));
    const auto count = static_cast<double>(times);
    if (has_times_)
      text += fmt::format(" {:>9} {:>9}", measured > 0 ? time_text(measured / count) : "",
                          measured > 0 ? percent(floor, measured) : "");
    lines_.line(
        "{} {:>9} {:>9} {:>8}", text, step.estimated_us > 0 ? time_text(step.estimated_us) : "",
        step.bytes > 0 ? size_text(step.bytes) : "", step.flops > 0 ? count_text(step.flops) : "");
  }

  // ---- Memory.

  void memory() {
    const ExplainedMemory& memory = all_.memory;
    const auto size = [](int64_t bytes) { return size_text(static_cast<double>(bytes)); };
    lines_.line("\nMemory");
    if (memory.slots == 0)
      lines_.line("  values between steps: none");
    else
      lines_.line("  values between steps: {} in {}, of which at most {} are in use{}",
                  size(memory.arena_bytes), plural(memory.slots, "slot"), size(memory.peak_bytes),
                  memory.peak_step > 0 ? fmt::format(" (step {})", memory.peak_step) : "");
    lines_.line("  inputs {}, constants {}, prepared weights {}, results {}",
                size(memory.input_bytes), size(memory.constant_bytes), size(memory.prepared_bytes),
                size(memory.result_bytes));
    if (memory.peak_bytes > 0) over_time();
    for (size_t k = 0; k < memory.aliases.size() && k < kMostAliases; ++k) {
      const ExplainedAlias& alias = memory.aliases[k];
      lines_.line("  {} has the memory of {}: {}", cut_to(alias.value, 40), cut_to(alias.of, 40),
                  alias.why);
    }
    if (memory.aliases.size() > kMostAliases)
      lines_.line("  and {} more like these", memory.aliases.size() - kMostAliases);
  }

  /// The arena over the steps: as many columns as there are steps, or the most of several steps.
  void over_time() {
    static constexpr const char* kLevels[] = {" ", ".", ":", "-", "=", "+", "*", "#", "%", "@"};
    constexpr size_t kWidth = 100;
    const std::vector<int64_t>& live = all_.memory.live;
    const size_t columns = std::min(kWidth, live.size());
    std::string text;
    for (size_t column = 0; column < columns; ++column) {
      int64_t most = 0;
      for (size_t k = column * live.size() / columns; k < (column + 1) * live.size() / columns; ++k)
        most = std::max(most, live[k]);
      const auto level = static_cast<size_t>(
          std::ceil(9.0 * static_cast<double>(most) / static_cast<double>(all_.memory.peak_bytes)));
      text += kLevels[level];
    }
    lines_.line("  over the run: [{}]", text);
  }

  // ---- The search.

  void search() {
    lines_.line("\nSearch");
    const SearchReport& report = *all_.search;
    lines_.line("  {}, {} looked at; {} trials now, {} known before, {} rejected{}{}{}{}",
                plural(report.structures, "structure"), plural(report.kernels, "kernel"),
                report.measured, report.known, report.rejected,
                report.finished ? "" : "; not finished", report.interrupted ? "; interrupted" : "",
                report.unreliable ? "; times were unreliable" : "",
                report.untried > 0
                    ? fmt::format("; no time to try {} of the kernels", report.untried)
                    : "");
    for (const ExplainedWay& trial : all_.structures) {
      std::string text = trial.schedule;
      if (trial.measured_us > 0) text += fmt::format(": {} a run", time_text(trial.measured_us));
      if (trial.estimated_us > 0)
        text += fmt::format("{} its kernels {}", trial.measured_us > 0 ? "," : ":",
                            time_text(trial.estimated_us));
      if (!trial.rejected.empty() || !trial.why.empty()) text += "; " + trial.rejected + trial.why;
      lines_.wrapped(trial.used ? "  used  " : "        ", text);
    }
  }

  const Explanation& all_;
  const ExplainText& how_;
  bool has_times_;
  TextLines lines_;
};

}  // namespace

std::string to_string(const Explanation& explanation, const ExplainText& how) {
  return TextWriter(explanation, how).run();
}

}  // namespace luminal::compiler
