#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "luminal/compiler/explanation.h"

namespace luminal::compiler {
namespace {

constexpr size_t kColumns = 120;
constexpr size_t kSlowest = 5;
constexpr size_t kMostWays = 6;
constexpr size_t kMostAliases = 12;

/// "17.2 MB".
std::string size_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 999.5 && unit + 1 < std::size(kUnits)) {
    bytes /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.3g} {}", bytes, kUnits[unit]);
}

/// "3.1 G" of operations.
std::string count_text(double count) {
  static constexpr const char* kUnits[] = {"", " k", " M", " G", " T"};
  size_t unit = 0;
  while (count >= 999.5 && unit + 1 < std::size(kUnits)) {
    count /= 1000;
    ++unit;
  }
  return fmt::format("{:.3g}{}", count, kUnits[unit]);
}

std::string time_text(double microseconds) {
  if (microseconds >= 999500) return fmt::format("{:.3g} s", microseconds * 1e-6);
  if (microseconds >= 999.5) return fmt::format("{:.3g} ms", microseconds * 1e-3);
  return fmt::format("{:.3g} us", microseconds);
}

std::string cut_to(std::string text, size_t width) {
  // Names may be UTF-8: never end inside of a character.
  if (text.size() <= width) return text;
  size_t end = width - 2;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "..";
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.0f} %", 100 * part / whole) : "";
}

