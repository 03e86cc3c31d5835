#include "luminal/codegen/llvm/convolution_emitter.h"

#include "luminal/codegen/llvm/convolution_tile.h"

namespace luminal::codegen {
namespace {

using llvm::Value;
using symbolic::Expr;

/// Of any target.
constexpr int64_t kMostLanes = 16;

int64_t ceil_ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

class ConvolutionEmitter : WindowEmitter {
 public:
  ConvolutionEmitter(llvm::Module& module, const CpuTarget& target, const ConvolutionCode& code)
      : WindowEmitter(module, target, code, code.spec.accumulator),
        code_(code),
        layout_(code.spec, target) {}

  void emit() {
    emit_tiles();
    begin();
    end([&](Value* item) { emit_item(item); });
  }

 private:
  void emit_tiles() {
    const int mr = code_.spec.mr;
    const int nr = code_.spec.nr;
    tiles_.full = WindowTile(builder_, code_, mr, nr).emit();
    if (code_.spec.column_tail > 0)
      tiles_.few_columns = WindowTile(builder_, code_, mr, code_.spec.column_tail).emit();
    if (code_.spec.row_tail > 0)
      tiles_.few_rows = WindowTile(builder_, code_, code_.spec.row_tail, nr).emit();
  }

  /// Splits a number into the position of one digit and what is left.
  Value* next_digit(Value*& number, Value* count) {
    Value* digit = ir_.CreateURem(number, count);
    number = ir_.CreateUDiv(number, count);
    return digit;
  }

  void emit_item(Value* item) {
    const ConvolutionBlocks& blocks = code_.blocks;
    Value* filters = builder_.index(code_.filter_blocks());
    Value* number = item;
    Value* filter = nullptr;
    if (!blocks.filter_outer) filter = next_digit(number, filters);
    Value* column_block = next_digit(number, builder_.index(code_.column_blocks()));
    Value* row_block = next_digit(number, builder_.index(code_.row_blocks()));
    if (blocks.filter_outer) {
      Expr outer = 1;
      for (const Expr& axis : plan_.outer) outer = outer * axis.axis_extent();
      Value* planes = body_.index(outer);
      body_.set_axes(plan_.outer, ir_.CreateURem(number, planes));
      filter = ir_.CreateUDiv(number, planes);
    } else {
      body_.set_axes(plan_.outer, number);
    }
    y_ = ir_.CreateMul(row_block, builder_.index(blocks.rows));
    x_ = ir_.CreateMul(column_block, builder_.index(blocks.columns));
    rows_ = minimum(ir_.CreateSub(builder_.index(plan_.height), y_), builder_.index(blocks.rows));
    columns_ =
        minimum(ir_.CreateSub(builder_.index(plan_.width), x_), builder_.index(blocks.columns));
    Value* before = scaled(ir_.CreateSub(rows_, builder_.index(1)), code_.sums_pitch());
    pixels_ = ir_.CreateAdd(before, columns_);
    Value* first = ir_.CreateAdd(scaled(y_, plan_.row_step), scaled(x_, plan_.pixel_step));
    first = ir_.CreateAdd(body_.index(plan_.image_position), first);
    image_ = builder_.offset(body_.buffer(plan_.image), scaled(first, layout_.unit_bytes()));
    Value* filter_first = body_.index(code_.filter.position);
    filter_ = builder_.offset(body_.buffer(code_.filter.tensor),
                              ir_.CreateMul(filter_first, builder_.index(layout_.unit_bytes())));
    const int64_t step = blocks.tiles * code_.tile_filters();
    Value* begin = ir_.CreateMul(filter, builder_.index(step));
    Value* end = minimum(ir_.CreateAdd(begin, builder_.index(step)), builder_.index(all_rows()));
    builder_.loop(begin, end, builder_.index(code_.tile_filters()), [&](Value* row) {
      const BodyCode::Scope scope(body_);
      Value* rows = minimum(ir_.CreateSub(end, row), builder_.index(code_.tile_filters()));
      if (blocks.along == ConvolutionLanes::kPixels) {
        multiply(row, rows);
      } else {
        multiply_by_pixel(row);
        turn_sums();
      }
      finish(row, rows);
    });
  }

  int64_t all_rows() const { return *plan_.base.m.extent.constant_value(); }

