#include "luminal/codegen/llvm/gemm_code.h"

namespace luminal::codegen {

using symbolic::Expr;

Expr product_of_extents(std::span<const Expr> axes) {
  Expr result = 1;
  for (const Expr& axis : axes) result = result * axis.axis_extent();
  return result;
}

Expr GemmCode::pack_items(const CpuTarget& target) const {
  return product_of_extents(plan.batch) * GemmLayout(specs[0], target).panels(plan.n.extent);
}

Expr GemmCode::items(const CpuTarget& target) const {
  return pack_items(target) * product_of_extents(plan.row_batch) *
         GemmLayout(specs[0], target).row_blocks(plan.m.extent);
}

Expr GemmCode::panel_offset(size_t product, const CpuTarget& target) const {
  Expr offset = 0;
  if (specs[0].b_source == GemmB::kPrepacked) return offset;
  for (size_t i = 0; i < product; ++i)
    offset = offset + GemmLayout(specs[i], target).panel_bytes(plan.products[i].k.extent);
  return offset;
}

Expr GemmCode::sums_offset(size_t product, const CpuTarget& target) const {
  const Expr panels = panel_offset(plan.products.size(), target);
  if (specs[0].kc == 0) return panels;
  const int64_t bytes = int64_t{specs[0].row_block + specs[0].mr} * specs[0].nr *
                        GemmLayout(specs[0], target).sum_bytes();
  return panels + bytes * static_cast<int64_t>(product);
}

Expr GemmCode::scratch_bytes(const CpuTarget& target) const {
  return sums_offset(plan.products.size(), target);
}

Expr GemmCode::packed_bytes(size_t product, const CpuTarget& target) const {
  return pack_items(target) *
         GemmLayout(specs[product], target).panel_bytes(plan.products[product].k.extent);
}

}  // namespace luminal::codegen