std::string plural(size_t count, const std::string& what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

class TextWriter {
 public:
  TextWriter(const Explanation& explanation, const ExplainText& how)
      : all_(explanation), how_(how), has_times_(how.times && explanation.measured_us > 0) {}

  std::string run() {
    summary();
    if (has_times_) slowest();
    steps();
    if (how_.details) kernels();
    memory();
    if (all_.search) search();
    for (const Explanation& variant : all_.variants) {
      text_ += "\n";
      text_ += TextWriter(variant, how_).run();
    }
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    std::string text = fmt::format(format, std::forward<Args>(args)...);
    text.erase(text.find_last_not_of(' ') + 1);
    text_ += text + "\n";
  }

  /// A paragraph: further lines are indented like its first word after `lead`.
  void wrapped(const std::string& lead, const std::string& text) {
    const std::string indent(lead.size(), ' ');
    std::string current = lead;
    bool empty = true;
    size_t begin = 0;
    while (begin <= text.size()) {
      const size_t end = std::min(text.find(' ', begin), text.size());
      const std::string word = text.substr(begin, end - begin);
      if (!empty && current.size() + 1 + word.size() > kColumns) {
        line("{}", current);
        current = indent;
        empty = true;
      }
      current += (empty ? "" : " ") + word;
      empty = false;
      begin = end + 1;
    }
    line("{}", current);
  }

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
    line("{}", head);
    if (has_times_ && all_.floor_us > 0)
      line("  {} of what this machine can do at best, which is {}; the rest is explained below",
           percent(all_.floor_us, run_us()), time_text(all_.floor_us));
    if (has_times_ && all_.run_us > 0)
      line("  that is the median of whole runs; its steps, each timed apart, take {}",
           time_text(all_.measured_us));
    if (has_times_ && all_.floor_us > 1.05 * run_us())
      line(
          "  That is more than all: the machine was busy with other work while limits were "
          "measured.");
    if (once > 0)
      line("  {} of weights and constants, run once for all runs", plural(once, "step"));
    if (!all_.dims.empty()) {
      std::string dims;
      for (const auto& [name, value] : all_.dims)
        dims += fmt::format("{}{} = {}", dims.empty() ? "" : ", ", name, value);
      wrapped("  ", "with " + dims +
                        (all_.as_estimated ? "" : "; estimates are for other dims, see the plan"));
    }
    if (how_.times && all_.limits) machine(*all_.limits);
  }

  void machine(const search::MachineLimits& limits) {
    std::string reads;
    for (const search::MachineLimits::Reads& each : limits.reads)
      reads += fmt::format(
          "{}{:.3g} GB/s from {}", reads.empty() ? "" : ", ", each.rate * 1e-9,
          &each == &limits.reads.back() ? "memory" : size_text(static_cast<double>(each.bytes)));
    std::string peaks = fmt::format("{:.3g} Gflop/s in f32", limits.f32_flops * 1e-9);
    if (limits.bf16_flops > 0) peaks += fmt::format(", {:.3g} in bf16", limits.bf16_flops * 1e-9);
    if (limits.i8_flops > 0) peaks += fmt::format(", {:.3g} in i8", limits.i8_flops * 1e-9);
    wrapped("  machine: ",
            fmt::format("{}; reads {}; {}", plural(static_cast<size_t>(limits.threads), "thread"),
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
    line("\nWhere the time goes");
    for (size_t k = 0; k < order.size() && k < kSlowest; ++k) {
      const Sum& sum = order[k];
      const std::string times = sum.count > 1 ? fmt::format("{} x ", sum.count) : "";
      std::string text = fmt::format("  {:>9}  {:>5}  {:<60}", time_text(sum.measured_us),
                                     percent(sum.measured_us, all_.measured_us),
                                     cut_to(times + sum.step->label, 60));
      if (sum.floor_us > 0)
        text += fmt::format("  {} of best, {}", percent(sum.floor_us, sum.measured_us),
                            sum.step->bound);
      line("{}", text);
    }
  }

  // ---- Steps.

  void steps() {
    line("\nWhat runs, in order");
    std::string head = fmt::format("  {:>4}  {:<40} {:<22}", "", "computes", "by");
    if (has_times_) head += fmt::format(" {:>9} {:>9}", "measured", "of best");
    line("{} {:>9} {:>9} {:>8}", head, "estimate", "bytes", "flops");
    std::vector<size_t> once, every;
    for (size_t k = 0; k < all_.steps.size(); ++k) (all_.steps[k].once ? once : every).push_back(k);
    if (!once.empty()) {
      line("  once:");
      list(once);
      line("  in every run:");
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
        line("  {} times{}:", times, period > 1 ? fmt::format(", {} steps", period) : "");
      for (size_t i = 0; i < period; ++i) step(steps, k + i, period, times);
      if (times > 1 && k + period * times < steps.size()) line("  then:");
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
    line("{} {:>9} {:>9} {:>8}", text, step.estimated_us > 0 ? time_text(step.estimated_us) : "",
         step.bytes > 0 ? size_text(step.bytes) : "", step.flops > 0 ? count_text(step.flops) : "");
  }

  // ---- Kernels.

  void kernels() {
    line("\nKernels");
    for (size_t k = 0; k < all_.kernels.size(); ++k) kernel(k);
    other_steps();
    if (!all_.has_reasons)
      line("  Why not more was fused was not asked for: Options::explain keeps it.");
  }

  /// Why some steps are no kernels, each reason once.
  void other_steps() {
    std::set<std::string> said;
    for (size_t k = 0; k < all_.steps.size(); ++k) {
      const ExplainedStep& step = all_.steps[k];
      if (step.why.empty() || !said.insert(step.label + step.why).second) continue;
      std::string text = step.why;
      if (!step.no_estimate.empty()) text += "; no estimate: " + step.no_estimate;
      line("  step {}: {}", k + 1, cut_to(step.label, 80));
      wrapped("    no kernel ", text);
    }
  }

  /// Steps that run a kernel: "step 3", "steps 4 to 7", "32 steps from 4 on".
  std::string steps_of(size_t kernel) const {
    std::vector<size_t> found;
    for (size_t k = 0; k < all_.steps.size(); ++k) {
      const std::vector<size_t>& runs = all_.steps[k].kernels;
      if (std::find(runs.begin(), runs.end(), kernel) != runs.end()) found.push_back(k + 1);
    }
    if (found.empty()) return "no step";
    if (found.size() == 1) return fmt::format("step {}", found[0]);
    if (found.size() <= 4) {
      std::string text;
      for (const size_t step : found) text += fmt::format("{}{}", text.empty() ? "" : ", ", step);
      return "steps " + text;
    }
    return fmt::format("{} steps from {} on", found.size(), found[0]);
  }

  void kernel(size_t number) {
    const ExplainedKernel& kernel = all_.kernels[number];
    line("  {}: {}", steps_of(number), cut_to(kernel.label, 80));
    std::string fused;
    for (const std::string& word : kernel.fused) fused += (fused.empty() ? "" : ", ") + word;
    wrapped("    fused     ",
            fmt::format("{} ({} of the graph)", fused, plural(kernel.nodes, "node")));
    if (!kernel.ways.empty())
      wrapped("    schedule  ",
              fmt::format("{}: {}", kernel.implementation, way_text(kernel.ways[0])));
    loops(kernel);
    for (const plan::Boundary& boundary : kernel.boundaries) this->boundary(boundary);
    if (!kernel.refused.empty()) wrapped("    refused   ", refusals(kernel.refused));
    others(kernel);
  }

  /// The loops of templates; those of nests are what the kernel computes, and long.
  void loops(const ExplainedKernel& kernel) {
    if (kernel.implementation == "loop nest" || kernel.implementation == "scan") return;
    size_t begin = 0;
    for (bool first = true; begin < kernel.loops.size(); first = false) {
      const size_t end = kernel.loops.find('\n', begin);
      const std::string text = kernel.loops.substr(begin, end - begin);
      const size_t indent = text.find_first_not_of(' ');
      wrapped((first ? "    loops     " : "              ") + std::string(indent, ' '),
              text.substr(indent));
      begin = end + 1;
    }
  }

  static std::string refusals(const std::vector<plan::RefusedTemplate>& refused) {
    std::string text;
    for (const plan::RefusedTemplate& each : refused)
      text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", each.name, each.why);
    return text;
  }

  void boundary(const plan::Boundary& boundary) {
    std::string text = boundary.value;
    if (!boundary.readers.empty()) {
      text += " goes to ";
      for (size_t k = 0; k < boundary.readers.size(); ++k)
        text += (k > 0 ? " | " : "") + boundary.readers[k];
    }
    text += ": " + boundary.why;
    if (boundary.fused_us > 0)
      text += fmt::format(" ({} instead of {}, by {})", time_text(boundary.fused_us),
                          time_text(boundary.stored_us), boundary.fused_way);
    wrapped("    not more  ", text);
    if (boundary.fused_us > 0 && !boundary.refused.empty() && boundary.fused_way == "nest")
      wrapped("              ", "templates for that: " + refusals(boundary.refused));
  }

  static std::string way_text(const ExplainedWay& way) {
    std::string text = way.schedule;
    if (!way.rejected.empty()) return text + ": " + way.rejected;
    if (way.measured_us > 0)
      text += fmt::format(", measured {} alone", time_text(way.measured_us));
    else
      text += fmt::format(", about {}", time_text(way.estimated_us));
    return way.why.empty() ? text : text + ": " + way.why;
  }

  void others(const ExplainedKernel& kernel) {
    size_t rejected = 0;
    for (const ExplainedWay& way : kernel.ways) rejected += way.rejected.empty() ? 0 : 1;
    size_t shown = 0;
    for (const ExplainedWay& way : kernel.ways) {
      if (way.used || shown == kMostWays) continue;
      ++shown;
      wrapped(way.rejected.empty() ? "    instead   " : "    rejected  ", way_text(way));
    }
    const size_t left = kernel.ways.empty() ? 0 : kernel.ways.size() - 1 - shown;
    if (left > 0)
      line("              and {} more, {} of all rejected; --json has them", left, rejected);
  }

  // ---- Memory.

  void memory() {
    const ExplainedMemory& memory = all_.memory;
    const auto size = [](int64_t bytes) { return size_text(static_cast<double>(bytes)); };
    line("\nMemory");
    if (memory.slots == 0)
      line("  values between steps: none");
    else
      line("  values between steps: {} in {}, of which at most {} are in use (step {})",
           size(memory.arena_bytes), plural(memory.slots, "slot"), size(memory.peak_bytes),
           first_step() + memory.peak_step);
    line("  inputs {}, constants {}, prepared weights {}, results {}", size(memory.input_bytes),
         size(memory.constant_bytes), size(memory.prepared_bytes), size(memory.result_bytes));
    if (memory.peak_bytes > 0) over_time();
    for (size_t k = 0; k < memory.aliases.size() && k < kMostAliases; ++k) {
      const ExplainedAlias& alias = memory.aliases[k];
      line("  {} has the memory of {}: {}", cut_to(alias.value, 40), cut_to(alias.of, 40),
           alias.why);
    }
    if (memory.aliases.size() > kMostAliases)
      line("  and {} more like these", memory.aliases.size() - kMostAliases);
  }

  /// Steps are counted from those on that run once.
  size_t first_step() const {
    size_t once = 1;
    for (const ExplainedStep& step : all_.steps) once += step.once ? 1 : 0;
    return once;
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
    line("  over the run: [{}]", text);
  }

  // ---- The search.

  void search() {
    line("\nSearch");
    const SearchReport& report = *all_.search;
    line("  {}, {} looked at; {} trials now, {} known, {} rejected{}{}",
         plural(report.structures, "structure"), plural(report.kernels, "kernel"), report.measured,
         report.known, report.rejected, report.finished ? "" : "; not finished",
         report.unreliable ? "; times were unreliable" : "");
    for (const ExplainedWay& trial : all_.structures) {
      std::string text = trial.schedule;
      if (trial.measured_us > 0) text += fmt::format(": {} a run", time_text(trial.measured_us));
      if (trial.estimated_us > 0)
        text += fmt::format("{} its kernels {}", trial.measured_us > 0 ? "," : ":",
                            time_text(trial.estimated_us));
      if (!trial.rejected.empty() || !trial.why.empty()) text += "; " + trial.rejected + trial.why;
      wrapped(trial.used ? "  used  " : "        ", text);
    }
  }

  const Explanation& all_;
  const ExplainText& how_;
  bool has_times_;
  std::string text_;
};

}  // namespace

std::string to_string(const Explanation& explanation, const ExplainText& how) {
  return TextWriter(explanation, how).run();
}

}  // namespace luminal::compiler
