#include "benchmarks/result_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "luminal/support/file.h"

namespace luminal::benchmarks {
namespace {

std::string json(const ResultRow& row, const RowOrigin& origin) {
  std::string peers;
  for (const auto& [peer, us] : row.peers)
    peers += fmt::format("{}\"{}\": {}", peers.empty() ? "" : ", ", peer,
                         std::isnan(us) ? "null" : fmt::format("{:.3f}", us));
  return fmt::format(
      "{{\"suite\": \"{}\", \"case\": \"{}\", \"device\": \"{}\", \"dtype\": \"{}\", "
      "\"ours_us\": {:.3f}, \"fast_us\": {:.3f}, \"compile_us\": {:.0f}, "
      "\"search_budget_s\": {:g}, \"search_s\": {:.2f}, \"peers\": {{{}}}, "
      "\"bytes\": {:.0f}, \"flops\": {:.0f}, \"bandwidth_fraction\": {:.4f}, "
      "\"read_fraction\": {:.4f}, \"compute_fraction\": {:.4f}, \"peak_gflops\": {:.1f}, "
      "\"matrix_registers\": {}, \"round_trip_ns\": {:.0f}, \"e_nodes\": {}, "
      "\"processor\": \"{}\", \"threads\": {}, \"commit\": \"{}\", \"measured_at\": {}}}",
      row.suite, row.name, origin.device, row.dtype, row.ours, row.fast, row.compile,
      row.search_budget, row.search_took, peers, row.bytes, row.flops, row.bandwidth_fraction,
      row.read_fraction, row.compute_fraction, row.peak_gflops, row.matrix_registers,
      row.round_trip, row.e_nodes, origin.processor, origin.threads, origin.commit,
      std::time(nullptr));
}

}  // namespace

std::string gains_text(const std::vector<ResultRow>& rows) {
  constexpr size_t kMost = 10;
  std::vector<std::pair<double, const ResultRow*>> gains;
  double logarithms = 0;
  for (const ResultRow& row : rows) {
    gains.emplace_back(row.fast / row.ours, &row);
    logarithms += std::log(gains.back().first);
  }
  if (rows.empty()) return "no case was searched\n";
  std::stable_sort(gains.begin(), gains.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text = fmt::format(
      "search over the plan without one: {:.3f}x (geometric mean of {}), least {:.3f}x; most:\n",
      std::exp(logarithms / static_cast<double>(rows.size())), rows.size(), gains.back().first);
  gains.resize(std::min(gains.size(), kMost));
  for (const auto& [gain, row] : gains)
    text += fmt::format("  {:>6.3f}x  {} {} ({:.1f} us instead of {:.1f})\n", gain, row->name,
                        row->dtype, row->ours, row->fast);
  return text;
}

RowFile::RowFile(std::string path, RowOrigin origin)
    : path_(std::move(path)), origin_(std::move(origin)) {
  if (!path_.empty()) support::check_writable(path_, "bench --json");
}

void RowFile::add(const ResultRow& row) {
  if (path_.empty()) return;
  rows_ += (rows_.empty() ? "\n  " : ",\n  ") + json(row, origin_);
  support::write_file_atomic(path_, "[" + rows_ + "\n]\n", "bench --json");
}

}  // namespace luminal::benchmarks
