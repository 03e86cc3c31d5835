// The entries of generated scans. Where memory runs along the scanned axis, a vector of elements is
// scanned in registers and what came before is added to all lanes; where it runs across, running
// totals of a block of columns stay in the nearest cache while rows stream by. Long rows are cut
// into parts: "totals" reduces each, and "scan" begins a part with the totals of those before it.
#pragma once

#include <string>

#include "luminal/codegen/llvm/kernel_compiler.h"
#include "luminal/codegen/llvm/scan_plan.h"

namespace luminal::codegen {

/// What the entries are made of. Pointers come in the order of `tensors`, then the totals if there
/// are parts; scalars in the order of `dims`.
struct ScanCode {
  const kernel::Arena* arena = nullptr;
  ScanPlan plan;
  std::vector<kernel::Root> roots;
  std::vector<kernel::NodeId> tensors;
  std::vector<std::string> dims;
  /// The axis that runs along the lanes: the scanned one, or the last of plan.outer.
  bool across = false;
  int lanes = 1;
  int64_t part = 0;   ///< elements of a part of a row, forward; 0: rows are whole
  int64_t block = 0;  ///< columns of a block, where totals run across
  bool streaming = false;
  bool round_each = false;

  /// Sums and products of floats are carried in f64, so that long rows lose no digits and nothing
  /// overflows but results.
  graph::DType carried() const;
  /// Work items of both entries.
  symbolic::Expr items() const;
  symbolic::Expr parts() const;
  int64_t scratch_bytes() const;
};

/// One line for people and for cache keys.
std::string to_string(const ScanCode& code);

/// Add the entries "totals" and "scan" to a module.
void emit_scan_totals(llvm::Module& module, const CpuTarget& target, const ScanCode& code);
void emit_scan(llvm::Module& module, const CpuTarget& target, const ScanCode& code);

}  // namespace luminal::codegen
