// What all code of products shares: the arguments of an entry, the columns that are worked on, and
// what is done to sums once they are in memory.
#pragma once

#include "luminal/codegen/llvm/body_code.h"
#include "luminal/codegen/llvm/gemm_code.h"

namespace luminal::codegen {

/// A sum in the form of its dtype: narrow floats keep what they have, integers their low bits.
llvm::Value* value_of_sum(BodyCode& body, graph::DType accumulator, graph::DType dtype,
                          llvm::Value* sum);

/// The base of emitters of entries.
class ProductEmitter {
 protected:
  ProductEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
                 graph::DType accumulator);

  /// Starts an entry; buffers and dims are known from here on.
  void begin(std::string_view name);
  llvm::Value* minimum(llvm::Value* a, llvm::Value* b);

  /// What is done to the sums of some rows and the current columns, and storing. `sums` has one
  /// place per product; if there are parts they are added up, always in the same order.
  void finish(llvm::Value* row, llvm::Value* rows, llvm::ArrayRef<llvm::Value*> sums,
              llvm::Value* sums_row);

  VectorBuilder builder_;
  llvm::IRBuilder<>& ir_;
  const GemmCode& code_;
  const ContractionPlan& plan_;
  graph::DType accumulator_;
  int sum_lanes_;
  int finished_lanes_;  ///< of the vectors in which sums are finished: sum_lanes_ or more
  BodyCode body_;
  EntryArguments entry_;
  llvm::Value* n_ = nullptr;
  int parts_ = 1;  ///< of every sum
  llvm::Value* part_bytes_ = nullptr;
  // Of the current item.
  llvm::Value* column_ = nullptr;
  llvm::Value* columns_ = nullptr;

 private:
  void find_what_rows_share();
  /// Lanes beside the mask hold what another tile left there; functions may look at all lanes at
  /// once, and would have other bits by it.
  llvm::Value* load_sum(llvm::Value* place, llvm::Value* mask);
  void finish_vector(llvm::ArrayRef<llvm::Value*> sums, llvm::Value* at_row, llvm::Value* column,
                     llvm::Value* mask);
};

}  // namespace luminal::codegen
