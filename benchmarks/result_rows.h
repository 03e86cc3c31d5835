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
  double search_budget = 0;                  ///< seconds; 0: there was no search
  double search_took = 0;                    ///< seconds
  std::map<std::string, double> peers = {};  ///< NaN: it failed
  double bytes = 0;                          ///< the least that has to move
  double flops = 0;                          ///< of products
  double bandwidth_fraction = 0;             ///< of copying, in the same run
  double read_fraction = 0;                  ///< of reading
  double compute_fraction = 0;               ///< of products in registers
  double peak_gflops = 0;                    ///< of these, for this dtype; 0: not measured
  bool matrix_registers = false;             ///< these multiply there, not vectors
  double round_trip = 0;                     ///< ns, of a word to another thread and back; 0: none
  size_t e_nodes = 0;                        ///< of the e-graph, where the suite counts them
};

/// What searches gained over plans without one, for people: the geometric mean over all rows and
/// the ten largest.
std::string gains_text(const std::vector<ResultRow>& rows);

/// Where rows were measured, and what of.
struct RowOrigin {
  std::string device;
  std::string processor = {};  ///< as the compiler calls it
  int threads = 0;             ///< that ran ours; 0: what was measured is no run
  std::string commit = {};
};

/// A JSON list of rows in a file, whole at any time: who ends a run early keeps what was measured.
class RowFile {
 public:
  /// An empty path: nothing is written. UserError if the file could not be written; what is there
  /// stays until the first row.
  RowFile(std::string path, RowOrigin origin);

  void add(const ResultRow& row);

 private:
  std::string path_;
  RowOrigin origin_;
  std::string rows_;  // as text
};

}  // namespace luminal::benchmarks
