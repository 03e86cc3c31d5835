#include "luminal/codegen/llvm/product_emitter.h"

#include <algorithm>

namespace luminal::codegen {

using graph::DType;
using llvm::Value;

ProductEmitter::ProductEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
                               DType accumulator)
    : builder_(module, target),
      ir_(builder_.ir()),
      code_(code),
      plan_(code.plan),
      accumulator_(accumulator),
      sum_lanes_(target.lanes(graph::bits(accumulator))),
      finished_lanes_(sum_lanes_),
      body_(builder_, *code.arena, {code.round_each, MathAccuracy::kFull}, code.plan.roots) {}

void ProductEmitter::begin(std::string_view name) {
  entry_ = builder_.begin_entry(name);
  for (size_t i = 0; i < code_.tensors.size(); ++i)
    body_.set_buffer(code_.tensors[i], builder_.buffer(entry_, static_cast<int>(i)));
  for (size_t i = 0; i < code_.dims.size(); ++i)
    body_.set_dim(code_.dims[i], builder_.scalar(entry_, static_cast<int>(i)));
  n_ = body_.index(plan_.n.extent);
}

Value* ProductEmitter::minimum(Value* a, Value* b) {
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
}

Value* value_of_sum(BodyCode& body, DType accumulator, DType dtype, Value* sum) {
  // In registers a narrow float is an f32 already.
  const bool is_narrow = graph::is_float(dtype) && graph::bits(dtype) < 32;
  if (is_narrow && accumulator == DType::kF32) return body.elements().bounded(dtype, sum);
  return body.elements().cast(accumulator, dtype, sum);
}

void ProductEmitter::finish(Value* row, Value* rows, llvm::ArrayRef<Value*> sums, Value* sums_row) {
  const int lanes = finished_lanes_;
  builder_.loop(builder_.index(0), columns_, builder_.index(lanes), [&](Value* column) {
    const BodyCode::Scope in_vector(body_);
    const auto finish_rows = [&](Value* mask) {
      const BodyCode::Scope scope(body_);
      body_.spread(plan_.n.flat, ir_.CreateAdd(column_, column), lanes, mask);
      find_what_rows_share();
      builder_.loop(builder_.index(0), rows, builder_.index(1), [&](Value* r) {
        const BodyCode::Scope in_row(body_);
        body_.set_axis(plan_.m.flat, ir_.CreateAdd(row, r));
        finish_vector(sums, ir_.CreateMul(r, sums_row), column, mask);
      });
      body_.gather_up();
      return Carried{};
    };
    if (divisible_by(plan_.n.extent, lanes)) {
      finish_rows(nullptr);
      return;
    }
    Value* rest = ir_.CreateSub(columns_, column);
    if (builder_.target().has(runtime::CpuFeature::kAvx512f)) {
      finish_rows(builder_.lanes_below(rest, lanes));
      return;
    }
    // Masks are slow here.
    builder_.if_else(
        ir_.CreateICmpSGE(rest, builder_.index(lanes)), [&] { return finish_rows(nullptr); },
        [&] { return finish_rows(builder_.lanes_below(rest, lanes)); });
  });
}

/// Loads what is the same in all rows (a bias) once for a vector of columns.
void ProductEmitter::find_what_rows_share() {
  std::vector<kernel::BodyId> values;
  for (const kernel::Root& root : plan_.roots) values.push_back(root.value);
  for (const kernel::BodyId id : code_.arena->reachable(values)) {
    const kernel::BodyNode& node = (*code_.arena)[id];
    const bool is_sum = std::any_of(plan_.products.begin(), plan_.products.end(),
                                    [&](const Product& product) { return product.sum == id; });
    if (node.kind == kernel::BodyKind::kLoad && !is_sum && node.index_values.empty() &&
        !kernel::contains(node.free, plan_.m.flat))
      body_.value(id);
  }
}

Value* ProductEmitter::load_sum(Value* place, Value* mask) {
  const auto load = [&](Value* part) {
    Value* from = parts_ == 1 ? place : builder_.offset(place, ir_.CreateMul(part, part_bytes_));
    return body_.elements().load(accumulator_, from, builder_.index(0), finished_lanes_,
                                 {.mask = mask});
  };
  const Carried first{load(builder_.index(0))};
  if (parts_ == 1) return first[0];
  return builder_.loop(builder_.index(1), builder_.index(parts_), builder_.index(1), first,
                       [&](Value* part, llvm::ArrayRef<Value*> now) {
                         Value* next = load(part);
                         return Carried{graph::is_float(accumulator_)
                                            ? ir_.CreateFAdd(now[0], next)
                                            : ir_.CreateAdd(now[0], next)};
                       })[0];
}

void ProductEmitter::finish_vector(llvm::ArrayRef<Value*> sums, Value* at_row, Value* column,
                                   Value* mask) {
  for (size_t i = 0; i < sums.size(); ++i) {
    Value* at =
        ir_.CreateAdd(at_row, ir_.CreateMul(column, builder_.index(graph::bits(accumulator_) / 8)));
    Value* sum = load_sum(builder_.offset(sums[i], at), mask);
    body_.define(plan_.products[i].sum,
                 value_of_sum(body_, accumulator_, plan_.products[i].dtype, sum));
  }
  for (const kernel::Root& root : plan_.roots) body_.store(root, body_.wide_value(root.value));
}

}  // namespace luminal::codegen
