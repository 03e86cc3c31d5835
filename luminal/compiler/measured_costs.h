// What kernels cost by the tuning database: the best time that is known of each. For the search of
// structures, which asks for many kernels that nobody has ever built.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "luminal/compiler/options.h"
#include "luminal/compiler/planned_program.h"
#include "luminal/search/kernel_bench.h"
#include "luminal/search/tuning_database.h"

namespace luminal::compiler {

/// See above. Remembers answers; a new one is needed when the database has more to say.
class MeasuredCosts : public KernelCosts {
 public:
  /// All must outlive it. The machine is what the structure is estimated with.
  MeasuredCosts(const search::TuningDatabase& database, const std::string& device,
                const Options& options, const kernel::Machine& machine)
      : database_(database),
        device_(device),
        options_(options),
        machine_(machine),
        measured_(database.measured_kernels(device, search::compiler_text())) {}

  std::optional<double> cost(kernel::Arena& arena, const kernel::Kernel& kernel,
                             const std::vector<NodeId>& constants) const override;

  /// Kernels that it was asked for, and those whose time it knew.
  size_t asked() const { return asked_; }
  size_t known() const { return hits_; }

 private:
  const search::TuningDatabase& database_;
  const std::string& device_;
  const Options& options_;
  const kernel::Machine& machine_;
  std::set<support::Hash128> measured_;  // most kernels that are asked for are not
  mutable std::map<std::string, std::optional<double>> answers_;  // by identity
  mutable size_t asked_ = 0;
  mutable size_t hits_ = 0;
};

}  // namespace luminal::compiler
