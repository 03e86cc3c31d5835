#include "luminal/codegen/llvm/contraction_plan.h"

#include <algorithm>
#include <set>

#include "luminal/codegen/llvm/compared_sums.h"
#include "luminal/codegen/llvm/nest_plan.h"
#include "luminal/kernel/contraction.h"
#include "luminal/kernel/estimate.h"
#include "luminal/kernel/replacement.h"
#include "luminal/symbolic/quotients.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using kernel::Arena;
using kernel::AxisSet;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::Contraction;
using kernel::NodeId;
using symbolic::Binding;
using symbolic::Expr;

/// Writes the axes of a group as parts of one axis with this id.
AxisGroup make_group(std::span<const Expr> axes, int64_t id) {
  AxisGroup group;
  group.axes.assign(axes.begin(), axes.end());
  for (const Expr& axis : axes) group.extent = group.extent * axis.axis_extent();
  if (axes.size() == 1) group.flat = axes[0];
  if (axes.size() > 1) group.flat = Expr::axis(id, group.extent);
  return group;
}

std::vector<Binding> flattening(const AxisGroup& group) {
  std::vector<Binding> result;
  if (group.axes.size() < 2) return result;
  Expr rest = group.flat;
  for (size_t k = group.axes.size(); k-- > 0;) {
    const Expr extent = group.axes[k].axis_extent();
    result.push_back({group.axes[k], k == 0 ? rest : mod(rest, extent)});
    if (k > 0) rest = floor_div(rest, extent);
  }
  return result;
}

/// Whether a body reads the flat axis without taking it apart again.
bool is_flat(const Arena& arena, BodyId id, const Expr& axis) {
  const auto takes_apart = [&](const Expr& expr) {
    const std::vector<symbolic::Quotient> quotients = symbolic::quotients(expr);
    return std::any_of(quotients.begin(), quotients.end(), [&](const symbolic::Quotient& each) {
      return each.numerator.depends_on(axis);
    });
  };
  for (const BodyId part : arena.reachable(std::span(&id, 1))) {
    const BodyNode& node = arena[part];
    // A division in one dim and a remainder in the next may make one position again.
    if (node.kind == BodyKind::kLoad) {
      if (takes_apart(position_of(node.exprs, arena.tensor(node.tensor).shape))) return false;
    } else if (std::any_of(node.exprs.begin(), node.exprs.end(), takes_apart)) {
      return false;
    }
  }
  return true;
}

/// Casts that change no value need not be done before a product.
BodyId without_widening(const Arena& arena, BodyId id) {
  while (arena[id].kind == BodyKind::kOp && arena[id].op == Op::kCast) {
    const BodyId inner = arena[id].children[0];
    const DType from = arena[inner].dtype;
    const DType to = arena[id].dtype;
    const bool floats = graph::is_float(from) && graph::is_float(to);
    const bool integers = graph::is_integer(from) && graph::is_integer(to) &&
                          graph::is_unsigned(from) == graph::is_unsigned(to);
    const bool converts = graph::is_integer(from) && graph::bits(from) <= 16 &&
                          (to == DType::kF32 || to == DType::kF64);
    if (!floats && !integers && !converts) break;
    if (graph::bits(from) >= graph::bits(to)) break;
    // f16 has digits that bf16 lacks.
    if (floats && to != DType::kF32 && to != DType::kF64) break;
    id = inner;
  }
  return id;
}

class Planner {
 public:
  Planner(Arena& arena, const kernel::Kernel& kernel, const CpuKernelOptions& options)
      : arena_(arena), kernel_(kernel), options_(options), next_axis_(kernel.axes.size()) {}

