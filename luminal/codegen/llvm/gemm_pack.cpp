#include "luminal/codegen/llvm/gemm_pack.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "luminal/codegen/llvm/gemm_amx.h"
#include "luminal/codegen/llvm/nest_flatten.h"

namespace luminal::codegen {

using kernel::BodyKind;
using llvm::Value;
using symbolic::Expr;

llvm::Type* GemmPacker::unit_vector() {
  return VectorBuilder::vector(builder_.i32(), layout_.lanes());
}

Value* GemmPacker::units_of(const Panel& panel) {
  // Matrix registers are read whole: what is past the end of k is zero.
  const int64_t rows = spec_.has_matrix_registers() ? kAmxRows : 1;
  Value* steps = builder_.index(rows * layout_.group());
  Value* up = ir_.CreateAdd(panel.k, ir_.CreateSub(steps, builder_.index(1)));
  return ir_.CreateMul(ir_.CreateUDiv(up, steps), builder_.index(rows));
}

void GemmPacker::pack(const Panel& panel) {
  if (spec_.blocks.size > 0) return pack_blocks(panel);
  if (spec_.b_columns && product_.b.flat_k) return pack_columns(panel);
  const bool windows = !product_.b.flat_outer || !product_.b.flat_k;
  if (windows && spec_.mode == GemmMode::kFma) return pack_windows(panel);
  pack_rows(panel);
}

void GemmPacker::store_units(const Panel& panel, Value* unit_row, Value* vector, Value* units) {
  Value* at = ir_.CreateMul(unit_row, builder_.index(layout_.row_bytes()));
  const int64_t vector_bytes = int64_t{layout_.lanes()} * layout_.unit_bytes();
  at = ir_.CreateAdd(at, ir_.CreateMul(vector, builder_.index(vector_bytes)));
  Value* pointer = builder_.offset(builder_.offset(panel.target, at), layout_.header_bytes());
  if (spec_.mode != GemmMode::kFma) return builder_.store(units, pointer);
  body_.elements().store(spec_.panel, units, pointer, builder_.index(0));
}

/// Adds the four bytes of each unit to running sums of the columns.
Value* GemmPacker::add_to_sums(Value* sums, Value* units) {
  if (spec_.mode != GemmMode::kDotI8) return sums;
  Value* ones = VectorBuilder::integer(units->getType(), 0x01010101);
  return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {sums, ones, units});
}

/// What the accumulators start from: A is read as unsigned, 128 too large.
void GemmPacker::store_sums(const Panel& panel, Value* vector, Value* sums) {
  if (spec_.mode != GemmMode::kDotI8) return;
  Value* correction = ir_.CreateMul(sums, VectorBuilder::integer(unit_vector(), -128));
  Value* at = ir_.CreateMul(vector, builder_.index(int64_t{layout_.lanes()} * 4));
  builder_.store(correction, builder_.offset(panel.target, at));
}

/// B's value at the current place as an element of a panel.
Value* GemmPacker::panel_value() {
  Value* value = body_.wide_value(product_.b.value);
  return body_.elements().cast(product_.b.dtype, spec_.panel, value);
}

/// The bits of B's value at the current place, 32 / g per lane.
Value* GemmPacker::element(Value* value) {
  if (spec_.mode == GemmMode::kDotBf16 || spec_.mode == GemmMode::kAmxBf16)
    return body_.elements().narrow(graph::DType::kBF16, value);
  return value;
}

void GemmPacker::set_k(Value* k) {
  if (product_.b.flat_k)
    body_.set_axis(product_.k.flat, k);
  else
    body_.set_axes(product_.k.axes, k);
}

/// The columns of one vector of the panel along the lanes.
void GemmPacker::spread_columns(const Panel& panel, Value* vector) {
  const int lanes = layout_.lanes();
  Value* first = ir_.CreateMul(vector, builder_.index(lanes));
  Value* mask = builder_.lanes_below(ir_.CreateSub(panel.columns, first), lanes);
  first = ir_.CreateAdd(panel.column, first);
  if (product_.b.flat_outer)
    body_.spread(n_.flat, first, lanes, mask);
  else
    body_.spread(n_.axes, first, lanes, mask, false);
}

