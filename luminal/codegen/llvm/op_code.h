// The elementwise primitives of graph/ops.h as vector code, for every dtype, on values in register
// form (elements.h). Results are the interpreter's; narrow floats are computed in f32 and rounded
// only if asked, since a kernel may keep more precision than the graph says; then products that are
// added are not rounded in between either.
#pragma once

#include <optional>

#include "luminal/codegen/llvm/elements.h"
#include "luminal/codegen/llvm/vector_math.h"
#include "luminal/graph/ops.h"

namespace luminal::codegen {

/// See above.
class OpCode {
 public:
  struct Options {
    bool round_each = false;  ///< round narrow floats after every op, as the interpreter does
    MathAccuracy accuracy = MathAccuracy::kFull;
  };
  /// `code` has loaded the operands and knows the bits of narrow ones.
  OpCode(VectorBuilder& builder, ElementCode& code, Options options)
      : builder_(builder), ir_(builder.ir()), code_(code), options_(options) {}

  /// How good a function must be whose result the graph rounds to this dtype.
  static MathAccuracy accuracy_for(graph::DType dtype, MathAccuracy wanted);

  /// op(operands), all of the same number of lanes. `operand_dtype` is what is compared, chosen or
  /// converted. Functions are as good as `accuracy` says, or as the dtype of the result needs.
  /// `apart`: a product or sum is rounded by itself, whatever it is part of.
  llvm::Value* elementwise(graph::Op op, graph::DType operand_dtype, graph::DType dtype,
                           llvm::ArrayRef<llvm::Value*> operands,
                           std::optional<MathAccuracy> accuracy = std::nullopt, bool apart = false);
  /// One step of a reduction (sum, product or maximum).
  llvm::Value* combine(graph::Op op, graph::DType dtype, llvm::Value* a, llvm::Value* b);
  /// What a reduction starts from.
  llvm::Constant* identity(graph::Op op, graph::DType dtype, int lanes);
  /// All lanes combined.
  llvm::Value* horizontal(graph::Op op, graph::DType dtype, llvm::Value* value);

 private:
  llvm::Value* integer_op(graph::Op op, graph::DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(bool is_unsigned, llvm::Value* a, llvm::Value* b, bool remainder);
  llvm::Value* power(bool is_unsigned, llvm::Value* base, llvm::Value* exponent);
  llvm::Value* shift(graph::Op op, graph::DType dtype, llvm::Value* value, llvm::Value* amount);
  llvm::Value* compare(graph::Op op, graph::DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* larger(graph::DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* wrapped(graph::DType dtype, llvm::Value* value);

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  ElementCode& code_;
  Options options_;
};

}  // namespace luminal::codegen