  Recognised<ContractionPlan> plan() {
    if (!find_reductions()) return Refusal{why_};
    if (compares_sums(arena_, kernel_))
      return Refusal{"it compares sums that other code adds up in another order"};
    if (!assign_axes()) return Refusal{"its products disagree about rows and columns"};
    if (!stand_in()) return Refusal{"something is reduced after its products"};
    choose_columns();
    choose_rows();
    for (kernel::Root& root : plan_.roots) flatten_root(root);
    for (const Contraction& contraction : contractions_) add_product(contraction);
    divide_batch();
    return std::move(plan_);
  }

 private:
  bool refuse(const char* why) {
    why_ = why;
    return false;
  }

  /// The outermost reductions: products, and smaller ones.
  bool find_reductions() {
    std::vector<BodyId> stack;
    std::set<BodyId> seen;
    for (const kernel::Root& root : kernel_.roots) {
      if (graph::bits(arena_.tensor(root.tensor).dtype) == 4)
        return refuse("results are packed two to a byte");
      stack.push_back(root.value);
    }
    const AxisSet all = kernel::make_axis_set(kernel_.axes);
    while (!stack.empty()) {
      const BodyId id = stack.back();
      stack.pop_back();
      if (!seen.insert(id).second) continue;
      const BodyNode node = arena_[id];
      if (node.kind != BodyKind::kReduce) {
        stack.insert(stack.end(), node.children.begin(), node.children.end());
        stack.insert(stack.end(), node.index_values.begin(), node.index_values.end());
      } else if (node.free != all) {
        early_.push_back(id);
      } else {
        const std::optional<Contraction> found = kernel::match_contraction(arena_, id);
        if (!found) return refuse("it reduces what is no product of two operands");
        if (!can_sum(found->dtype)) return refuse("its sums are of a type that tiles cannot add");
        contractions_.push_back(*found);
      }
    }
    std::sort(early_.begin(), early_.end());
    std::sort(contractions_.begin(), contractions_.end(),
              [](const Contraction& a, const Contraction& b) { return a.reduction < b.reduction; });
    if (contractions_.empty()) return refuse("it holds no product of matrices");
    return contractions_.size() <= 4 || refuse("it holds more than four products");
  }

  bool can_sum(DType dtype) const {
    if (graph::is_bool(dtype) || graph::bits(dtype) == 4) return false;
    // Rounding every product is not what products of matrices do.
    return !options_.round_each || !graph::is_float(dtype) || graph::bits(dtype) >= 32;
  }

  /// All products must agree about rows and columns; columns are what memory runs along.
  bool assign_axes() {
    const Contraction& first = contractions_[0];
    bool swap = false;
    const graph::Shape& shape = arena_.tensor(kernel_.roots[0].tensor).shape;
    const Expr position = position_of(kernel_.roots[0].store, shape);
    for (const Expr& axis : first.m) {
      const auto stride = stride_along(position, axis);
      if (stride && stride->stride.is_constant(1)) swap = true;
    }
    m_ = kernel::make_axis_set(swap ? first.n : first.m);
    n_ = kernel::make_axis_set(swap ? first.m : first.n);
    if (n_.empty()) std::swap(m_, n_);
    for (Contraction& each : contractions_) {
      if (kernel::make_axis_set(each.m) != m_) {
        std::swap(each.m, each.n);
        std::swap(each.a, each.b);
      }
      if (kernel::make_axis_set(each.m) != m_ || kernel::make_axis_set(each.n) != n_) return false;
    }
    for (const Expr& axis : kernel_.axes)
      if (!kernel::contains(m_, axis) && !kernel::contains(n_, axis)) batch_.push_back(axis);
    return true;
  }