/// One vector of units: `group` steps of k side by side.
Value* GemmPacker::units_along_columns(const Panel& panel, Value* unit,
                                       llvm::function_ref<void()> spread) {
  const int group = layout_.group();
  if (group == 1) {
    const BodyCode::Scope scope(body_);
    set_k(ir_.CreateAdd(panel.first, unit));
    spread();
    return panel_value();
  }
  Value* units = VectorBuilder::integer(unit_vector(), 0);
  Value* last = ir_.CreateSub(ir_.CreateAdd(panel.first, panel.k), builder_.index(1));
  for (int g = 0; g < group; ++g) {
    const BodyCode::Scope scope(body_);
    Value* k = ir_.CreateAdd(ir_.CreateMul(unit, builder_.index(group)), builder_.index(g));
    k = ir_.CreateAdd(panel.first, k);
    // The last unit may have fewer steps; what is missing is zero.
    set_k(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, k, last));
    spread();
    Value* bits = element(body_.wide_value(product_.b.value));
    Value* part = ir_.CreateZExt(bits, unit_vector());
    part = ir_.CreateShl(part, VectorBuilder::integer(unit_vector(), int64_t{g} * (32 / group)));
    Value* exists = builder_.splat(ir_.CreateICmpSLE(k, last), layout_.lanes());
    part = ir_.CreateSelect(exists, part, llvm::Constant::getNullValue(unit_vector()));
    units = ir_.CreateOr(units, part);
  }
  return units;
}

void GemmPacker::pack_rows(const Panel& panel) {
  const bool sums_needed = spec_.mode == GemmMode::kDotI8;
  const auto vectors = static_cast<size_t>(layout_.vectors());
  Carried sums(sums_needed ? vectors : 0, llvm::Constant::getNullValue(unit_vector()));
  const auto units_from = [&](Value* begin, Value* end, auto&& units_at) {
    sums = builder_.loop(begin, end, builder_.index(1), sums,
                         [&](Value* unit, llvm::ArrayRef<Value*> carried) {
                           Carried next;
                           for (size_t v = 0; v < vectors; ++v) {
                             Value* vector = builder_.index(static_cast<int64_t>(v));
                             Value* units = units_at(unit, v);
                             store_units(panel, unit, vector, units);
                             if (sums_needed) next.push_back(add_to_sums(carried[v], units));
                           }
                           return next;
                         });
  };
  Value* done = builder_.index(0);
  if (is_matrix_of_units()) {
    const PlainColumns plain = plain_columns(panel);
    done = ir_.CreateUDiv(panel.k, builder_.index(layout_.group()));
    units_from(builder_.index(0), done,
               [&](Value* unit, size_t vector) { return interleaved(plain, unit, vector); });
  }
  units_from(done, units_of(panel), [&](Value* unit, size_t vector) {
    return units_along_columns(
        panel, unit, [&] { spread_columns(panel, builder_.index(static_cast<int64_t>(vector))); });
  });
  body_.gather_up();
  for (size_t v = 0; v < sums.size(); ++v)
    store_sums(panel, builder_.index(static_cast<int64_t>(v)), sums[v]);
}

/// Whether units are elements of a matrix as they are, one row for each of a unit's.
bool GemmPacker::is_matrix_of_units() const {
  return layout_.group() > 1 && product_.b.place && product_.b.place->outer_stride.is_constant(1);
}

GemmPacker::PlainColumns GemmPacker::plain_columns(const Panel& panel) {
  const ProductOperand::Place& place = *product_.b.place;
  const int64_t bytes = graph::bits(product_.b.dtype) / 8;
  const int lanes = layout_.lanes();
  Value* position = ir_.CreateAdd(body_.index(place.position), panel.column);
  PlainColumns result;
  result.row_bytes = body_.index(place.k_stride * bytes);
  result.first =
      builder_.offset(body_.buffer(place.tensor), ir_.CreateMul(position, builder_.index(bytes)));
  result.first = builder_.offset(result.first, ir_.CreateMul(panel.first, result.row_bytes));
  for (int v = 0; v < layout_.vectors(); ++v) {
    Value* rest = ir_.CreateSub(panel.columns, builder_.index(int64_t{v} * lanes));
    result.masks.push_back(builder_.lanes_below(rest, lanes));
  }
  return result;
}

