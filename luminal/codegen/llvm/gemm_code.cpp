#include "luminal/codegen/llvm/gemm_code.h"

#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {

using symbolic::Expr;

Expr product_of_extents(std::span<const Expr> axes) {
  Expr result = 1;
  for (const Expr& axis : axes) result = result * axis.axis_extent();
  return result;
}

std::optional<Expr> GemmCode::direct_position() const {
  if (plan.products.size() != 1 || plan.roots.size() != 1 || specs[0].kc > 0) return std::nullopt;
  const kernel::Root& root = plan.roots[0];
  const graph::TensorType& type = arena->tensor(root.tensor);
  if (root.value != plan.products[0].sum || type.dtype != specs[0].accumulator) return std::nullopt;
  const Expr position = position_of(root.store, type.shape);
  const auto along_n = stride_along(position, plan.n.flat);
  const auto along_m = stride_along(position, plan.m.flat);
  if (!along_n || !along_m || !along_n->stride.is_constant(1)) return std::nullopt;
  return position;
}

bool GemmCode::stores_lines(int64_t bytes) const {
  constexpr int kLineBytes = 64;
  const std::optional<Expr> position = direct_position();
  const auto m = plan.m.extent.constant_value();
  const auto n = plan.n.extent.constant_value();
  const GemmSpec& spec = specs[0];
  if (bytes == 0 || !position || !m || !n || spec.blocks.size > 0) return false;
  if (*m % spec.mr != 0 || *n % spec.nr != 0) return false;
  if (spec.row_block > 0 && spec.row_block % spec.mr != 0) return false;
  const int64_t element = graph::bits(spec.accumulator) / 8;
  const int64_t line = kLineBytes / element;
  const Expr begin =
      symbolic::substitute(*position, std::vector<symbolic::Binding>{{plan.n.flat, 0}});
  if (spec.nr % line != 0 || !divisible_by(begin, line)) return false;
  const Expr items = product_of_extents(plan.batch) * product_of_extents(plan.row_batch);
  const auto batches = items.constant_value();
  return batches && *batches * *m * *n * element > bytes;
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