  /// Puts stand-ins where the epilogue uses reductions.
  bool stand_in() {
    kernel::Replacement replacement(arena_);
    for (size_t i = 0; i < contractions_.size(); ++i) {
      const DType dtype = contractions_[i].dtype;
      const NodeId tensor{kFirstPrivateTensor + static_cast<uint32_t>(dtype) * 16 +
                          static_cast<uint32_t>(i)};
      arena_.declare_tensor(tensor, {dtype, {}});
      sums_.push_back(arena_.load(tensor, {}));
      replacement.add(contractions_[i].reduction, sums_.back());
    }
    for (const BodyId id : early_) {
      const AxisSet free = arena_[id].free;
      const NodeId tensor = private_tensor(arena_, arena_[id].dtype, free);
      replacement.add(id, arena_.load(tensor, free));
      plan_.early.push_back({id, tensor});
    }
    std::vector<BodyId> values;
    for (const kernel::Root& root : kernel_.roots) {
      plan_.roots.push_back({root.tensor, replacement(root.value), root.store});
      values.push_back(plan_.roots.back().value);
    }
    const std::vector<BodyId> reached = arena_.reachable(values);
    return std::none_of(reached.begin(), reached.end(),
                        [&](BodyId id) { return arena_[id].kind == BodyKind::kReduce; });
  }

  bool roots_are_flat(const AxisGroup& group) {
    const std::vector<Binding> bindings = flattening(group);
    return std::all_of(plan_.roots.begin(), plan_.roots.end(), [&](const kernel::Root& root) {
      const Expr position = position_of(root.store, arena_.tensor(root.tensor).shape);
      return stride_along(symbolic::substitute(position, bindings), group.flat).has_value();
    });
  }

  /// As many of the column axes as results have in one row; the others are batches.
  void choose_columns() {
    const std::vector<Expr> axes(n_.begin(), n_.end());
    size_t begin = 0;
    while (begin + 1 < axes.size() &&
           !roots_are_flat(make_group(std::span(axes).subspan(begin), next_axis_)))
      ++begin;
    plan_.n = make_group(std::span(axes).subspan(begin), next_axis_++);
    batch_.insert(batch_.end(), axes.begin(), axes.begin() + static_cast<int64_t>(begin));
  }

  /// As many of the row axes as results and first operands take in equal steps. Operands are copied
  /// rather than left with very few rows.
  void choose_rows() {
    const std::vector<Expr> axes(m_.begin(), m_.end());
    size_t begin = 0;
    while (begin + 1 < axes.size()) {
      const AxisGroup group = make_group(std::span(axes).subspan(begin), next_axis_);
      if (!roots_are_flat(group)) {
        ++begin;
        continue;
      }
      const AxisGroup fewer = make_group(std::span(axes).subspan(begin + 1), next_axis_);
      const std::vector<Binding> bindings = flattening(group);
      const bool operands =
          std::all_of(contractions_.begin(), contractions_.end(), [&](const Contraction& each) {
            return is_flat(arena_, arena_.substitute(each.a.value, bindings), group.flat);
          });
      if (operands || typical_extent(fewer.extent, options_) < 16) break;
      ++begin;
    }
    plan_.m = make_group(std::span(axes).subspan(begin), next_axis_++);
    batch_.insert(batch_.end(), axes.begin(), axes.begin() + static_cast<int64_t>(begin));
  }

  void flatten_root(kernel::Root& root) {
    for (const AxisGroup* group : {&plan_.n, &plan_.m}) {
      const std::vector<Binding> bindings = flattening(*group);
      root.value = arena_.substitute(root.value, bindings);
      for (Expr& position : root.store) position = symbolic::substitute(position, bindings);
    }
  }

  /// Steps of k in the order in which the first operand lies, so that it need not be copied.
  std::vector<Expr> order_of_k(const Contraction& contraction) const {
    std::vector<Expr> axes = contraction.k;
    const BodyId a = without_widening(arena_, contraction.a.value);
    const auto plain = kernel::strided_load(arena_, a);
    if (!plain) return axes;
    std::stable_sort(axes.begin(), axes.end(), [&](const Expr& left, const Expr& right) {
      const auto a_stride = plain->stride(left).constant_value();
      const auto b_stride = plain->stride(right).constant_value();
      return a_stride && b_stride && *a_stride > *b_stride;
    });
    return axes;
  }