/// One vector of whole units: the elements of some rows by turns.
Value* GemmPacker::interleaved(const PlainColumns& plain, Value* unit, size_t vector) {
  const int lanes = layout_.lanes();
  const int group = layout_.group();
  const int64_t bytes = 4 / group;
  Value* at = ir_.CreateMul(ir_.CreateMul(unit, builder_.index(group)), plain.row_bytes);
  Value* from = builder_.offset(builder_.offset(plain.first, at),
                                static_cast<int64_t>(vector) * lanes * bytes);
  llvm::SmallVector<Value*, 4> rows;
  llvm::Type* type = VectorBuilder::vector(ir_.getIntNTy(static_cast<unsigned>(8 * bytes)), lanes);
  for (int g = 0; g < group; ++g) {
    rows.push_back(builder_.load(type, from, {.mask = plain.masks[vector]}));
    from = builder_.offset(from, plain.row_bytes);
  }
  llvm::SmallVector<int, 32> order;
  for (int i = 0; i < lanes; ++i) order.append({i, lanes + i});
  while (rows.size() > 1) {
    llvm::SmallVector<Value*, 4> pairs;
    for (size_t i = 0; i < rows.size(); i += 2) {
      Value* pair = ir_.CreateShuffleVector(rows[i], rows[i + 1], order);
      const unsigned bits = 2 * rows[i]->getType()->getScalarSizeInBits();
      pairs.push_back(ir_.CreateBitCast(pair, VectorBuilder::vector(ir_.getIntNTy(bits), lanes)));
    }
    rows = pairs;
  }
  return rows[0];
}

/// Axes of k that tests depend on go outside, so that their masks are made rarely.
std::vector<Expr> GemmPacker::window_order() const {
  if (product_.b.flat_k) return {product_.k.flat};
  const auto is_tested = [&](const Expr& axis) {
    const std::span<const kernel::BodyId> roots(&product_.b.value, 1);
    for (const kernel::BodyId id : arena_.reachable(roots)) {
      const kernel::BodyNode& node = arena_[id];
      if (node.kind != BodyKind::kWhere && node.kind != BodyKind::kLoad) continue;
      for (size_t d = 0; d < node.exprs.size(); ++d) {
        const Expr& expr = node.exprs[d];
        if (!expr.depends_on(axis)) continue;
        if (node.kind == BodyKind::kWhere) return true;
        if (!stays_in_range(expr, arena_.tensor(node.tensor).shape[d])) return true;
      }
    }
    return false;
  };
  std::vector<Expr> result = product_.k.axes;
  std::stable_partition(result.begin(), result.end(), is_tested);
  return result;
}

/// Axes of their own are walked from end to end; one axis only where the panel has it.
void GemmPacker::for_each_k(const Panel& panel, std::span<const Expr> axes,
                            llvm::function_ref<void()> body) {
  if (axes.empty()) return body();
  if (!axes[0].is_axis()) return for_each_k(panel, axes.subspan(1), body);
  const bool innermost = axes.size() == 1;
  if (innermost) body_.prepare_loop(product_.b.value, axes[0]);
  const bool one = product_.b.flat_k;
  Value* begin = one ? panel.first : builder_.index(0);
  Value* end = one ? ir_.CreateAdd(panel.first, panel.k) : body_.index(axes[0].axis_extent());
  builder_.loop(begin, end, builder_.index(1), [&](Value* position) {
    const BodyCode::Scope scope(body_);
    body_.set_axis(axes[0], position);
    for_each_k(panel, axes.subspan(1), body);
  });
  if (innermost) body_.forget_loop();
}

