#include "luminal/compiler/explanation_kernels.h"

#include <algorithm>
#include <set>

namespace luminal::compiler {
namespace {

constexpr size_t kMostWays = 6;

class KernelWriter {
 public:
  KernelWriter(const Explanation& explanation, TextLines& lines)
      : all_(explanation), lines_(lines) {}

  void run() {
    lines_.line("\nKernels");
    for (size_t k = 0; k < all_.kernels.size(); ++k) kernel(k);
    other_steps();
    if (!all_.has_reasons)
      lines_.line("  Why not more was fused was not asked for: Options::explain keeps it.");
  }

 private:
  /// Why some steps are no kernels, each reason once.
  void other_steps() {
    std::set<std::string> said;
    for (size_t k = 0; k < all_.steps.size(); ++k) {
      const ExplainedStep& step = all_.steps[k];
      if (step.why.empty() || !said.insert(step.label + step.why).second) continue;
      std::string text = step.why;
      if (!step.no_estimate.empty()) text += "; no estimate: " + step.no_estimate;
      lines_.line("  step {}: {}", k + 1, cut_to(step.label, 80));
      lines_.wrapped("    no kernel ", text);
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
    lines_.line("  {}: {}", steps_of(number), cut_to(kernel.label, 80));
    std::string fused;
    for (const std::string& word : kernel.fused) fused += (fused.empty() ? "" : ", ") + word;
    lines_.wrapped("    fused     ",
                   fmt::format("{} ({} of the graph)", fused, plural(kernel.nodes, "node")));
    if (!kernel.ways.empty())
      lines_.wrapped("    schedule  ",
                     fmt::format("{}: {}", kernel.implementation, way_text(kernel.ways[0])));
    if (kernel.defined_flops > 0)
      lines_.wrapped("    flops     ",
                     fmt::format("{} by this algorithm; as it is defined it would take {}",
                                 count_text(kernel.flops), count_text(kernel.defined_flops)));
    loops(kernel);
    for (const plan::Boundary& boundary : kernel.boundaries) this->boundary(boundary);
    if (!kernel.refused.empty()) lines_.wrapped("    refused   ", refusals(kernel.refused));
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
      lines_.wrapped((first ? "    loops     " : "              ") + std::string(indent, ' '),
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
    lines_.wrapped("    not more  ", text);
    if (boundary.fused_us > 0 && !boundary.refused.empty() && boundary.fused_way == "nest")
      lines_.wrapped("              ", "templates for that: " + refusals(boundary.refused));
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
      lines_.wrapped(way.rejected.empty() ? "    instead   " : "    rejected  ", way_text(way));
    }
    const size_t left = kernel.ways.empty() ? 0 : kernel.ways.size() - 1 - shown;
    if (left > 0)
      lines_.line("              and {} more, {} of all rejected; --json has them", left, rejected);
  }

  const Explanation& all_;
  TextLines& lines_;
};

}  // namespace

void write_kernels(const Explanation& explanation, TextLines& lines) {
  KernelWriter(explanation, lines).run();
}

}  // namespace luminal::compiler
