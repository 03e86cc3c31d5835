#include "luminal/codegen/llvm/winograd_emitter.h"

#include <array>

#include "luminal/codegen/llvm/gemm_tile.h"

namespace luminal::codegen {
namespace {

using llvm::Value;

int64_t ceil_ratio(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Values at the places of one side.
using Side = std::array<Value*, kSquareSide>;

class WinogradEmitter : WindowEmitter {
 public:
  WinogradEmitter(llvm::Module& module, const CpuTarget& target, const WinogradCode& code)
      : WindowEmitter(module, target, code, code.spec.accumulator),
        code_(code),
        layout_(code.spec, target),
        lanes_(code.squares_at_once()) {}

  void emit() {
    emit_tiles();
    begin();
    sums_ = entry_.scratch;
    squares_ = at(entry_.scratch, builder_.index(kSquarePlaces * code_.sum_place()));
    end([&](Value* item) { emit_item(item); });
  }

 private:
  void emit_tiles() {
    const int mr = code_.spec.mr;
    const int nr = code_.spec.nr;
    const auto tile = [&](int rows, int columns) {
      return GemmTile(builder_, code_.spec, rows, columns, true).emit();
    };
    tiles_.full = tile(mr, nr);
    if (code_.spec.column_tail > 0) tiles_.few_columns = tile(mr, code_.spec.column_tail);
    if (code_.spec.row_tail > 0) tiles_.few_rows = tile(code_.spec.row_tail, nr);
  }

  Value* at(Value* base, Value* element) {
    return builder_.offset(base, ir_.CreateMul(element, builder_.index(layout_.unit_bytes())));
  }

  void emit_item(Value* item) {
    Value* part = ir_.CreateURem(item, builder_.index(code_.parts));
    first_row_ = scaled(ir_.CreateUDiv(item, builder_.index(code_.parts)), code_.rows);
    rows_ = minimum(ir_.CreateSub(body_.index(code_.all_rows()), first_row_),
                    builder_.index(code_.rows));
    each_row([&](Value* row) { transform_row(row); });
    Value* begin = scaled(part, code_.part_rows());
    Value* end = minimum(ir_.CreateAdd(begin, builder_.index(code_.part_rows())),
                         builder_.index(code_.filter_rows()));
    builder_.loop(begin, end, builder_.index(code_.spec.mr), [&](Value* filter) {
      const BodyCode::Scope scope(body_);
      Value* count = minimum(ir_.CreateSub(end, filter), builder_.index(code_.spec.mr));
      builder_.loop(builder_.index(0), builder_.index(kSquarePlaces), builder_.index(1),
                    [&](Value* place) { multiply(place, filter, count); });
      each_row([&](Value* row) {
        builder_.loop(builder_.index(0), count, builder_.index(1), [&](Value* r) {
          const BodyCode::Scope inner(body_);
          body_.set_axis(plan_.base.m.flat, ir_.CreateAdd(filter, r));
          finish_row(row, r);
        });
      });
    });
  }

  /// The rows of squares of the item, with the axes of their planes set.
  void each_row(llvm::function_ref<void(Value* row)> work) {
    builder_.loop(builder_.index(0), rows_, builder_.index(1), [&](Value* row) {
      const BodyCode::Scope scope(body_);
      Value* number = ir_.CreateAdd(first_row_, row);
      y_ = scaled(ir_.CreateURem(number, builder_.index(code_.down())), 2);
      body_.set_axes(plan_.outer, ir_.CreateUDiv(number, builder_.index(code_.down())));
      work(row);
    });
  }

  /// Vectors of squares along a row: those that need no mask in a loop, the others one by one.
  void each_vector(int64_t without_mask, llvm::function_ref<void(Value* first, int64_t)> work) {
    const int64_t vectors = ceil_ratio(code_.across(), lanes_);
    int64_t whole = std::min(without_mask, vectors);
    if (whole < 2) whole = 0;
    if (whole > 0)
      builder_.loop(builder_.index(0), builder_.index(whole * lanes_), builder_.index(lanes_),
                    [&](Value* first) {
                      const BodyCode::Scope scope(body_);
                      work(first, 0);
                    });
    for (int64_t v = whole; v < vectors; ++v) {
      const BodyCode::Scope scope(body_);
      work(builder_.index(v * lanes_), v * lanes_);
    }
  }

  static int64_t reach(const ImageAxis& axis) { return *axis.place.axis_extent().constant_value(); }

  /// Transforms the windows of a row of squares, for all channels.
  void transform_row(Value* row) {
    // Four vectors of pixels, from the first and the third of the first square on.
    const int64_t without_mask = (reach(plan_.x) - 2) / (2 * lanes_);
    Value* channels = builder_.index(code_.channel_count());
    builder_.loop(builder_.index(0), channels, builder_.index(1), [&](Value* channel) {
      const BodyCode::Scope scope(body_);
      body_.set_axes(code_.channels, channel);
      Value* to = ir_.CreateAdd(scaled(channel, code_.pitch()), scaled(row, code_.across()));
      each_vector(without_mask, [&](Value* first, int64_t known) {
        std::array<Side, kSquareSide> square;
        for (int64_t i = 0; i < kSquareSide; ++i)
          square[static_cast<size_t>(i)] = transformed(pixels(i, first, known));
        for (size_t j = 0; j < kSquareSide; ++j) {
          const Side side = transformed({square[0][j], square[1][j], square[2][j], square[3][j]});
          for (size_t i = 0; i < kSquareSide; ++i) {
            const auto place = static_cast<int64_t>(i * kSquareSide + j);
            Value* element = ir_.CreateAdd(ir_.CreateAdd(to, first),
                                           builder_.index(place * code_.square_place()));
            builder_.store(side[i], at(squares_, element), {.align = layout_.unit_bytes()});
          }
        }
      });
    });
  }

  /// One line of pixels of a vector of squares, by their place in the square. Lines below the image
  /// repeat its last one: they only reach pixels that do not exist.
  Side pixels(int64_t line, Value* first, int64_t known) {
    const BodyCode::Scope scope(body_);
    Value* y = ir_.CreateAdd(y_, builder_.index(line));
    if (plan_.height % 2 != 0) y = minimum(y, builder_.index(reach(plan_.y) - 1));
    body_.set_axis(plan_.y.place, y);
    const auto load = [&](int64_t more, int lanes) {
      const BodyCode::Scope inner(body_);
      const int64_t left = reach(plan_.x) - 2 * known - more;
      if (left <= 0)
        return static_cast<Value*>(
            llvm::Constant::getNullValue(VectorBuilder::vector(builder_.f32(), lanes)));
      Value* mask = left >= lanes ? nullptr : builder_.lanes_below(builder_.index(left), lanes);
      body_.spread(plan_.x.place, ir_.CreateAdd(scaled(first, 2), builder_.index(more)), lanes,
                   mask);
      Value* value = body_.wide_value(code_.image);
      body_.gather_up();
      return value;
    };
    if (one_vector_per_line()) {
      Value* line_pixels = load(0, 2 * lanes_);
      return {every_second(line_pixels, 0), every_second(line_pixels, 1),
              every_second(line_pixels, 2), every_second(line_pixels, 3)};
    }
    const auto [even, odd] = apart(load(0, lanes_), load(lanes_, lanes_));
    const auto [even_next, odd_next] = apart(load(2, lanes_), load(lanes_ + 2, lanes_));
    return {even, odd, even_next, odd_next};
  }

  /// Whether a vector holds all pixels that the squares of a row are made of.
  bool one_vector_per_line() const {
    return 2 * lanes_ <= layout_.lanes() && reach(plan_.x) <= 2 * lanes_;
  }

  /// Every second pixel of a line from one on. Those past its end are of no square that exists.
  Value* every_second(Value* line_pixels, int from) {
    llvm::SmallVector<int, 16> places;
    for (int lane = 0; lane < lanes_; ++lane)
      places.push_back(std::min(from + 2 * lane, 2 * lanes_ - 1));
    return ir_.CreateShuffleVector(line_pixels, places);
  }

  /// Elements at even and at odd places of two vectors side by side.
  std::pair<Value*, Value*> apart(Value* a, Value* b) {
    llvm::SmallVector<int, 16> even, odd;
    for (int lane = 0; lane < lanes_; ++lane) {
      even.push_back(2 * lane);
      odd.push_back(2 * lane + 1);
    }
    return {ir_.CreateShuffleVector(a, b, even), ir_.CreateShuffleVector(a, b, odd)};
  }

  Side transformed(const Side& d) {
    return {ir_.CreateFSub(d[0], d[2]), ir_.CreateFAdd(d[1], d[2]), ir_.CreateFSub(d[2], d[1]),
            ir_.CreateFSub(d[1], d[3])};
  }

  /// The two pixels that the sums of a side stand for.
  std::pair<Value*, Value*> pixels_of(const Side& m) {
    return {ir_.CreateFAdd(ir_.CreateFAdd(m[0], m[1]), m[2]),
            ir_.CreateFSub(ir_.CreateFSub(m[1], m[2]), m[3])};
  }

  /// The sums of some filter rows at one place of all squares.
  void multiply(Value* place, Value* filter, Value* count) {
    const int64_t unit = layout_.unit_bytes();
    const int64_t channels = code_.channel_count();
    Value* row = ir_.CreateAdd(scaled(place, code_.filter_rows()), filter);
    Value* a = at(body_.buffer(code_.filter), scaled(row, channels));
    Value* squares = scaled(rows_, code_.across());
    Value* b = scaled(place, code_.square_place());
    Value* out = scaled(place, code_.sum_place());
    builder_.loop(builder_.index(0), squares, builder_.index(code_.spec.nr), [&](Value* square) {
      Value* arguments[kTileCommon];
      std::fill(std::begin(arguments), std::end(arguments), builder_.index(0));
      arguments[kTileA] = a;
      arguments[kTileARow] = builder_.index(channels * unit);
      arguments[kTileAStep] = builder_.index(unit);
      arguments[kTileB] = at(squares_, ir_.CreateAdd(b, square));
      arguments[kTileBStep] = builder_.index(code_.pitch() * unit);
      arguments[kTileUnits] = builder_.index(channels);
      arguments[kTileOut] = at(sums_, ir_.CreateAdd(out, square));
      arguments[kTileOutRow] = builder_.index(code_.pitch() * unit);
      arguments[kTileRows] = count;
      arguments[kTileFirst] = builder_.index(1);
      call_tile(builder_, code_.spec, tiles_, arguments, ir_.CreateSub(squares, square), count);
    });
  }

  /// Two rows of pixels of filter row number r of the tile, with what is done to sums.
  void finish_row(Value* row, Value* r) {
    Value* from = ir_.CreateAdd(scaled(r, code_.pitch()), scaled(row, code_.across()));
    each_vector(plan_.width / (2 * lanes_), [&](Value* first, int64_t known) {
      std::array<std::pair<Value*, Value*>, kSquareSide> columns;
      for (size_t j = 0; j < kSquareSide; ++j) {
        Side side;
        for (size_t i = 0; i < kSquareSide; ++i) {
          const auto place = static_cast<int64_t>(i * kSquareSide + j);
          Value* element =
              ir_.CreateAdd(ir_.CreateAdd(from, first), builder_.index(place * code_.sum_place()));
          side[i] = builder_.load(VectorBuilder::vector(builder_.f32(), lanes_), at(sums_, element),
                                  {.align = layout_.unit_bytes()});
        }
        columns[j] = pixels_of(side);
      }
      const auto upper =
          pixels_of({columns[0].first, columns[1].first, columns[2].first, columns[3].first});
      const auto lower =
          pixels_of({columns[0].second, columns[1].second, columns[2].second, columns[3].second});
      store_line(y_, first, known, upper);
      Value* y = ir_.CreateAdd(y_, builder_.index(1));
      const auto store_lower = [&] { store_line(y, first, known, lower); };
      if (plan_.height % 2 == 0)
        store_lower();
      else
        builder_.if_then(ir_.CreateICmpSLT(y, builder_.index(plan_.height)), store_lower);
    });
  }

  /// Pixels at even and odd places of a line, from square `first` on.
  void store_line(Value* y, Value* first, int64_t known, std::pair<Value*, Value*> pixels) {
    const BodyCode::Scope scope(body_);
    body_.set_axis(plan_.y.position, y);
    // Both halves at once where a vector is long enough.
    const int lanes = std::min(2 * lanes_, layout_.lanes());
    for (int from = 0; from < 2 * lanes_; from += lanes) {
      const int64_t left = plan_.width - 2 * known - from;
      if (left <= 0) return;
      llvm::SmallVector<int, 16> places;
      for (int pixel = from; pixel < from + lanes; ++pixel)
        places.push_back(pixel / 2 + pixel % 2 * lanes_);
      Value* sum = ir_.CreateShuffleVector(pixels.first, pixels.second, places);
      Value* mask = left >= lanes ? nullptr : builder_.lanes_below(builder_.index(left), lanes);
      const BodyCode::Scope inner(body_);
      Value* x = ir_.CreateAdd(scaled(first, 2), builder_.index(from));
      store_pixels(with_infinities(sum, y, x, mask), x, mask);
    }
  }

  /// Infinities are told from NaN by the products themselves, not by differences of pixels: where a
  /// sum is neither, it is taken again.
  Value* with_infinities(Value* sum, Value* y, Value* x, Value* mask) {
    Value* none = ir_.CreateFSub(sum, sum);
    Value* odd = ir_.CreateFCmpUNO(none, none);
    if (mask != nullptr) odd = ir_.CreateAnd(odd, mask);
    return builder_.if_else(
        builder_.any(odd),
        [&] { return Carried{plain_sum(y, x, VectorBuilder::lanes_of(sum), mask)}; },
        [&] { return Carried{sum}; })[0];
  }

  /// The sums of a vector of pixels, product by product.
  Value* plain_sum(Value* y, Value* x, int lanes, Value* mask) {
    const Product& product = plan_.base.products[0];
    Value* zero = llvm::Constant::getNullValue(VectorBuilder::vector(builder_.f32(), lanes));
    const auto step = [&](Value* sum, Value* r, Value* s) {
      const BodyCode::Scope scope(body_);
      body_.set_axis(plan_.y.window, r);
      body_.set_axis(plan_.x.window, s);
      body_.set_axis(plan_.y.place, ir_.CreateAdd(y, r));
      body_.spread(plan_.x.place, ir_.CreateAdd(x, s), lanes, mask);
      Value* filter = body_.wide_value(product.a.value);
      Value* next = builder_.mul_add(filter, body_.wide_value(code_.image), sum);
      body_.gather_up();
      return next;
    };
    const auto over = [&](int64_t count, Value* sum, auto&& each) {
      return builder_.loop(
          builder_.index(0), builder_.index(count), builder_.index(1), {sum},
          [&](Value* k, llvm::ArrayRef<Value*> now) { return Carried{each(k, now[0])}; })[0];
    };
    return over(code_.channel_count(), zero, [&](Value* channel, Value* first) {
      body_.set_axes(code_.channels, channel);
      return over(kSquareSide - 1, first, [&](Value* r, Value* second) {
        return over(kSquareSide - 1, second, [&](Value* s, Value* sum) { return step(sum, r, s); });
      });
    });
  }

  const WinogradCode& code_;
  GemmLayout layout_;
  int lanes_;
  TileSet tiles_;
  Value* sums_ = nullptr;
  Value* squares_ = nullptr;
  // Of the current item, and of the current row of squares.
  Value* first_row_ = nullptr;
  Value* rows_ = nullptr;
  Value* y_ = nullptr;
};

}  // namespace

void emit_winograd(llvm::Module& module, const CpuTarget& target, const WinogradCode& code) {
  WinogradEmitter(module, target, code).emit();
}

}  // namespace luminal::codegen
