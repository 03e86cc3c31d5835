// How a body becomes vector code wherever it is computed: values remembered per scope, ops, tests
// and indices that are data. Where axes stand, which of them run along the lanes and how loads are
// made is up to the emitter that derives from this.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/elements.h"
#include "luminal/codegen/llvm/index_code.h"
#include "luminal/codegen/llvm/op_code.h"
#include "luminal/kernel/body.h"

namespace luminal::codegen {

/// See above. Values have one lane if they are the same in all, and are widened where they meet
/// others.
class BodyValues {
 public:
  BodyValues(const BodyValues&) = delete;
  BodyValues& operator=(const BodyValues&) = delete;

 protected:
  BodyValues(VectorBuilder& builder, const kernel::Arena& arena, const OpCode::Options& options);
  ~BodyValues() = default;

  /// The value of a body at the current place.
  llvm::Value* value_of(kernel::BodyId id);
  /// The value of a body that was computed or defined in a scope that is open; null if none was.
  llvm::Value* known_value(kernel::BodyId id) const;
  /// One bit that says whether a test holds, and whether all do (null: there are none).
  llvm::Value* condition(const symbolic::Expr& test);
  llvm::Value* conditions(std::span<const symbolic::Expr> tests);
  llvm::Value* widened(llvm::Value* value, int lanes);
  /// Two masks, either of which may be missing or one bit for all lanes.
  llvm::Value* both(llvm::Value* a, llvm::Value* b);
  /// A mask of that many lanes, all set.
  llvm::Value* all_of(int lanes);
  /// An index that is data, kept inside of the axis it stands for: whatever it is, no load may
  /// leave its tensor.
  llvm::Value* index_from_data(const symbolic::Expr& axis);

  virtual llvm::Value* load(kernel::BodyId id) = 0;
  /// What stands for a dim or an axis in an index expression.
  virtual llvm::Value* symbol(const symbolic::Expr& expr) = 0;
  /// The value of a body that was computed elsewhere (a row, a sum); null if it was not.
  virtual llvm::Value* held(kernel::BodyId id) = 0;
  /// How good a function must be here.
  virtual MathAccuracy accuracy_of(kernel::BodyId id) const;
  /// Whether a value is compared with what is computed elsewhere, which must give the same bits.
  virtual bool is_compared(kernel::BodyId /*id*/) const { return false; }
  /// Whether a value stays within the range of a dtype that has no infinities, as it does in the
  /// graph: beyond it there is nothing that the graph would go on with.
  virtual bool is_bounded(kernel::BodyId /*id*/) const { return true; }
  virtual llvm::Value* where(const kernel::BodyNode& node);
  /// One of the two values of a choice by position.
  llvm::Value* chosen(llvm::Value* holds, const kernel::BodyNode& node);

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  const kernel::Arena& arena_;
  ElementCode code_;
  OpCode ops_;
  IndexCode index_;
  std::map<kernel::NodeId, llvm::Value*> buffers_;
  std::map<std::string, llvm::Value*> dims_;
  std::map<int64_t, llvm::Value*> axes_;                       // positions, by axis id
  std::vector<std::map<kernel::BodyId, llvm::Value*>> known_;  // innermost scope last

 private:
  llvm::Value* compute(kernel::BodyId id);
  llvm::Value* operation(kernel::BodyId id);
  llvm::Value* rounded(kernel::BodyId id, llvm::Value* value);
  llvm::Value* bounded(kernel::BodyId id, llvm::Value* value);

  OpCode::Options op_options_;
};

}  // namespace luminal::codegen
