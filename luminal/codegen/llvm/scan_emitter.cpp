#include "luminal/codegen/llvm/scan_emitter.h"

#include <algorithm>
#include <limits>
#include <map>

#include "luminal/codegen/llvm/body_code.h"

namespace luminal::codegen {
namespace {

using graph::DType;
using graph::Op;
using llvm::Value;
using symbolic::Expr;

/// Steps along the scanned axis for which totals stay in registers.
constexpr int64_t kStepsAcross = 4;

/// In registers narrow floats are f32.
DType register_dtype(DType dtype) {
  return graph::is_float(dtype) && graph::bits(dtype) < 32 ? DType::kF32 : dtype;
}

class ScanEmitter {
 public:
  ScanEmitter(llvm::Module& module, const CpuTarget& target, const ScanCode& code)
      : builder_(module, target),
        ir_(builder_.ir()),
        code_(code),
        plan_(code.plan),
        body_(builder_, *code.arena, {code.round_each, MathAccuracy::kFull}, code.roots),
        ops_(builder_, body_.elements(), {code.round_each, MathAccuracy::kFull}),
        dtype_(register_dtype(plan_.dtype)),
        carried_(code.carried()) {}

  void emit_totals() {
    begin("totals");
    for_each_part([&](Value* item, Value* first, Value* end) {
      Value* start = ops_.identity(plan_.op, carried_, code_.lanes);
      const Carried sums = for_each_vector(
          first, end, {start}, [&](Value* at, Value* mask, llvm::ArrayRef<Value*> now) {
            return Carried{combined(now[0], widened(value_at(at, mask)))};
          });
      Value* total = ops_.horizontal(plan_.op, carried_, sums[0]);
      body_.elements().store(carried_, total, totals_, item);
    });
    ir_.CreateRetVoid();
  }

  void emit_scan() {
    begin("scan");
    if (code_.across)
      scan_across();
    else
      scan_along();
    if (code_.streaming) builder_.fence();
    ir_.CreateRetVoid();
  }

 private:
  using Step = llvm::function_ref<Carried(Value* at, Value* mask, llvm::ArrayRef<Value*> now)>;

  void begin(std::string_view name) {
    entry_ = builder_.begin_entry(name);
    for (size_t i = 0; i < code_.tensors.size(); ++i)
      body_.set_buffer(code_.tensors[i], builder_.buffer(entry_, static_cast<int>(i)));
    for (size_t i = 0; i < code_.dims.size(); ++i)
      body_.set_dim(code_.dims[i], builder_.scalar(entry_, static_cast<int>(i)));
    if (code_.part > 0) totals_ = builder_.buffer(entry_, static_cast<int>(code_.tensors.size()));
    extent_ = body_.index(plan_.axis.axis_extent());
    if (code_.part > 0) parts_ = body_.index(code_.parts());
    for (const DType dtype : {carried_, dtype_}) {
      Value* identity = ops_.identity(plan_.op, dtype, code_.lanes);
      identities_[dtype] = builder_.stack(identity->getType(), 64);
      builder_.store(identity, identities_[dtype]);
    }
  }

  // Values.

  Value* combined(Value* a, Value* b) { return combined(carried_, a, b); }
  Value* combined(DType dtype, Value* a, Value* b) { return ops_.combine(plan_.op, dtype, a, b); }
  Value* widened(Value* value) { return body_.elements().cast(dtype_, carried_, value); }
  Value* narrowed(Value* value) { return body_.elements().cast(carried_, dtype_, value); }

  /// The elements at some positions; lanes outside of the mask change nothing.
  Value* value_at(Value* at, Value* mask) {
    place(plan_.axis, at, mask);
    return kept(body_.wide_value(plan_.value), mask);
  }
  Value* kept(Value* value, Value* mask) {
    if (mask == nullptr) return value;
    return ir_.CreateSelect(mask, value, ops_.identity(plan_.op, dtype_, code_.lanes));
  }
  void place(const Expr& axis, Value* at, Value* mask) {
    if (code_.lanes == 1)
      body_.set_axis(axis, at);
    else
      body_.spread(axis, at, code_.lanes, mask);
  }

  /// The lanes moved by a distance in the direction of the scan; the identity follows.
  Value* moved(DType dtype, Value* value, int distance) {
    const int lanes = code_.lanes;
    if (lanes == 1) return ops_.identity(plan_.op, dtype, 1);
    llvm::SmallVector<int, 64> from;
    for (int i = 0; i < lanes; ++i) {
      const int source = plan_.backward ? i + distance : i - distance;
      from.push_back(source < 0 ? 2 * lanes + source : source);  // neighbours in one of two
    }
    // Next to a constant this would become an expansion, which is slow.
    Value* identity = builder_.load(value->getType(), identities_.at(dtype));
    return ir_.CreateShuffleVector(value, identity, from);
  }

  /// Stores what is made of the results.
  void finish(Value* scanned, bool whole) {
    if (code_.round_each) scanned = body_.elements().round_to(plan_.dtype, scanned);
    body_.define(plan_.reduction, scanned);
    for (const kernel::Root& root : code_.roots)
      body_.store(root, body_.wide_value(root.value), code_.streaming && whole);
  }

