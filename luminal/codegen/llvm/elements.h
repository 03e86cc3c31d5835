// Elements of every dtype as vector code: loading, storing and casting, with exactly the results of
// the interpreter (graph/dtype.h has the rules). In registers f64 is double, all other floats are
// float (narrow ones hold a value of their dtype), integers have their own width, packed 4-bit ones
// 8 bits, and bool is one bit per lane.
#pragma once

#include <llvm/ADT/DenseMap.h>

#include <utility>

#include "luminal/codegen/llvm/vector_builder.h"
#include "luminal/graph/dtype.h"
#include "luminal/graph/scalar.h"

namespace luminal::codegen {

/// See above. Positions count elements and are 64-bit values. Vectors of packed 4-bit dtypes begin
/// at an even position and have an even number of lanes; where two threads store to one array,
/// their ranges must not share a byte.
class ElementCode {
 public:
  explicit ElementCode(VectorBuilder& builder) : builder_(builder), ir_(builder.ir()) {}

  /// What a dtype is in registers.
  llvm::Type* register_type(graph::DType dtype, int lanes);

  /// `lanes` consecutive elements. Masked-off lanes are zero.
  llvm::Value* load(graph::DType dtype, llvm::Value* base, llvm::Value* position, int lanes,
                    const Access& access = {});
  /// Whether elements that are so far apart are better loaded in whole vectors and chosen from them
  /// than gathered.
  bool is_short_stride(graph::DType dtype, int64_t stride) const;
  /// Elements that are a short stride apart, backwards if it is negative; nothing between them is
  /// touched, and masked-off lanes are zero.
  llvm::Value* load_strided(graph::DType dtype, llvm::Value* base, llvm::Value* position, int lanes,
                            int stride, llvm::Value* mask);
  /// Elements at base[positions[i]]; masked-off lanes are zero.
  llvm::Value* gather(graph::DType dtype, llvm::Value* base, llvm::Value* positions,
                      llvm::Value* mask);
  /// Stores values of the dtype; f32 values of narrow floats are rounded.
  void store(graph::DType dtype, llvm::Value* value, llvm::Value* base, llvm::Value* position,
             const Access& access = {});

  /// The same for whole lines of bf16 in an order of their own, which takes fewer instructions: of
  /// each 32 elements first those at even places, then the others.
  llvm::Value* load_pairs(llvm::Value* base, llvm::Value* position, int lanes);
  void store_pairs(llvm::Value* value, llvm::Value* base, llvm::Value* position,
                   const Access& access);

  /// Stores lane i at base[positions[i]]; not for packed dtypes.
  void scatter(graph::DType dtype, llvm::Value* value, llvm::Value* base, llvm::Value* positions,
               llvm::Value* mask);

  /// Converts between registers of two dtypes.
  llvm::Value* cast(graph::DType from, graph::DType to, llvm::Value* value);
  /// The same bits as a dtype of the same width.
  llvm::Value* bitcast(graph::DType from, graph::DType to, llvm::Value* value);
  /// A constant in register form.
  llvm::Constant* number(graph::DType dtype, const graph::Scalar& value, int lanes);
  /// The nearest value of a float dtype, still as float; f32 and f64 pass through.
  llvm::Value* round_to(graph::DType dtype, llvm::Value* value);
  /// Not beyond the ends of a dtype that has no infinities, with all digits.
  llvm::Value* bounded(graph::DType dtype, llvm::Value* value);

  /// Bits as they lie in memory, as integers of their width, in register form; not for packed
  /// dtypes.
  llvm::Value* from_bits(graph::DType dtype, llvm::Value* bits);
  llvm::Value* to_bits(graph::DType dtype, llvm::Value* value);
  /// Bits of a narrow float (8 or 16 per lane) to float, and back with one rounding.
  llvm::Value* widen(graph::DType dtype, llvm::Value* bits);
  llvm::Value* narrow(graph::DType dtype, llvm::Value* value);
  /// The bits of lines of bf16, by the instruction for it: no value is denormal.
  llvm::Value* narrow_normals(llvm::Value* value);

 private:
  llvm::Type* memory_element(graph::DType dtype);
  llvm::Value* from_memory(graph::DType dtype, llvm::Value* raw);
  llvm::Value* to_memory(graph::DType dtype, llvm::Value* value);
  llvm::Value* byte_position(graph::DType dtype, llvm::Value* position);
  llvm::Value* load_packed(graph::DType dtype, llvm::Value* base, llvm::Value* position, int lanes,
                           const Access& access);
  void store_packed(llvm::Value* value, llvm::Value* base, llvm::Value* position,
                    const Access& access);
  llvm::Value* spread_mask(llvm::Value* mask, llvm::ArrayRef<int> spread);
  llvm::Value* sign_packed(graph::DType dtype, llvm::Value* value);
  llvm::Value* float_to_integer(graph::DType to, llvm::Value* value);
  llvm::Value* integer_to_float(graph::DType from, graph::DType to, llvm::Value* value);
  llvm::Value* integer_to_integer(graph::DType from, graph::DType to, llvm::Value* value);
  llvm::Value* round_to_odd(llvm::Value* wide);
  llvm::Value* constant(llvm::Value* like, int64_t value);

  llvm::Value* widened_value(graph::DType dtype, llvm::Value* bits);
  llvm::Value* narrow_to_bf16(llvm::Value* value);
  llvm::Value* has_denormals(llvm::Value* value);
  llvm::Value* rounded_halves(llvm::Value* value);

  VectorBuilder& builder_;
  llvm::IRBuilder<>& ir_;
  // Where widened values came from.
  llvm::DenseMap<llvm::Value*, std::pair<graph::DType, llvm::Value*>> widened_;
};

}  // namespace luminal::codegen
