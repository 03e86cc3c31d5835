#include "luminal/compiler/search_options.h"

#include <fmt/format.h>

namespace luminal::compiler {

std::string to_string(const SearchReport& report) {
  std::string text = fmt::format(
      "search: {}{} structures of {} kernels; {} trials now, {} known before, {} "
      "rejected{}{}{}{}\n",
      report.recalled ? "found by an earlier one: " : "", report.structures, report.kernels,
      report.measured, report.known, report.rejected, report.finished ? "" : "; not finished",
      report.interrupted ? "; interrupted" : "", report.unreliable ? "; times were unreliable" : "",
      report.untried > 0 ? fmt::format("; no time to try {} of the kernels", report.untried) : "");
  if (!report.fault.empty())
    text +=
        fmt::format("  the plan is known to be wrong, and there is no other: {}\n", report.fault);
  if (report.fast_us == 0 && report.best_us > 0)
    text += fmt::format("  a run: {:.1f} us; the plan of the cost model does not count\n",
                        report.best_us);
  if (report.fast_us > 0)
    text += fmt::format("  a run: {:.1f} us, by the cost model alone {:.1f} us\n", report.best_us,
                        report.fast_us);
  if (report.model.kernels > 1)  // one alone has no rank
    text += fmt::format(
        "  the cost model ranks {} known kernels with {:.2f} (fitted {:.2f}), {:.0f} % of pairs "
        "({:.0f} %), typical factor {:.2f} ({:.2f})\n",
        report.model.kernels, report.model.rank_correlation, report.fitted_model.rank_correlation,
        100 * report.model.pairs_in_order, 100 * report.fitted_model.pairs_in_order,
        report.model.typical_factor, report.fitted_model.typical_factor);
  for (const KernelGain& gain : report.gains) {
    const std::string before = gain.default_us > 0 ? fmt::format("{:.1f}", gain.default_us)
                                                   : "a default that does not count";
    text += fmt::format("  {:.1f} us instead of {}, {} times: {}, {}\n", gain.best_us, before,
                        gain.uses, gain.label, gain.schedule);
  }
  return text;
}

}  // namespace luminal::compiler
