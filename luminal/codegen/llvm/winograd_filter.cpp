#include "luminal/codegen/llvm/winograd_filter.h"

#include <array>

#include "luminal/codegen/llvm/nest_plan.h"

namespace luminal::codegen {
namespace {

using kernel::BodyKind;
using kernel::BodyNode;
using llvm::Value;
using symbolic::Expr;

constexpr int64_t kSteps = kWindowSide * kWindowSide;

class WinogradFilterEmitter : WindowEmitter {
 public:
  WinogradFilterEmitter(llvm::Module& module, const CpuTarget& target, const WinogradCode& code)
      : WindowEmitter(module, target, code, code.spec.accumulator),
        code_(code),
        value_(code.plan.base.products[0].a.value),
        lanes_(code.lanes) {}

  void emit() {
    begin("filter");
    end([&](Value* row) { emit_row(row); });
  }

 private:
  using Window = std::array<Value*, kSteps>;
  using Part = std::array<Value*, kWindowSide>;
  using Side = std::array<Value*, kSquareSide>;

  void emit_row(Value* row) {
    body_.set_axis(plan_.base.m.flat, row);
    const int64_t channels = code_.channel_count();
    Value* to = scaled(row, channels);
    builder_.loop(
        builder_.index(0), builder_.index(channels), builder_.index(lanes_), [&](Value* first) {
          const BodyCode::Scope scope(body_);
          Value* rest = ir_.CreateSub(builder_.index(channels), first);
          Value* mask = channels % lanes_ == 0 ? nullptr : builder_.lanes_below(rest, lanes_);
          const Window window = has_whole_windows(*code_.arena, code_, lanes_)
                                    ? turned_windows(first)
                                    : step_by_step(first, mask);
          store_places(window, ir_.CreateAdd(to, first), mask);
        });
  }

  /// All steps of one channel after the other in a vector; channels past the last repeat it.
  Window turned_windows(Value* first) {
    llvm::SmallVector<Value*, 16> square;
    Value* steps = builder_.lanes_below(builder_.index(kSteps), lanes_);
    for (int lane = 0; lane < lanes_; ++lane) {
      const BodyCode::Scope scope(body_);
      Value* channel = minimum(ir_.CreateAdd(first, builder_.index(lane)),
                               builder_.index(code_.channel_count() - 1));
      body_.set_axes(code_.channels, channel);
      // The second and third line of a window follow the first.
      body_.set_axis(plan_.y.window, builder_.index(0));
      body_.spread(plan_.x.window, builder_.index(0), lanes_, steps);
      square.push_back(body_.wide_value(value_));
      body_.gather_up();
    }
    builder_.transpose(square);
    Window window;
    std::copy_n(square.begin(), window.size(), window.begin());
    return window;
  }

  /// One step of a vector of channels after the other, wherever they lie.
  Window step_by_step(Value* first, Value* mask) {
    Window window;
    for (int64_t step = 0; step < kSteps; ++step) {
      const BodyCode::Scope scope(body_);
      body_.set_axis(plan_.y.window, builder_.index(step / kWindowSide));
      body_.set_axis(plan_.x.window, builder_.index(step % kWindowSide));
      body_.spread(code_.channels, first, lanes_, mask, false);
      window[static_cast<size_t>(step)] = body_.wide_value(value_);
      body_.gather_up();
    }
    return window;
  }

  /// One side of a window at the places of a square's side.
  Side transformed(const Part& g) {
    Value* half = VectorBuilder::number(g[0]->getType(), 0.5);
    Value* outer = ir_.CreateFMul(ir_.CreateFAdd(g[0], g[2]), half);
    Value* inner = ir_.CreateFMul(g[1], half);
    return {g[0], ir_.CreateFAdd(outer, inner), ir_.CreateFSub(outer, inner), g[2]};
  }

  void store_places(const Window& window, Value* element, Value* mask) {
    std::array<Side, kWindowSide> lines;
    for (size_t r = 0; r < kWindowSide; ++r)
      lines[r] = transformed({window[3 * r], window[3 * r + 1], window[3 * r + 2]});
    const int64_t place_elements = code_.filter_rows() * code_.channel_count();
    for (size_t j = 0; j < kSquareSide; ++j) {
      const Side side = transformed({lines[0][j], lines[1][j], lines[2][j]});
      for (size_t i = 0; i < kSquareSide; ++i) {
        const auto place = static_cast<int64_t>(i * kSquareSide + j);
        Value* at = ir_.CreateAdd(element, builder_.index(place * place_elements));
        body_.elements().store(code_.spec.accumulator, side[i], body_.buffer(code_.filter), at,
                               {.mask = mask});
      }
    }
  }

  const WinogradCode& code_;
  kernel::BodyId value_;
  int lanes_;
};

}  // namespace

bool has_whole_windows(const kernel::Arena& arena, const WinogradCode& code, int lanes) {
  const BodyNode& node = arena[code.plan.base.products[0].a.value];
  if (lanes < kSteps || node.kind != BodyKind::kLoad || !node.index_values.empty()) return false;
  const Expr position = position_of(node.exprs, arena.tensor(node.tensor).shape);
  const auto lines = stride_along(position, code.plan.y.window);
  const auto steps = stride_along(position, code.plan.x.window);
  return lines && steps && lines->stride.is_constant(kWindowSide) && steps->stride.is_constant(1);
}

void emit_winograd_filter(llvm::Module& module, const CpuTarget& target, const WinogradCode& code) {
  WinogradFilterEmitter(module, target, code).emit();
}

}  // namespace luminal::codegen