  /// The sums of some filter rows for all pixels of the item.
  void multiply(Value* row, Value* rows) {
    const int64_t unit = layout_.unit_bytes();
    Value* a_row = builder_.index(code_.filter.row * unit);
    Value* a = builder_.offset(filter_, ir_.CreateMul(row, a_row));
    builder_.loop(builder_.index(0), pixels_, builder_.index(code_.spec.nr), [&](Value* pixel) {
      Value* arguments[kTileCommon];
      std::fill(std::begin(arguments), std::end(arguments), builder_.index(0));
      arguments[kTileA] = a;
      arguments[kTileARow] = a_row;
      arguments[kTileB] = builder_.offset(image_, ir_.CreateMul(pixel, builder_.index(unit)));
      arguments[kTileOut] = builder_.offset(
          entry_.scratch, ir_.CreateMul(pixel, builder_.index(layout_.sum_bytes())));
      arguments[kTileOutRow] = builder_.index(code_.sums_row_bytes());
      arguments[kTileRows] = rows;
      arguments[kTileFirst] = builder_.index(1);
      call_tile(builder_, code_.spec, tiles_, arguments, ir_.CreateSub(pixels_, pixel), rows);
    });
  }

  /// The same with filters along the lanes: sums lie pixel by pixel, after those that are finished.
  void multiply_by_pixel(Value* row) {
    const int64_t unit = layout_.unit_bytes();
    const int64_t sums_row = int64_t{code_.spec.nr} * layout_.sum_bytes();
    by_pixel_ = builder_.offset(entry_.scratch, code_.sums_row_bytes() * code_.tile_filters());
    Value* filter = builder_.offset(filter_, scaled(row, code_.filter.row * unit));
    builder_.loop(builder_.index(0), rows_, builder_.index(1), [&](Value* y) {
      Value* line = builder_.offset(image_, scaled(y, plan_.row_step * unit));
      builder_.loop(builder_.index(0), columns_, builder_.index(code_.spec.mr), [&](Value* x) {
        Value* pixel = ir_.CreateAdd(scaled(y, code_.sums_pitch()), x);
        Value* arguments[kTileCommon];
        std::fill(std::begin(arguments), std::end(arguments), builder_.index(0));
        arguments[kTileA] = builder_.offset(line, scaled(x, plan_.pixel_step * unit));
        arguments[kTileB] = filter;
        arguments[kTileOut] = builder_.offset(by_pixel_, scaled(pixel, sums_row));
        arguments[kTileOutRow] = builder_.index(sums_row);
        arguments[kTileRows] = builder_.index(code_.spec.mr);
        arguments[kTileFirst] = builder_.index(1);
        call_tile(builder_, code_.spec, tiles_, arguments, builder_.index(code_.spec.nr),
                  ir_.CreateSub(columns_, x));
      });
    });
  }

  /// Turns sums that lie pixel by pixel into rows of pixels, one per filter.
  void turn_sums() {
    const int lanes = layout_.lanes();
    const int64_t bytes = layout_.sum_bytes();
    builder_.loop(builder_.index(0), pixels_, builder_.index(lanes), [&](Value* pixel) {
      Value* from = builder_.offset(by_pixel_, scaled(pixel, code_.spec.nr * bytes));
      Value* to = builder_.offset(entry_.scratch, scaled(pixel, bytes));
      for (int64_t first = 0; first < code_.spec.nr; first += lanes) {
        llvm::SmallVector<Value*, 16> square;
        for (int64_t i = 0; i < lanes; ++i)
          square.push_back(body_.elements().load(
              code_.spec.accumulator, builder_.offset(from, (i * code_.spec.nr + first) * bytes),
              builder_.index(0), lanes));
        builder_.transpose(square);
        for (int64_t i = 0; i < lanes; ++i)
          builder_.store(square[static_cast<size_t>(i)],
                         builder_.offset(to, (first + i) * code_.sums_row_bytes()),
                         {.align = static_cast<int>(bytes)});
      }
    });
  }

