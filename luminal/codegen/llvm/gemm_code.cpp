#include "luminal/codegen/llvm/gemm_code.h"

#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {

using symbolic::Expr;

Expr product_of_extents(std::span<const Expr> axes) {
  Expr result = 1;
  for (const Expr& axis : axes) result = result * axis.axis_extent();
  return result;
}

namespace {

/// Whether tiles of a spec can store elements of a dtype.
bool tiles_store(graph::DType dtype, const GemmSpec& spec) {
  if (dtype == spec.accumulator) return true;
  const bool has_vectors = spec.mode == GemmMode::kFma || spec.mode == GemmMode::kDotBf16;
  return dtype == graph::DType::kBF16 && spec.accumulator == graph::DType::kF32 && has_vectors &&
         spec.blocks.size == 0;
}

/// Whether a value is a sum as tiles have it, or that rounded once.
bool is_sum(const kernel::Arena& arena, kernel::BodyId value, const Product& product,
            graph::DType accumulator) {
  if (value == product.sum) return true;
  const kernel::BodyNode& node = arena[value];
  return node.kind == kernel::BodyKind::kOp && node.op == graph::Op::kCast &&
         node.children[0] == product.sum && product.dtype == accumulator;
}

}  // namespace

std::optional<Expr> GemmCode::direct_position() const {
  if (plan.products.size() != 1 || plan.roots.size() != 1 || specs[0].kc > 0 || specs[0].split > 1)
    return std::nullopt;
  const kernel::Root& root = plan.roots[0];
  const graph::TensorType& type = arena->tensor(root.tensor);
  if (!is_sum(*arena, root.value, plan.products[0], specs[0].accumulator) ||
      !tiles_store(type.dtype, specs[0]))
    return std::nullopt;
  const Expr position = position_of(root.store, type.shape);
  const auto along_n = stride_along(position, plan.n.flat);
  const auto along_m = stride_along(position, plan.m.flat);
  if (!along_n || !along_m || !along_n->stride.is_constant(1)) return std::nullopt;
  return position;
}

bool GemmCode::has_whole_tiles() const {
  const GemmSpec& spec = specs[0];
  return divisible_by(plan.m.extent, spec.mr) && divisible_by(plan.n.extent, spec.nr) &&
         spec.row_block % spec.mr == 0;
}

std::optional<int64_t> GemmCode::stored_bytes() const {
  const Expr elements = product_of_extents(plan.batch) * product_of_extents(plan.row_batch) *
                        plan.m.extent * plan.n.extent;
  const auto count = elements.constant_value();
  return count ? std::optional(*count * (graph::bits(stored_dtype()) / 8)) : std::nullopt;
}

bool GemmCode::stores_lines(int64_t bytes) const {
  constexpr int kLineBytes = 64;
  const std::optional<Expr> position = direct_position();
  const GemmSpec& spec = specs[0];
  if (bytes == 0 || !position || spec.blocks.size > 0 || !has_whole_tiles()) return false;
  const int64_t line = kLineBytes / (graph::bits(stored_dtype()) / 8);
  const Expr begin =
      symbolic::substitute(*position, std::vector<symbolic::Binding>{{plan.n.flat, 0}});
  if (spec.nr % line != 0 || !divisible_by(begin, line)) return false;
  return stored_bytes().value_or(0) > bytes;
}

Expr GemmCode::pack_items(const CpuTarget& target) const {
  return product_of_extents(plan.batch) * GemmLayout(specs[0], target).panels(plan.n.extent);
}

Expr GemmCode::items(const CpuTarget& target) const {
  return specs[0].split * pack_items(target) * product_of_extents(plan.row_batch) *
         GemmLayout(specs[0], target).row_blocks(plan.m.extent);
}

Expr GemmCode::panel_offset(size_t product, const CpuTarget& target) const {
  Expr offset = 0;
  if (specs[0].b_source == GemmB::kPrepacked) return offset;
  for (size_t i = 0; i < product; ++i) {
    const GemmLayout layout(specs[i], target);
    offset = offset + layout.panel_bytes(layout.part_steps(plan.products[i].k.extent));
  }
  return offset;
}

Expr GemmCode::sums_offset(size_t product, const CpuTarget& target) const {
  const Expr panels = panel_offset(plan.products.size(), target);
  if (specs[0].kc == 0 || specs[0].split > 1) return panels;
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

Expr GemmCode::tile_rows() const { return ceil_div(plan.m.extent, specs[0].mr) * specs[0].mr; }

Expr GemmCode::part_bytes(const CpuTarget& target) const {
  const int64_t row = int64_t{specs[0].nr} * GemmLayout(specs[0], target).sum_bytes();
  return pack_items(target) * product_of_extents(plan.row_batch) * tile_rows() * row;
}

Expr GemmCode::join_items(const CpuTarget& target) const {
  return pack_items(target) * product_of_extents(plan.row_batch) *
         ceil_div(plan.m.extent, specs[0].mr);
}

}  // namespace luminal::codegen
