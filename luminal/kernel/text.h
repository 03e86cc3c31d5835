// Bodies as people write them: x[i, r] * w[r], with names for axes and for what was computed
// before. The printed forms of bodies and loop nests share it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "luminal/kernel/body.h"

namespace luminal::kernel {

/// Writes values of one arena.
class TextWriter {
 public:
  explicit TextWriter(const Arena& arena) : arena_(arena) {}

  /// From now on this value is written by name.
  void name(BodyId id, std::string name) { names_[id] = std::move(name); }
  /// Forgets a name.
  void forget(BodyId id) { names_.erase(id); }
  /// Names a tensor; others are t<id>.
  void name_tensor(NodeId id, std::string name) { tensors_[id] = std::move(name); }
  /// From now on this axis is written so; others are i<id> (outputs) and r, r1, ... (bound).
  void name_axis(const Expr& axis, std::string name) { axes_[axis.axis_id()] = std::move(name); }

  std::string tensor(NodeId id) const;
  std::string axis(const Expr& axis) const;
  std::string expr(const Expr& expr) const;
  /// "[i, j + 1]"
  std::string index(const std::vector<Expr>& index) const;
  /// "r<8, r1<n"
  std::string axes(const std::vector<Expr>& axes) const;
  /// The value, by its name if it has one.
  std::string value(BodyId id) const;

 private:
  std::string op_text(const BodyNode& node) const;

  const Arena& arena_;
  std::map<BodyId, std::string> names_;
  std::map<NodeId, std::string> tensors_;
  std::map<int64_t, std::string> axes_;
};

/// What one step of a reduction does: "s = s + x" by the name of its op.
std::string reduction_name(Op op);

}  // namespace luminal::kernel