  /// What is done to the sums, and storing.
  void finish(Value* row, Value* rows) {
    const int lanes = layout_.lanes();
    const auto each = [&](Value* count, auto&& write) {
      builder_.loop(builder_.index(0), count, builder_.index(1), [&](Value* k) {
        const BodyCode::Scope scope(body_);
        write(k);
      });
    };
    each(rows, [&](Value* r) {
      body_.set_axis(plan_.base.m.flat, ir_.CreateAdd(row, r));
      Value* sums =
          builder_.offset(entry_.scratch, ir_.CreateMul(r, builder_.index(code_.sums_row_bytes())));
      each(rows_, [&](Value* y) {
        body_.set_axis(plan_.y.position, ir_.CreateAdd(y_, y));
        Value* first = scaled(y, code_.sums_pitch());
        builder_.loop(builder_.index(0), columns_, builder_.index(lanes),
                      [&](Value* x) { finish_vector(sums, ir_.CreateAdd(first, x), x); });
      });
    });
  }

  void finish_vector(Value* sums, Value* pixel, Value* x) {
    const int lanes = layout_.lanes();
    const auto store = [&](Value* mask) {
      Value* sum = body_.elements().load(code_.spec.accumulator, sums, pixel, lanes);
      store_pixels(sum, ir_.CreateAdd(x_, x), mask);
      return Carried{};
    };
    Value* rest = ir_.CreateSub(columns_, x);
    if (plan_.width % lanes == 0 && code_.blocks.columns % lanes == 0) {
      store(nullptr);
      return;
    }
    // Masks cost more than a branch that is nearly always the same.
    builder_.if_else(
        ir_.CreateICmpSGE(rest, builder_.index(lanes)), [&] { return store(nullptr); },
        [&] { return store(builder_.lanes_below(rest, lanes)); });
  }

  const ConvolutionCode& code_;
  GemmLayout layout_;
  TileSet tiles_;
  // Of the current item.
  Value* y_ = nullptr;
  Value* x_ = nullptr;
  Value* rows_ = nullptr;
  Value* columns_ = nullptr;
  Value* pixels_ = nullptr;
  Value* image_ = nullptr;
  Value* filter_ = nullptr;
  Value* by_pixel_ = nullptr;
};

}  // namespace

int64_t ConvolutionCode::row_blocks() const { return ceil_ratio(plan.height, blocks.rows); }
int64_t ConvolutionCode::column_blocks() const { return ceil_ratio(plan.width, blocks.columns); }
int64_t ConvolutionCode::filter_blocks() const {
  return ceil_ratio(*plan.base.m.extent.constant_value(), blocks.tiles * tile_filters());
}

int ConvolutionCode::tile_filters() const {
  return blocks.along == ConvolutionLanes::kPixels ? spec.mr : spec.nr;
}

int64_t ConvolutionCode::sums_pitch() const {
  return blocks.along == ConvolutionLanes::kPixels ? plan.pitch : blocks.columns;
}

Expr ConvolutionCode::items() const {
  Expr result = row_blocks() * column_blocks() * filter_blocks();
  for (const Expr& axis : plan.outer) result = result * axis.axis_extent();
  return result;
}

int64_t ConvolutionCode::pixels() const {
  return (blocks.rows - 1) * sums_pitch() + blocks.columns;
}

int64_t ConvolutionCode::sums_row_bytes() const {
  // Rows that begin at one place of a page would fight for one set of the cache.
  return (ceil_ratio(pixels(), spec.nr) * spec.nr + spec.nr) * (graph::bits(spec.accumulator) / 8);
}

int64_t ConvolutionCode::scratch_bytes() const {
  const int64_t finished = sums_row_bytes() * tile_filters();
  if (blocks.along == ConvolutionLanes::kPixels) return finished;
  // Whole tiles are written, and whole squares read.
  const int64_t by_pixel = pixels() + std::max<int64_t>(spec.mr, kMostLanes);
  return finished + by_pixel * spec.nr * (graph::bits(spec.accumulator) / 8);
}

std::string to_string(const ConvolutionCode& code) {
  const ConvolutionBlocks& blocks = code.blocks;
  return fmt::format(
      "conv {} in {} tile {}x{} tails {}x{} pitch {} blocks of {}x{} pixels, {} tiles{}{}",
      code.spec.a, code.spec.accumulator, code.spec.mr, code.spec.nr, code.spec.row_tail,
      code.spec.column_tail, code.plan.pitch, blocks.rows, blocks.columns, blocks.tiles,
      blocks.filter_outer ? ", by filter" : "",
      blocks.along == ConvolutionLanes::kFilters ? ", filters along" : "");
}

void emit_convolution(llvm::Module& module, const CpuTarget& target, const ConvolutionCode& code) {
  ConvolutionEmitter(module, target, code).emit();
}

}  // namespace luminal::codegen
