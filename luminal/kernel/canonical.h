// The identity of a kernel: a text that is equal for kernels that compute the same in the same way,
// whatever their nodes, tensors and dims are called and in whatever order they were made. Tuning
// databases and code caches are keyed by it; argument orders follow from it.
#pragma once

#include <string>
#include <vector>

#include "luminal/kernel/body.h"
#include "luminal/support/hash.h"

namespace luminal::kernel {

/// A kernel under its canonical names: tensors t0, t1, ... and dims S0, S1, ...
struct CanonicalKernel {
  /// Everything that matters, one line per value.
  std::string text;
  /// The hash of the text.
  support::Hash128 key;
  /// Which tensor t<k> is: the order of the kernel's arguments.
  std::vector<NodeId> tensors;
  /// Which dim S<k> is.
  std::vector<Expr> dims;
  /// The bodies in the order of the text's lines, operands before users.
  std::vector<BodyId> order;
};

/// `facts` goes into the text: what else the code depends on (alignment, aliasing, device).
/// Operands of commutative ops may be in either order; other associations are other kernels, since
/// they round differently.
CanonicalKernel canonicalize(const Arena& arena, const Kernel& kernel,
                             const std::string& facts = "");

/// The kernel under its canonical names, in an arena of its own: tensor t<k> has the id k, dim S<k>
/// that name. Kernels of equal text become equal, so that whatever is made of them is, too.
Kernel rebuild(const Arena& arena, const Kernel& kernel, const CanonicalKernel& names, Arena& into);

}  // namespace luminal::kernel
