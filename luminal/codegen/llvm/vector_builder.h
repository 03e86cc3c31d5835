// A thin helper over LLVM's IRBuilder for vector code: entries with the signature of a kernel,
// loops with carried values, whole, masked, gathered and streaming memory access, splats and
// horizontal sums. It emits one IR shape per call and decides nothing.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string_view>

#include "luminal/codegen/llvm/cpu_target.h"

namespace luminal::codegen {

/// The function that is being written, and its arguments (see runtime::CpuEntry).
struct EntryArguments {
  llvm::Function* function = nullptr;
  llvm::Value* buffers = nullptr;
  llvm::Value* scalars = nullptr;
  llvm::Value* begin = nullptr;
  llvm::Value* end = nullptr;
  llvm::Value* scratch = nullptr;
};

/// Values that a loop carries from one turn to the next.
using Carried = llvm::SmallVector<llvm::Value*, 8>;

/// How a memory access is done.
struct Access {
  int align = 0;                 ///< bytes; 0: that of the element
  llvm::Value* mask = nullptr;   ///< lanes to access; null: all
  llvm::Value* other = nullptr;  ///< what masked-off lanes of a load get; null: zero
  bool streaming = false;        ///< a store that goes past the caches; `align` must be the size
};

/// See above.
class VectorBuilder {
 public:
  VectorBuilder(llvm::Module& module, const CpuTarget& target);

  /// LLVM's own builder, for everything that is not below.
  llvm::IRBuilder<>& ir() { return ir_; }
  llvm::Module& module() { return module_; }
  const CpuTarget& target() const { return target_; }

  // Types and constants.
  llvm::Type* f32() { return ir_.getFloatTy(); }
  llvm::Type* f64() { return ir_.getDoubleTy(); }
  llvm::Type* i8() { return ir_.getInt8Ty(); }
  llvm::Type* i16() { return ir_.getInt16Ty(); }
  llvm::Type* i32() { return ir_.getInt32Ty(); }
  llvm::Type* i64() { return ir_.getInt64Ty(); }
  llvm::Type* pointer() { return ir_.getPtrTy(); }
  /// A vector type; one lane is the element itself.
  static llvm::Type* vector(llvm::Type* element, int lanes);
  static int lanes_of(llvm::Value* value);
  llvm::Value* index(int64_t value) { return ir_.getInt64(static_cast<uint64_t>(value)); }
  /// A constant of a scalar or vector type.
  static llvm::Constant* number(llvm::Type* type, double value);
  static llvm::Constant* integer(llvm::Type* type, int64_t value);

  // Functions.
  /// Starts an entry and goes to its first block.
  EntryArguments begin_entry(std::string_view name);
  /// Starts a function that only this module sees.
  llvm::Function* begin_function(std::string_view name, llvm::Type* result,
                                 llvm::ArrayRef<llvm::Type*> arguments);
  /// The pointer of a buffer, the value of a scalar.
  llvm::Value* buffer(const EntryArguments& entry, int number);
  llvm::Value* scalar(const EntryArguments& entry, int number);

  // Control.
  /// for (i = begin; i < end; i += step): `body` gets i and the carried values and gives those of
  /// the next turn. Gives the values after the last turn.
  Carried loop(
      llvm::Value* begin, llvm::Value* end, llvm::Value* step, llvm::ArrayRef<llvm::Value*> initial,
      llvm::function_ref<Carried(llvm::Value* index, llvm::ArrayRef<llvm::Value*> carried)> body);
  /// The same without carried values.
  void loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
            llvm::function_ref<void(llvm::Value* index)> body);
  void if_then(llvm::Value* condition, llvm::function_ref<void()> then);
  /// Runs one of the two and gives its values.
  Carried if_else(llvm::Value* condition, llvm::function_ref<Carried()> then,
                  llvm::function_ref<Carried()> otherwise);
  /// The same where `condition` hardly ever holds. Inside of `without_rare` it is `otherwise`
  /// alone.
  Carried if_rare(llvm::Value* condition, llvm::function_ref<Carried()> then,
                  llvm::function_ref<Carried()> otherwise);
  /// Writes `code` without branches for what is rare; gives whether something was, null if nothing
  /// can be. What `code` has computed is of no use then.
  llvm::Value* without_rare(llvm::function_ref<void()> code);
  /// Writes `code` right behind what defines a value, however many loops later it is needed: the
  /// backend takes little out of loops. It may use nothing else that is no constant.
  void behind(llvm::Value* value, llvm::function_ref<void()> code);
  /// Memory of the function's own frame, taken once at its start.
  llvm::Value* stack(llvm::Type* type, int align);