/// Lanes that run through several axes, or k that does: vector by vector.
void GemmPacker::pack_windows(const Panel& panel) {
  const int lanes = layout_.lanes();
  builder_.loop(builder_.index(0), builder_.index(layout_.vectors()), builder_.index(1),
                [&](Value* vector) {
                  const BodyCode::Scope scope(body_);
                  if (product_.b.flat_outer) return pack_window(panel, vector, true);
                  Value* extent = body_.index(n_.axes.back().axis_extent());
                  Value* first = ir_.CreateMul(vector, builder_.index(lanes));
                  first = ir_.CreateURem(ir_.CreateAdd(panel.column, first), extent);
                  Value* end = ir_.CreateAdd(first, builder_.index(lanes));
                  // Most vectors lie in one row; those that do not are put together from several.
                  builder_.if_else(
                      ir_.CreateICmpSLE(end, extent),
                      [&] {
                        const BodyCode::Scope inside(body_);
                        pack_window(panel, vector, true);
                        return Carried{};
                      },
                      [&] {
                        const BodyCode::Scope inside(body_);
                        pack_window(panel, vector, false);
                        return Carried{};
                      });
                });
  body_.gather_up();
}

void GemmPacker::pack_window(const Panel& panel, Value* vector, bool one_run) {
  const int lanes = layout_.lanes();
  Value* first = ir_.CreateMul(vector, builder_.index(lanes));
  Value* mask = builder_.lanes_below(ir_.CreateSub(panel.columns, first), lanes);
  first = ir_.CreateAdd(panel.column, first);
  if (product_.b.flat_outer)
    body_.spread(n_.flat, first, lanes, mask);
  else
    body_.spread(n_.axes, first, lanes, mask, one_run);
  Expr row = 0;
  for (const Expr& axis : product_.k.axes) row = row * axis.axis_extent() + axis;
  if (product_.b.flat_k) row = product_.k.flat;
  const std::vector<Expr> order = window_order();
  for_each_k(panel, order, [&] {
    store_units(panel, ir_.CreateSub(body_.index(row), panel.first), vector, panel_value());
  });
}

/// `lanes` units of one column of B from unit `unit` on.
Value* GemmPacker::units_along_k(const Panel& panel, Value* column, Value* unit) {
  const BodyCode::Scope scope(body_);
  const int elements = layout_.lanes() * layout_.group();
  Value* k = ir_.CreateMul(unit, builder_.index(layout_.group()));
  // Columns that do not exist repeat the last one: nobody looks at them.
  Value* last = ir_.CreateSub(panel.columns, builder_.index(1));
  column = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, column, last);
  column = ir_.CreateAdd(panel.column, column);
  if (product_.b.flat_outer)
    body_.set_axis(n_.flat, column);
  else
    body_.set_axes(n_.axes, column);
  Value* mask = builder_.lanes_below(ir_.CreateSub(panel.k, k), elements);
  body_.spread(product_.k.flat, ir_.CreateAdd(panel.first, k), elements, mask);
  if (layout_.group() == 1) return panel_value();
  Value* bits = element(body_.wide_value(product_.b.value));
  // A body may be something else than zero past the end of k.
  bits = ir_.CreateSelect(mask, bits, llvm::Constant::getNullValue(bits->getType()));
  return ir_.CreateBitCast(bits, unit_vector());
}

void GemmPacker::pack_columns(const Panel& panel) {
  const int lanes = layout_.lanes();
  Value* units = units_of(panel);
  builder_.loop(builder_.index(0), builder_.index(layout_.vectors()), builder_.index(1),
                [&](Value* vector) {
                  const Carried zero{llvm::Constant::getNullValue(unit_vector())};
                  Value* first = ir_.CreateMul(vector, builder_.index(lanes));
                  const Carried sums = builder_.loop(
                      builder_.index(0), units, builder_.index(lanes), zero,
                      [&](Value* unit, llvm::ArrayRef<Value*> carried) {
                        llvm::SmallVector<Value*, 16> square;
                        for (int i = 0; i < lanes; ++i)
                          square.push_back(
                              units_along_k(panel, ir_.CreateAdd(first, builder_.index(i)), unit));
                        builder_.transpose(square);
                        Value* sum = carried[0];
                        for (int i = 0; i < lanes; ++i) {
                          Value* row = square[static_cast<size_t>(i)];
                          sum = add_to_sums(sum, row);
                          store_units(panel, ir_.CreateAdd(unit, builder_.index(i)), vector, row);
                        }
                        return Carried{sum};
                      });
                  store_sums(panel, vector, sums[0]);
                });
  body_.gather_up();
}

}  // namespace luminal::codegen
