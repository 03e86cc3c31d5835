// The rows that every suite writes, for tools/bench_report.py and whoever else compares.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace luminal::benchmarks {

/// What one case gave. Times are in microseconds.
struct ResultRow {
  std::string suite;
  std::string name;
  std::string dtype;
  double ours = 0;
  double fast = 0;  ///< of the plan that was not searched
  double compile = 0;
  std::map<std::string, double> peers = {};
  double bytes = 0;               ///< the least that has to move
  double flops = 0;               ///< of products
  double bandwidth_fraction = 0;  ///< of copying, in the same run
  double read_fraction = 0;       ///< of reading
  double compute_fraction = 0;    ///< of products in registers
  size_t e_nodes = 0;             ///< of the e-graph, where the suite counts them
};

/// What searches gained over plans without one, for people: the geometric mean over all rows and
/// the ten largest.
std::string gains_text(const std::vector<ResultRow>& rows);

/// Writes rows as a JSON list. `commit` is what they were measured of. Throws UserError if the file
/// cannot be written.
void write_rows(const std::string& path, const std::vector<ResultRow>& rows,
                const std::string& device, const std::string& commit);

}  // namespace luminal::benchmarks