  // Along the lanes.

  void for_each_part(llvm::function_ref<void(Value* item, Value* first, Value* end)> body) {
    builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
      const BodyCode::Scope scope(body_);
      Value* first = builder_.index(0);
      Value* end = extent_;
      Value* row = item;
      if (code_.part > 0) {
        row = ir_.CreateUDiv(item, parts_);
        part_ = ir_.CreateURem(item, parts_);
        first = ir_.CreateMul(part_, builder_.index(code_.part));
        end = ir_.CreateAdd(first, builder_.index(code_.part));
        end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, end, extent_);
      }
      body_.set_axes(plan_.outer, row);
      body(item, first, end);
    });
  }

  /// All positions from `first` to `end` in the direction of the scan; the vector that is not whole
  /// lies at the end.
  Carried for_each_vector(Value* first, Value* end, const Carried& initial, Step step) {
    const int64_t lanes = code_.lanes;
    Value* count = ir_.CreateSub(end, first);
    Value* rest = ir_.CreateURem(count, builder_.index(lanes));
    Value* whole_end = ir_.CreateSub(end, rest);
    const auto in_scope = [&](Value* at, Value* mask, llvm::ArrayRef<Value*> now) {
      const BodyCode::Scope scope(body_);
      Carried next = step(at, mask, now);
      body_.gather_up();
      return next;
    };
    const auto whole = [&](const Carried& now) {
      return builder_.loop(first, whole_end, builder_.index(lanes), now,
                           [&](Value* at, llvm::ArrayRef<Value*> carried) {
                             if (plan_.backward) {
                               at = ir_.CreateSub(ir_.CreateAdd(first, whole_end), at);
                               at = ir_.CreateSub(at, builder_.index(lanes));
                             }
                             return in_scope(at, nullptr, carried);
                           });
    };
    const auto part = [&](const Carried& now) {
      if (lanes == 1) return now;
      return builder_.loop(whole_end, end, builder_.index(lanes), now,
                           [&](Value* at, llvm::ArrayRef<Value*> carried) {
                             return in_scope(at, builder_.lanes_below(rest, code_.lanes), carried);
                           });
    };
    return plan_.backward ? whole(part(initial)) : part(whole(initial));
  }

  void scan_along() {
    for_each_part([&](Value* item, Value* first, Value* end) {
      for_each_vector(first, end, {carry_of_part(item)},
                      [&](Value* at, Value* mask, llvm::ArrayRef<Value*> now) {
                        return Carried{scan_vector(at, mask, now[0])};
                      });
    });
  }

  /// What the parts before this one come to.
  Value* carry_of_part(Value* item) {
    Value* start = ops_.identity(plan_.op, carried_, 1);
    if (code_.part == 0) return start;
    return builder_.loop(ir_.CreateSub(item, part_), item, builder_.index(1), {start},
                         [&](Value* at, llvm::ArrayRef<Value*> now) {
                           Value* total = body_.elements().load(carried_, totals_, at, 1);
                           return Carried{combined(now[0], total)};
                         })[0];
  }

  /// All lanes up to each one together.
  Value* scanned_lanes(DType dtype, Value* value) {
    for (int distance = 1; distance < code_.lanes; distance *= 2)
      value = combined(dtype, moved(dtype, value, distance), value);
    return value;
  }

  /// The lanes of a vector together, wide. That is half as fast in f64 as in f32, so f64 is left
  /// for vectors whose sums, or parts of them, do not fit f32.
  Value* scanned_wide(Value* value) {
    const bool narrow =
        carried_ == DType::kF64 && dtype_ == DType::kF32 && plan_.op == Op::kSum && code_.lanes > 1;
    if (!narrow) return scanned_lanes(carried_, widened(value));
    Value* scanned = scanned_lanes(dtype_, value);
    Value* size = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, scanned);
    Value* infinite =
        VectorBuilder::number(size->getType(), std::numeric_limits<float>::infinity());
    Value* all_fit = ir_.CreateAndReduce(ir_.CreateFCmpOLT(size, infinite));
    return builder_.if_else(
        all_fit, [&] { return Carried{widened(scanned)}; },
        [&] { return Carried{scanned_lanes(carried_, widened(value))}; })[0];
  }

  /// Scans one vector, given what came before, and gives what comes before the next.
  Value* scan_vector(Value* at, Value* mask, Value* carry) {
    Value* scanned = scanned_wide(value_at(at, mask));
    Value* total = scanned;
    if (code_.lanes > 1)
      total = ir_.CreateExtractElement(scanned,
                                       static_cast<uint64_t>(plan_.backward ? 0 : code_.lanes - 1));
    Value* next = combined(carry, total);
    if (plan_.exclusive) scanned = moved(carried_, scanned, 1);
    finish(narrowed(combined(builder_.splat(carry, code_.lanes), scanned)), mask == nullptr);
    return next;
  }

  // Across the lanes.

  void scan_across() {
    const Expr column_axis = plan_.outer.back();
    const std::vector<Expr> rows(plan_.outer.begin(), plan_.outer.end() - 1);
    Value* columns = body_.index(column_axis.axis_extent());
    Value* blocks = body_.index(ceil_div(column_axis.axis_extent(), code_.block));
    builder_.loop(entry_.begin, entry_.end, builder_.index(1), [&](Value* item) {
      const BodyCode::Scope scope(body_);
      body_.set_axes(rows, ir_.CreateUDiv(item, blocks));
      Value* first = ir_.CreateMul(ir_.CreateURem(item, blocks), builder_.index(code_.block));
      Value* end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, columns,
                                             ir_.CreateAdd(first, builder_.index(code_.block)));
      start_totals();
      Value* rest = ir_.CreateURem(extent_, builder_.index(kStepsAcross));
      Value* many = ir_.CreateSub(extent_, rest);
      builder_.loop(builder_.index(0), many, builder_.index(kStepsAcross),
                    [&](Value* at) { step_across(column_axis, first, end, at, kStepsAcross); });
      builder_.loop(many, extent_, builder_.index(1),
                    [&](Value* at) { step_across(column_axis, first, end, at, 1); });
    });
  }

  void start_totals() {
    Value* start = ops_.identity(plan_.op, carried_, code_.lanes);
    builder_.loop(builder_.index(0), builder_.index(code_.block), builder_.index(code_.lanes),
                  [&](Value* at) { body_.elements().store(carried_, start, entry_.scratch, at); });
  }

  /// Some steps of all columns of a block.
  void step_across(const Expr& axis, Value* first, Value* end, Value* at, int64_t steps) {
    Value* lanes = builder_.index(code_.lanes);
    Value* rest = ir_.CreateURem(ir_.CreateSub(end, first), lanes);
    Value* whole_end = ir_.CreateSub(end, rest);
    const auto vector = [&](Value* column, Value* mask) {
      Value* place_of_total = ir_.CreateSub(column, first);
      Value* total = body_.elements().load(carried_, entry_.scratch, place_of_total, code_.lanes);
      for (int64_t k = 0; k < steps; ++k) {
        const BodyCode::Scope scope(body_);
        Value* position = ir_.CreateAdd(at, builder_.index(k));
        if (plan_.backward)
          position = ir_.CreateSub(ir_.CreateSub(extent_, builder_.index(1)), position);
        body_.set_axis(plan_.axis, position);
        place(axis, column, mask);
        Value* next = combined(total, widened(kept(body_.wide_value(plan_.value), mask)));
        finish(narrowed(plan_.exclusive ? total : next), mask == nullptr);
        total = next;
        body_.gather_up();
      }
      body_.elements().store(carried_, total, entry_.scratch, place_of_total);
    };
    builder_.loop(first, whole_end, lanes, [&](Value* column) { vector(column, nullptr); });
    if (code_.lanes > 1)
      builder_.if_then(ir_.CreateICmpSGT(rest, builder_.index(0)),
                       [&] { vector(whole_end, builder_.lanes_below(rest, code_.lanes)); });
  }

  VectorBuilder builder_;
  llvm::IRBuilder<>& ir_;
  const ScanCode& code_;
  const ScanPlan& plan_;
  BodyCode body_;
  OpCode ops_;
  DType dtype_;
  DType carried_;
  EntryArguments entry_;
  Value* extent_ = nullptr;
  Value* totals_ = nullptr;
  Value* parts_ = nullptr;
  Value* part_ = nullptr;               // of the current item
  std::map<DType, Value*> identities_;  // where they lie, in all lanes
};

}  // namespace