  ProductOperand operand(BodyId value, const AxisGroup& outer, const AxisGroup& k) {
    ProductOperand result;
    result.value = without_widening(arena_, value);
    result.dtype = arena_[result.value].dtype;
    const auto flatten = [&](const AxisGroup& group) {
      const BodyId flat = arena_.substitute(result.value, flattening(group));
      if (!is_flat(arena_, flat, group.flat)) return false;
      result.value = flat;
      return true;
    };
    result.flat_outer = outer.axes.size() < 2 || flatten(outer);
    result.flat_k = k.axes.size() < 2 || flatten(k);
    if (result.flat_outer && result.flat_k)
      result.place = place_of(arena_, result.value, outer.flat, k.flat);
    return result;
  }

  void add_product(const Contraction& contraction) {
    Product product;
    product.sum = sums_[plan_.products.size()];
    product.dtype = contraction.dtype;
    product.k = make_group(order_of_k(contraction), next_axis_++);
    product.a = operand(contraction.a.value, plan_.m, product.k);
    product.b = operand(contraction.b.value, plan_.n, product.k);
    const std::span<const Expr> k =
        product.b.flat_k ? std::span(&product.k.flat, 1) : std::span<const Expr>(product.k.axes);
    product.four_bit = four_bit_weights(arena_, product.b.value, k);
    plan_.products.push_back(std::move(product));
  }

  void divide_batch() {
    for (const Expr& axis : batch_) {
      const bool used =
          std::any_of(plan_.products.begin(), plan_.products.end(), [&](const Product& product) {
            return kernel::contains(arena_[product.b.value].free, axis);
          });
      (used ? plan_.batch : plan_.row_batch).push_back(axis);
    }
  }

  Arena& arena_;
  const kernel::Kernel& kernel_;
  const CpuKernelOptions& options_;
  int64_t next_axis_;
  std::vector<Contraction> contractions_;
  std::vector<BodyId> sums_;
  std::vector<BodyId> early_;
  AxisSet m_, n_;
  std::vector<Expr> batch_;
  ContractionPlan plan_;
  const char* why_ = "";  // of what was refused
};

}  // namespace

std::optional<ProductOperand::Place> place_of(const Arena& arena, BodyId value, const Expr& outer,
                                              const Expr& k) {
  const BodyNode& node = arena[value];
  if (node.kind != BodyKind::kLoad || !node.index_values.empty() || graph::bits(node.dtype) == 4 ||
      graph::is_bool(node.dtype))
    return std::nullopt;
  const graph::Shape& shape = arena.tensor(node.tensor).shape;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!stays_in_range(node.exprs[d], shape[d])) return std::nullopt;
  const auto along_k = stride_along(position_of(node.exprs, shape), k);
  if (!along_k || along_k->stride.depends_on(outer)) return std::nullopt;
  const auto along_outer = stride_along(along_k->rest, outer);
  if (!along_outer || !along_outer->stride.axes().empty() || !along_k->stride.axes().empty())
    return std::nullopt;
  return ProductOperand::Place{node.tensor, along_outer->rest, along_outer->stride,
                               along_k->stride};
}

int64_t typical_extent(const Expr& expr, const CpuKernelOptions& options) {
  const kernel::EstimateOptions sizes{.dims = options.dims, .typical_dim = options.typical_dim};
  return static_cast<int64_t>(kernel::typical_value(expr, sizes));
}

graph::DType accumulator_of(graph::DType dtype) {
  using graph::DType;
  if (graph::is_float(dtype)) return dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  return graph::bits(dtype) > 32 ? DType::kI64 : DType::kI32;
}

Recognised<ContractionPlan> plan_contraction(Arena& arena, const kernel::Kernel& kernel,
                                             const CpuKernelOptions& options) {
  return Planner(arena, kernel, options).plan();
}

}  // namespace luminal::codegen
