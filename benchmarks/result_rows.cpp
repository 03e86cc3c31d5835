#include "benchmarks/result_rows.h"

#include <fmt/format.h>

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
