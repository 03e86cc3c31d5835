// Why not more was fused: for a value that a plan stores, what the plan would cost if every kernel
// that reads it computed it instead, or what stands in the way of that.
#pragma once

#include <string>
#include <vector>

#include "luminal/compiler/kernel_set.h"
#include "luminal/compiler/planned_program.h"

namespace luminal::compiler {

/// See above.
class FusionNotes {
 public:
  /// All must outlive it. Words are what kernels of the plan compute, by number.
  FusionNotes(PlannedProgram& planned, const kernel::CutSearchOptions& cut, const Options& options,
              const std::vector<std::vector<std::string>>& words);

  /// The values that a kernel of the plan stores, with why each is stored.
  std::vector<plan::Boundary> boundaries(size_t kernel);

 private:
  struct Reader {
    size_t kernel;
    NodeId node;  ///< the one of those it stores that reads the value
  };

  void describe(NodeId id, size_t kernel, plan::Boundary& boundary);
  std::vector<Reader> readers(NodeId id, size_t kernel);
  std::string obstacle(NodeId id, const std::vector<Reader>& readers) const;
  void compare(NodeId id, const std::vector<Reader>& readers, plan::Boundary& boundary);
  std::string refusal(const kernel::Cut& without, const std::vector<Reader>& readers);
  void note_fused_way(const kernel::Cut& without, NodeId reader, plan::Boundary& boundary);

  PlannedProgram& planned_;
  const kernel::CutSearchOptions& cut_;
  const Options& options_;
  const std::vector<std::vector<std::string>>& words_;
  kernel::CutCosts costs_;
  std::vector<std::vector<size_t>> readers_of_;    // kernels that read a node, by node
  std::vector<std::vector<NodeId>> host_readers_;  // nodes on the host that read one, by node
};

}  // namespace luminal::compiler
