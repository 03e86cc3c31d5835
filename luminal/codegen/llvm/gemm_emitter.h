// The entries of generated products: "gemm" computes work items (a block of rows times one panel of
// columns, of one batch) with everything that is done to operands and sums; "pack" makes the panels
// of one product ahead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "luminal/codegen/llvm/body_code.h"
#include "luminal/codegen/llvm/contraction_plan.h"
#include "luminal/codegen/llvm/gemm.h"

namespace luminal::codegen {

/// What the entries are made of. Pointers come in the order of `tensors`, then panels of products
/// that are packed ahead; scalars in the order of `dims`.
struct GemmCode {
  const kernel::Arena* arena = nullptr;
  ContractionPlan plan;
  std::vector<GemmSpec> specs;  ///< per product; tiles are the same
  std::vector<kernel::NodeId> tensors;
  std::vector<std::string> dims;
  bool round_each = false;

  /// Work items of "gemm", and of "pack".
  symbolic::Expr items(const CpuTarget& target) const;
  symbolic::Expr pack_items(const CpuTarget& target) const;
  /// Bytes of scratch that a thread needs, and where the parts begin.
  symbolic::Expr scratch_bytes(const CpuTarget& target) const;
  symbolic::Expr panel_offset(size_t product, const CpuTarget& target) const;
  symbolic::Expr sums_offset(size_t product, const CpuTarget& target) const;
  /// Bytes of all panels of a product.
  symbolic::Expr packed_bytes(size_t product, const CpuTarget& target) const;
};

/// A sum in the form of its dtype: narrow floats keep what they have, integers their low bits.
llvm::Value* value_of_sum(BodyCode& body, graph::DType accumulator, graph::DType dtype,
                          llvm::Value* sum);

/// Adds the entry "gemm" to a module.
void emit_gemm(llvm::Module& module, const CpuTarget& target, const GemmCode& code);
/// Adds the entry "pack", which makes the panels of one product in the buffer after the tensors.
void emit_gemm_pack(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
                    size_t product);

}  // namespace luminal::codegen
