#include "luminal/codegen/llvm/gemv_emitter.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "luminal/codegen/llvm/product_emitter.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using llvm::Value;
using symbolic::Expr;

class GemvEmitter : ProductEmitter {
 public:
  GemvEmitter(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
              const GemvSpec& spec)
      : ProductEmitter(module, target, code, spec.accumulator), spec_(spec), lanes_(sum_lanes_) {}

  void emit() {
    begin("gemv");
    Value* blocks = body_.index(ceil_div(plan_.n.extent, spec_.block));
    std::vector<Expr> batch = plan_.batch;
    batch.insert(batch.end(), plan_.row_batch.begin(), plan_.row_batch.end());
    builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
      const BodyCode::Scope scope(body_);
      body_.set_axes(batch, ir_.CreateUDiv(item, blocks));
      column_ = ir_.CreateMul(ir_.CreateURem(item, blocks), builder_.index(spec_.block));
      columns_ = minimum(ir_.CreateSub(n_, column_), builder_.index(spec_.block));
      if (spec_.direct)
        sum_directly();
      else
        sum_in_scratch();
    });
    ir_.CreateRetVoid();
  }

 private:
  void sum_in_scratch() {
    for (size_t p = 0; p < plan_.products.size(); ++p) {
      product_ = &plan_.products[p];
      sums_ = builder_.offset(entry_.scratch, static_cast<int64_t>(p) * product_bytes());
      k_ = body_.index(product_->k.extent);
      if (spec_.along_k)
        sum_along_k();
      else
        sum_along_columns();
    }
    llvm::SmallVector<Value*, 4> sums;
    for (size_t p = 0; p < plan_.products.size(); ++p)
      sums.push_back(builder_.offset(entry_.scratch, static_cast<int64_t>(p) * product_bytes()));
    finish(builder_.index(0), builder_.index(spec_.rows), sums, builder_.index(row_bytes()));
  }

  int sum_bytes() const { return graph::bits(spec_.accumulator) / 8; }
  int64_t row_bytes() const { return spec_.block * sum_bytes(); }
  int64_t product_bytes() const { return row_bytes() * spec_.rows; }
  llvm::Type* sum_vector() { return body_.elements().register_type(spec_.accumulator, lanes_); }
  Value* sum_place(int row, Value* column) {
    Value* at = ir_.CreateMul(column, builder_.index(sum_bytes()));
    return builder_.offset(builder_.offset(sums_, row * row_bytes()), at);
  }
  Value* multiply_add(Value* a, Value* b, Value* sum) {
    if (sum->getType()->isIntOrIntVectorTy()) return ir_.CreateAdd(sum, ir_.CreateMul(a, b));
    return builder_.mul_add(a, b, sum);
  }
  Value* in_sum_type(const ProductOperand& operand, Value* value) {
    return body_.elements().cast(operand.dtype, spec_.accumulator, value);
  }
  void set_column(Value* column) {
    if (product_->b.flat_outer)
      body_.set_axis(plan_.n.flat, column);
    else
      body_.set_axes(plan_.n.axes, column);
  }

  // Along k.

  int group() const {
    return spec_.mode == GemmMode::kDotBf16 ? 2 : spec_.mode == GemmMode::kDotI8 ? 4 : 1;
  }

  /// One vector of an operand from k on, in the form that products take.
  Value* vector_of(const ProductOperand& operand, Value* k, Value* mask) {
    const int count = lanes_ * group();
    if (spec_.mode == GemmMode::kFma) {
      body_.spread(product_->k.flat, k, count, mask);
      return in_sum_type(operand, body_.wide_value(operand.value));
    }
    const int bytes = 4 / group();
    llvm::Type* type =
        VectorBuilder::vector(ir_.getIntNTy(static_cast<unsigned>(8 * bytes)), count);
    Value* position = body_.index(operand.place->position);
    Value* outer = &operand == &product_->a ? body_.index(plan_.m.flat) : body_.index(plan_.n.flat);
    position =
        ir_.CreateAdd(position, ir_.CreateMul(outer, body_.index(operand.place->outer_stride)));
    position = ir_.CreateMul(ir_.CreateAdd(position, k), builder_.index(bytes));
    Value* raw = builder_.load(type, builder_.offset(body_.buffer(operand.place->tensor), position),
                               {.mask = mask});
    return ir_.CreateBitCast(raw, spec_.mode == GemmMode::kDotBf16
                                      ? VectorBuilder::vector(ir_.getBFloatTy(), count)
                                      : VectorBuilder::vector(builder_.i32(), lanes_));
  }

  Value* dot(Value* sum, Value* a, Value* b) {
    if (spec_.mode == GemmMode::kDotBf16)
      return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, {sum, a, b});
    if (spec_.mode == GemmMode::kFma) return multiply_add(a, b, sum);
    // B is read as unsigned, 128 too large; correct() takes that off.
    Value* shifted = ir_.CreateXor(b, VectorBuilder::integer(b->getType(), 0x80808080));
    return builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {}, {sum, shifted, a});
  }

  /// One step of k for all rows and some columns.
  void step(llvm::MutableArrayRef<Value*> sums, llvm::ArrayRef<Value*> columns, Value* k,
            Value* mask) {
    std::vector<Value*> a;
    for (int r = 0; r < spec_.rows; ++r) {
      const BodyCode::Scope scope(body_);
      body_.set_axis(plan_.m.flat, builder_.index(r));
      a.push_back(vector_of(product_->a, k, mask));
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      const BodyCode::Scope scope(body_);
      set_column(columns[c]);
      Value* b = vector_of(product_->b, k, mask);
      for (size_t r = 0; r < a.size(); ++r) {
        Value*& sum = sums[c * a.size() + r];
        sum = dot(sum, a[r], b);
      }
    }
    body_.gather_up();
  }

  /// All of k for some columns; their sums are stored from `to` on.
  void sum_columns(llvm::ArrayRef<Value*> columns, Value* to) {
    const auto rows = static_cast<size_t>(spec_.rows);
    const auto set = columns.size() * rows;
    const int64_t stride = int64_t{lanes_} * group();
    const auto unroll = static_cast<size_t>(spec_.unroll);
    Carried state(set * unroll, llvm::Constant::getNullValue(sum_vector()));
    Value* turn = builder_.index(stride * spec_.unroll);
    Value* whole = ir_.CreateSub(k_, ir_.CreateURem(k_, turn));
    state = builder_.loop(builder_.index(0), whole, turn, state,
                          [&](Value* k, llvm::ArrayRef<Value*> now) {
                            Carried next(now.begin(), now.end());
                            for (size_t u = 0; u < unroll; ++u) {
                              const auto at = static_cast<int64_t>(u) * stride;
                              step(llvm::MutableArrayRef<Value*>(next).slice(u * set, set), columns,
                                   ir_.CreateAdd(k, builder_.index(at)), nullptr);
                            }
                            return next;
                          });
    for (size_t u = 1; u < unroll; ++u)
      for (size_t i = 0; i < set; ++i) state[i] = add(state[i], state[u * set + i]);
    Carried sums(state.begin(), state.begin() + static_cast<int64_t>(set));
    sums = builder_.loop(
        whole, k_, builder_.index(stride), sums, [&](Value* k, llvm::ArrayRef<Value*> now) {
          Carried next(now.begin(), now.end());
          Value* mask = builder_.lanes_below(ir_.CreateSub(k_, k), lanes_ * group());
          step(next, columns, k, mask);
          return next;
        });
    for (size_t c = 0; c < columns.size(); ++c)
      for (size_t r = 0; r < rows; ++r) {
        Value* at = ir_.CreateAdd(to, builder_.index(static_cast<int64_t>(c)));
        Value* total = correct(r, builder_.horizontal_sum(sums[c * rows + r]));
        builder_.store(total, sum_place(static_cast<int>(r), at));
      }
  }

  Value* add(Value* a, Value* b) {
    return a->getType()->isIntOrIntVectorTy() ? ir_.CreateAdd(a, b) : ir_.CreateFAdd(a, b);
  }
  Value* correct(size_t row, Value* total) {
    return corrections_.empty() ? total : ir_.CreateSub(total, corrections_[row]);
  }

  /// 128 times the sum of each row of A.
  void find_corrections() {
    corrections_.clear();
    if (spec_.mode != GemmMode::kDotI8) return;
    const int64_t stride = int64_t{lanes_} * group();
    for (int r = 0; r < spec_.rows; ++r) {
      const Carried zero{llvm::Constant::getNullValue(sum_vector())};
      body_.set_axis(plan_.m.flat, builder_.index(r));
      const Carried sum = builder_.loop(
          builder_.index(0), k_, builder_.index(stride), zero,
          [&](Value* k, llvm::ArrayRef<Value*> now) {
            Value* mask = builder_.lanes_below(ir_.CreateSub(k_, k), lanes_ * group());
            Value* a = vector_of(product_->a, k, mask);
            Value* weights = VectorBuilder::integer(a->getType(), 0x01010101);
            return Carried{builder_.call_intrinsic(llvm::Intrinsic::x86_avx512_vpdpbusd_512, {},
                                                   {now[0], weights, a})};
          });
      corrections_.push_back(ir_.CreateMul(builder_.horizontal_sum(sum[0]), ir_.getInt32(128)));
    }
  }

  void sum_along_k() {
    find_corrections();
    Value* many = builder_.index(spec_.streams);
    Value* whole = ir_.CreateSub(columns_, ir_.CreateURem(columns_, many));
    const auto some = [&](Value* first, int count) {
      const BodyCode::Scope scope(body_);
      llvm::SmallVector<Value*, 8> columns;
      for (int c = 0; c < count; ++c)
        columns.push_back(ir_.CreateAdd(ir_.CreateAdd(column_, first), builder_.index(c)));
      sum_columns(columns, first);
    };
    builder_.loop(builder_.index(0), whole, many, [&](Value* c) { some(c, spec_.streams); });
    if (spec_.streams > 1)
      builder_.loop(whole, columns_, builder_.index(1), [&](Value* c) { some(c, 1); });
  }

  // Along the columns.

  /// Asks for a vector of the rows that come next: runs of narrow elements are too short for the
  /// processor to see them coming.
  void ask_for_rows(Value* k, int count, Value* column) {
    constexpr int kSecondCache = 2;
    const auto& place = product_->b.place;
    const int bytes = graph::bits(product_->b.dtype) / 8;
    if (!place || bytes >= 4) return;
    Value* row_bytes = body_.index(place->k_stride * bytes);
    Value* first = ir_.CreateAdd(body_.index(place->position), ir_.CreateAdd(column_, column));
    first = ir_.CreateMul(first, builder_.index(bytes));
    first = ir_.CreateAdd(first, ir_.CreateMul(k, row_bytes));
    Value* at = builder_.offset(body_.buffer(place->tensor), first);
    for (int i = 0; i < count; ++i) {
      builder_.prefetch(at, kSecondCache);
      at = builder_.offset(at, row_bytes);
    }
  }

  /// Some steps of k for every column of the block.
  void add_rows(Value* k, int count) {
    std::vector<Value*> a;
    for (int i = 0; i < count; ++i)
      for (int r = 0; r < spec_.rows; ++r) {
        const BodyCode::Scope scope(body_);
        set_k(ir_.CreateAdd(k, builder_.index(i)), product_->a);
        body_.set_axis(plan_.m.flat, builder_.index(r));
        a.push_back(
            builder_.splat(in_sum_type(product_->a, body_.value(product_->a.value)), lanes_));
      }
    const auto vector = [&](Value* column, Value* mask) {
      std::vector<Value*> sums;
      if (mask == nullptr) ask_for_rows(ir_.CreateAdd(k, builder_.index(count)), count, column);
      for (int r = 0; r < spec_.rows; ++r)
        sums.push_back(builder_.load(sum_vector(), sum_place(r, column)));
      for (int i = 0; i < count; ++i) {
        const BodyCode::Scope scope(body_);
        set_k(ir_.CreateAdd(k, builder_.index(i)), product_->b);
        body_.spread(plan_.n.flat, ir_.CreateAdd(column_, column), lanes_, mask);
        Value* b = in_sum_type(product_->b, body_.wide_value(product_->b.value));
        for (int r = 0; r < spec_.rows; ++r) {
          Value*& sum = sums[static_cast<size_t>(r)];
          sum = multiply_add(a[static_cast<size_t>(i * spec_.rows + r)], b, sum);
        }
        body_.gather_up();
      }
      for (int r = 0; r < spec_.rows; ++r)
        builder_.store(sums[static_cast<size_t>(r)], sum_place(r, column));
    };
    Value* step = builder_.index(lanes_);
    Value* whole = ir_.CreateSub(columns_, ir_.CreateURem(columns_, step));
    builder_.loop(builder_.index(0), whole, step, [&](Value* column) { vector(column, nullptr); });
    builder_.loop(whole, columns_, step, [&](Value* column) {
      vector(column, builder_.lanes_below(ir_.CreateSub(columns_, column), lanes_));
    });
  }

  void set_k(Value* k, const ProductOperand& operand) {
    if (operand.flat_k)
      body_.set_axis(product_->k.flat, k);
    else
      body_.set_axes(product_->k.axes, k);
  }

  void sum_along_columns() {
    for (int r = 0; r < spec_.rows; ++r)
      ir_.CreateMemSet(sum_place(r, builder_.index(0)), ir_.getInt8(0),
                       static_cast<uint64_t>(row_bytes()), llvm::MaybeAlign(64));
    Value* many = builder_.index(spec_.streams);
    Value* whole = ir_.CreateSub(k_, ir_.CreateURem(k_, many));
    const auto some = [&](int count) {
      return [&, count](Value* k) {
        const BodyCode::Scope scope(body_);
        add_rows(k, count);
      };
    };
    builder_.loop(builder_.index(0), whole, many, some(spec_.streams));
    if (spec_.streams > 1) builder_.loop(whole, k_, builder_.index(1), some(1));
  }

  // In registers.

  /// The sums of one vector of columns, product by product and row by row.
  std::vector<Value*> direct_sums(Value* column, Value* mask, bool one_run) {
    std::vector<Value*> sums;
    for (const Product& product : plan_.products) {
      const BodyCode::Scope of_product(body_);
      std::vector<Value*> rows(static_cast<size_t>(spec_.rows),
                               llvm::Constant::getNullValue(sum_vector()));
      const int64_t steps = *product.k.extent.constant_value();
      for (int64_t k = 0; k < steps; ++k) {
        const BodyCode::Scope of_step(body_);
        set_step(product.k, k);
        if (product.b.flat_outer)
          body_.spread(plan_.n.flat, column, lanes_, mask);
        else
          body_.spread(plan_.n.axes, column, lanes_, mask, one_run);
        Value* b = in_sum_type(product.b, body_.wide_value(product.b.value));
        body_.gather_up();
        for (int r = 0; r < spec_.rows; ++r) {
          const BodyCode::Scope of_row(body_);
          body_.set_axis(plan_.m.flat, builder_.index(r));
          Value* a = in_sum_type(product.a, body_.value(product.a.value));
          Value*& sum = rows[static_cast<size_t>(r)];
          sum = multiply_add(builder_.splat(a, lanes_), b, sum);
        }
      }
      sums.insert(sums.end(), rows.begin(), rows.end());
    }
    return sums;
  }

  /// Position k as constants, in the flat axis and in the single ones.
  void set_step(const AxisGroup& group, int64_t k) {
    body_.set_axis(group.flat, builder_.index(k));
    for (size_t i = group.axes.size(); i-- > 0;) {
      const int64_t extent = *group.axes[i].axis_extent().constant_value();
      body_.set_axis(group.axes[i], builder_.index(k % extent));
      k /= extent;
    }
  }

  void sum_directly() {
    builder_.loop(builder_.index(0), columns_, builder_.index(lanes_), [&](Value* at) {
      const BodyCode::Scope scope(body_);
      Value* column = ir_.CreateAdd(column_, at);
      Value* mask = builder_.lanes_below(ir_.CreateSub(columns_, at), lanes_);
      const auto sums_of = [&](bool one_run) {
        return [&, one_run] {
          const BodyCode::Scope inside(body_);
          const std::vector<Value*> sums = direct_sums(column, mask, one_run);
          return Carried(sums.begin(), sums.end());
        };
      };
      Carried sums;
      if (plan_.n.axes.size() < 2) {
        sums = sums_of(true)();
      } else {
        Value* extent = body_.index(plan_.n.axes.back().axis_extent());
        Value* end = ir_.CreateAdd(ir_.CreateURem(column, extent), builder_.index(lanes_));
        sums = builder_.if_else(ir_.CreateICmpSLE(end, extent), sums_of(true), sums_of(false));
      }
      for (int r = 0; r < spec_.rows; ++r) {
        const BodyCode::Scope in_row(body_);
        body_.set_axis(plan_.m.flat, builder_.index(r));
        body_.spread(plan_.n.flat, column, lanes_, mask);
        for (size_t p = 0; p < plan_.products.size(); ++p) {
          const size_t number = p * static_cast<size_t>(spec_.rows) + static_cast<size_t>(r);
          body_.define(plan_.products[p].sum,
                       value_of_sum(body_, accumulator_, plan_.products[p].dtype, sums[number]));
        }
        for (const kernel::Root& root : plan_.roots)
          body_.store(root, body_.wide_value(root.value));
        body_.gather_up();
      }
    });
  }

  const GemvSpec& spec_;
  int lanes_;
  // Of the current product.
  const Product* product_ = nullptr;
  Value* sums_ = nullptr;
  Value* k_ = nullptr;
  std::vector<Value*> corrections_;
};

}  // namespace

std::string to_string(const GemvSpec& spec) {
  return fmt::format("gemv {} rows {}along {} in {} mode {} streams {} unroll {} block {}",
                     spec.rows, spec.direct ? "directly " : "", spec.along_k ? "k" : "columns",
                     spec.accumulator, static_cast<int>(spec.mode), spec.streams, spec.unroll,
                     spec.block);
}

Expr gemv_items(const ContractionPlan& plan, const GemvSpec& spec) {
  Expr items = ceil_div(plan.n.extent, spec.block);
  for (const std::vector<Expr>* batch : {&plan.batch, &plan.row_batch})
    for (const Expr& axis : *batch) items = items * axis.axis_extent();
  return items;
}

int64_t gemv_scratch_bytes(const ContractionPlan& plan, const GemvSpec& spec) {
  if (spec.direct) return 0;
  const auto products = static_cast<int64_t>(plan.products.size());
  return products * spec.rows * spec.block * (graph::bits(spec.accumulator) / 8) + 64;
}

void emit_gemv(llvm::Module& module, const CpuTarget& target, const GemmCode& code,
               const GemvSpec& spec) {
  GemvEmitter(module, target, code, spec).emit();
}

}  // namespace luminal::codegen
