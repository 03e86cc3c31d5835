#include "luminal/codegen/llvm/depthwise_emitter.h"

#include <map>

namespace luminal::codegen {
namespace {

using llvm::Value;
using symbolic::Expr;

class DepthwiseEmitter : WindowEmitter {
 public:
  DepthwiseEmitter(llvm::Module& module, const CpuTarget& target, const DepthwiseCode& code)
      : WindowEmitter(module, target, code, code.accumulator), code_(code) {
    // Lines of the image, and the rows of pixels and steps of the window that use them.
    for (int64_t row = 0; row < code.together; ++row)
      for (int64_t step = 0; step < plan_.y.steps(); ++step)
        users_[row * plan_.y.stride + step * plan_.y.dilation].push_back({row, step});
  }

  void emit() {
    begin();
    end([&](Value* item) { emit_item(item); });
  }

 private:
  /// A row of pixels of those that are worked on together, and a step of the window along y.
  struct User {
    int64_t row;
    int64_t step;
  };

  void set_axis(const Expr& axis, Value* position) {
    if (axis.is_axis()) body_.set_axis(axis, position);
  }

  void emit_item(Value* item) {
    Value* blocks = builder_.index(code_.row_blocks());
    body_.set_axes(plan_.outer, ir_.CreateUDiv(item, blocks));
    Value* begin = scaled(ir_.CreateURem(item, blocks), code_.rows);
    end_ = minimum(ir_.CreateAdd(begin, builder_.index(code_.rows)), builder_.index(plan_.height));
    load_filter();
    builder_.loop(begin, end_, builder_.index(code_.together), [&](Value* y) {
      for (int64_t v = 0; v < code_.vectors(); ++v) {
        const BodyCode::Scope scope(body_);
        emit_vectors(y, v * code_.lanes);
      }
    });
  }

  void load_filter() {
    filter_.clear();
    for (int64_t r = 0; r < plan_.y.steps(); ++r)
      for (int64_t s = 0; s < plan_.x.steps(); ++s) {
        const BodyCode::Scope scope(body_);
        set_axis(plan_.y.window, builder_.index(r));
        set_axis(plan_.x.window, builder_.index(s));
        filter_.push_back(builder_.splat(body_.value(code_.filter), code_.lanes));
      }
  }

  /// The pixels from column `x` on of all rows that are worked on together.
  void emit_vectors(Value* y, int64_t x) {
    const int lanes = code_.lanes;
    const int64_t left = plan_.width - x;
    Value* mask = left < lanes ? builder_.lanes_below(builder_.index(left), lanes) : nullptr;
    Value* zero = llvm::Constant::getNullValue(filter_[0]->getType());
    Carried sums(static_cast<size_t>(code_.together), zero);
    const int64_t lines =
        plan_.y.place.is_axis() ? *plan_.y.place.axis_extent().constant_value() : 1;
    for (const auto& [line, users] : users_) {
      const BodyCode::Scope scope(body_);
      // Rows below the last one repeat its last line; they are not stored.
      Value* place = ir_.CreateAdd(scaled(y, plan_.y.stride), builder_.index(line));
      set_axis(plan_.y.place, minimum(place, builder_.index(lines - 1)));
      for (int64_t s = 0; s < plan_.x.steps(); ++s) {
        const BodyCode::Scope inner(body_);
        body_.spread(plan_.x.place, builder_.index(x * plan_.x.stride + s * plan_.x.dilation),
                     lanes, mask, static_cast<int>(plan_.x.stride));
        Value* pixels = body_.wide_value(code_.image);
        body_.gather_up();
        for (const User& user : users) {
          Value*& sum = sums[static_cast<size_t>(user.row)];
          sum = plus_product(filter_[static_cast<size_t>(user.step * plan_.x.steps() + s)], pixels,
                             sum);
        }
      }
      // A row is stored as soon as it has all it needs, so few sums are in registers at a time.
      for (const User& user : users)
        if (user.step == plan_.y.steps() - 1)
          store_if_inside(sums[static_cast<size_t>(user.row)], y, user.row, x, mask);
    }
  }

  /// Stores row `row` of those from `y` on, unless it is below the last one.
  void store_if_inside(Value* sum, Value* y, int64_t row, int64_t x, Value* mask) {
    Value* at = ir_.CreateAdd(y, builder_.index(row));
    const auto store = [&] { store_row(sum, at, x, mask); };
    const bool always =
        row == 0 || (code_.rows % code_.together == 0 && plan_.height % code_.together == 0);
    if (always)
      store();
    else
      builder_.if_then(ir_.CreateICmpSLT(at, end_), store);
  }

  Value* plus_product(Value* a, Value* b, Value* sum) {
    if (sum->getType()->isIntOrIntVectorTy()) return ir_.CreateAdd(sum, ir_.CreateMul(a, b));
    return builder_.mul_add(a, b, sum);
  }

  void store_row(Value* sum, Value* y, int64_t x, Value* mask) {
    const BodyCode::Scope scope(body_);
    set_axis(plan_.y.position, y);
    store_pixels(sum, builder_.index(x), mask);
  }

  const DepthwiseCode& code_;
  std::map<int64_t, std::vector<User>> users_;  // of a line, from the first of the window on
  // Of the current item.
  Carried filter_;
  Value* end_ = nullptr;
};

}  // namespace

Expr DepthwiseCode::items() const {
  Expr result = row_blocks();
  for (const Expr& axis : plan.outer) result = result * axis.axis_extent();
  return result;
}

std::string to_string(const DepthwiseCode& code) {
  return fmt::format(
      "conv {} of one filter per plane, {} rows of {} by {} in {} lanes, blocks of {}",
      code.accumulator, code.together, code.plan.width, code.plan.x.stride, code.lanes, code.rows);
}

void emit_depthwise(llvm::Module& module, const CpuTarget& target, const DepthwiseCode& code) {
  DepthwiseEmitter(module, target, code).emit();
}

}  // namespace luminal::codegen