DType ScanCode::carried() const {
  const bool rounds = graph::is_float(plan.dtype) && plan.op != Op::kReduceMax;
  return rounds ? DType::kF64 : register_dtype(plan.dtype);
}

Expr ScanCode::parts() const {
  return part == 0 ? Expr(1) : ceil_div(plan.axis.axis_extent(), part);
}

Expr ScanCode::items() const {
  Expr result = across ? ceil_div(plan.outer.back().axis_extent(), block) : parts();
  const size_t rows = plan.outer.size() - (across ? 1 : 0);
  for (size_t k = 0; k < rows; ++k) result = result * plan.outer[k].axis_extent();
  return result;
}

int64_t ScanCode::scratch_bytes() const { return across ? block * graph::bits(carried()) / 8 : 0; }

std::string to_string(const ScanCode& code) {
  std::string text = fmt::format("scan {} {} lanes", code.across ? "across" : "along", code.lanes);
  if (code.part > 0) text += fmt::format(" in parts of {}", code.part);
  if (code.across) text += fmt::format(" in blocks of {}", code.block);
  if (code.streaming) text += ", streaming";
  return text;
}

void emit_scan_totals(llvm::Module& module, const CpuTarget& target, const ScanCode& code) {
  ScanEmitter(module, target, code).emit_totals();
}

void emit_scan(llvm::Module& module, const CpuTarget& target, const ScanCode& code) {
  ScanEmitter(module, target, code).emit_scan();
}

}  // namespace luminal::codegen
