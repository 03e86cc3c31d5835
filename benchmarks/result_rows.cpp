#include "benchmarks/result_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>

#include "luminal/support/error.h"

namespace luminal::benchmarks {
namespace {

std::string json(const ResultRow& row, const std::string& device, const std::string& commit) {
  std::string peers;
  for (const auto& [peer, us] : row.peers)
    peers += fmt::format("{}\"{}\": {:.3f}", peers.empty() ? "" : ", ", peer, us);
  return fmt::format(
      "{{\"suite\": \"{}\", \"case\": \"{}\", \"device\": \"{}\", \"dtype\": \"{}\", "
      "\"ours_us\": {:.3f}, \"fast_us\": {:.3f}, \"compile_us\": {:.0f}, \"peers\": {{{}}}, "
      "\"bytes\": {:.0f}, \"flops\": {:.0f}, \"bandwidth_fraction\": {:.4f}, "
      "\"read_fraction\": {:.4f}, \"compute_fraction\": {:.4f}, \"e_nodes\": {}, "
      "\"commit\": \"{}\", \"measured_at\": {}}}",
      row.suite, row.name, device, row.dtype, row.ours, row.fast, row.compile, peers, row.bytes,
      row.flops, row.bandwidth_fraction, row.read_fraction, row.compute_fraction, row.e_nodes,
      commit, std::time(nullptr));
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

void write_rows(const std::string& path, const std::vector<ResultRow>& rows,
                const std::string& device, const std::string& commit) {
  std::ofstream file(path);
  file << '[';
  for (size_t k = 0; k < rows.size(); ++k)
    file << (k == 0 ? "\n  " : ",\n  ") << json(rows[k], device, commit);
  file << "\n]\n";
  file.close();
  if (!file) throw UserError("bench", "cannot write the rows to {}", path);
}

}  // namespace luminal::benchmarks
