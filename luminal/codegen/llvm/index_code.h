// Index expressions (symbolic::Expr) as integer code. Dims are scalars of the kernel, axes are loop
// positions; at most one axis is spread over the lanes of a vector. An expression that does not
// depend on that axis is one scalar.
#pragma once

#include <functional>

#include "luminal/codegen/llvm/vector_builder.h"
#include "luminal/symbolic/expr.h"

namespace luminal::codegen {

/// See above. Results are 64-bit scalars or vectors.
class IndexCode {
 public:
  explicit IndexCode(VectorBuilder& builder) : builder_(builder), ir_(builder.ir()) {}

  /// Gives the value of a variable or an axis: a scalar or a vector.
  std::function<llvm::Value*(const symbolic::Expr& symbol)> symbol_value;

  llvm::Value* emit(const symbolic::Expr& expr);

 private:
  llvm::Value* emit_atom(const symbolic::Expr& atom);
  llvm::Value* floor_div(const symbolic::Expr& numerator, const symbolic::Expr& divisor);
  /// Brings two values to the same number of lanes.
  void match(llvm::Value*& a, llvm::Value*& b);

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
};

}  // namespace luminal::codegen