  // Memory. Pointers are advanced in bytes.
  llvm::Value* offset(llvm::Value* pointer, llvm::Value* bytes);
  llvm::Value* offset(llvm::Value* pointer, int64_t bytes);
  llvm::Value* load(llvm::Type* type, llvm::Value* pointer, const Access& access = {});
  void store(llvm::Value* value, llvm::Value* pointer, const Access& access = {});
  /// Lane i from base + indices[i] * size of the element; masked-off lanes are zero.
  llvm::Value* gather(llvm::Type* element, llvm::Value* base, llvm::Value* indices,
                      llvm::Value* mask);
  void scatter(llvm::Value* value, llvm::Value* base, llvm::Value* indices, llvm::Value* mask);
  /// Asks for the line of an address, `to_write` if it will be written; locality 3 is the nearest
  /// cache, 2 the second one (or the nearest, CpuTarget::asks_for_first_cache), 0 none.
  void prefetch(llvm::Value* pointer, int locality, bool to_write = false);
  /// After streaming stores, so that other threads see them.
  void fence();

  // Vectors.
  llvm::Value* splat(llvm::Value* scalar, int lanes);
  /// 0, 1, 2, ... of an integer element type.
  llvm::Value* iota(llvm::Type* element, int lanes);
  /// The lanes below `count`, a 64-bit value.
  llvm::Value* lanes_below(llvm::Value* count, int lanes);
  /// One bit per lane: is any set?
  llvm::Value* any(llvm::Value* mask);
  /// A constant of which the backend does not know what it is, made once at the function's start.
  llvm::Value* hidden(llvm::Constant* scalar);
  /// The same vectors, computed here and not where they are used, as the backend would have it.
  llvm::Value* pinned(llvm::Value* value);
  /// a*b+c with one rounding where the target has fma, else with two.
  llvm::Value* mul_add(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  /// Sum of the lanes, in tree order.
  llvm::Value* horizontal_sum(llvm::Value* value);
  /// Largest lane; NaN if one is.
  llvm::Value* horizontal_max(llvm::Value* value);
  /// All lanes combined, halves first; their number is a power of two.
  llvm::Value* horizontal(llvm::Value* value,
                          llvm::function_ref<llvm::Value*(llvm::Value* a, llvm::Value* b)> combine);
  /// Larger of two; NaN if either is, and 0 over -0.
  llvm::Value* maximum(llvm::Value* a, llvm::Value* b);
  /// `lanes` lanes from `first` on.
  llvm::Value* part(llvm::Value* value, int first, int lanes);
  /// Vectors of one type side by side; their number is a power of two.
  llvm::Value* join(llvm::ArrayRef<llvm::Value*> parts);
  /// A square of vectors, transposed in place; longer ones hold several squares side by side. Their
  /// number is a power of two.
  void transpose(llvm::SmallVectorImpl<llvm::Value*>& rows);
  /// Takes vectors that hold the elements of as many rows in turn apart: vector i becomes row i.
  /// `zip` puts them together again.
  void unzip(llvm::SmallVectorImpl<llvm::Value*>& vectors);
  void zip(llvm::SmallVectorImpl<llvm::Value*>& rows);
  llvm::Value* call_intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Type*> types,
                              llvm::ArrayRef<llvm::Value*> arguments);

 private:
  llvm::Align alignment(llvm::Type* type, const Access& access) const;
  llvm::BasicBlock* new_block(const char* name);
  llvm::Value* chosen_from(llvm::ArrayRef<llvm::Value*> vectors,
                           llvm::function_ref<int(int lane)> place);

  llvm::Module& module_;
  CpuTarget target_;
  llvm::IRBuilder<> ir_;
  bool leaves_rare_out_ = false;
  llvm::Value* any_rare_ = nullptr;  // of what was left out; null: nothing was
};

}  // namespace luminal::codegen
