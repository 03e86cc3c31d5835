// From a program and a cut to what each kernel computes. The kernel of a materialised node is its
// definition substituted down to the nodes of the cut, with views composed into the loads. Whatever
// the views are, this is one substitution; nothing is rewritten and nothing is searched.
#pragma once

#include <string>
#include <variant>

#include "luminal/kernel/body.h"
#include "luminal/kernel/program.h"

namespace luminal::kernel {

/// Why a candidate is none. An ordinary result of a search.
struct Rejected {
  std::string why;
};

struct DeriveOptions {
  /// A body of more nodes is refused.
  size_t most_nodes = 2000;
};

/// The kernel that computes a node of the cut (not an opaque one) from other nodes of the cut.
std::variant<Kernel, Rejected> derive(Arena& arena, const Program& program, const Cut& cut,
                                      NodeId root, const DeriveOptions& options = {});

/// One kernel for several nodes of one shape: each is stored, and a node that another one reads is
/// computed once and read from registers. Rejected if the shapes differ after splitting.
std::variant<Kernel, Rejected> derive_together(Arena& arena, const Program& program, const Cut& cut,
                                               std::span<const NodeId> roots,
                                               const DeriveOptions& options = {});

}  // namespace luminal::kernel
