// What entries of products in tiles share: panels of columns, and where sums lie if k is split.
// The two entries around "gemm" are here: "pack" makes panels ahead, "join" adds up the sums of
// parts and does what is done to sums.
#pragma once

#include <llvm/IR/Module.h>

#include "luminal/codegen/llvm/product_emitter.h"

namespace luminal::codegen {

/// The base of these emitters.
class PanelEmitter : protected ProductEmitter {
 protected:
  PanelEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code);

  /// Of an entry that knows columns only: panels are made whatever the rows are.
  void begin(std::string_view name);
  void begin_with_rows(std::string_view name);
  /// Buffers after the tensors: panels that are packed ahead, then sums of parts.
  llvm::Value* buffer_after_tensors(size_t number);
  /// Sets the batch axes and columns of panel `number` of all batches.
  void set_panel(llvm::Value* number);
  /// Steps of k.
  struct Steps {
    llvm::Value* first;
    llvm::Value* count;
  };
  /// Makes the current panel of a product.
  void pack(size_t product, const Steps& steps, llvm::Value* target);
  /// Bytes from the sums of a part to those of a row of a block (a panel of one batch).
  llvm::Value* place_of_sums(llvm::Value* block, llvm::Value* row);

  const GemmSpec& spec_;
  GemmLayout layout_;
  llvm::Value* panels_ = nullptr;
  llvm::Value* m_ = nullptr;
  llvm::Value* row_batch_ = nullptr;
};

/// Adds the entry "pack", which makes the panels of one product in the buffer after the tensors.
void emit_gemm_pack(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
                    size_t product);
/// Adds the entry "join", which finds the sums of parts in the buffers after the tensors.
void emit_gemm_join(llvm::Module& module, const CpuTarget& target, const GemmCode& code);

}  // namespace luminal::codegen
