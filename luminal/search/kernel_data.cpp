#include "luminal/search/kernel_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <set>

#include "luminal/graph/dim_binding.h"
#include "luminal/kernel/estimate.h"
#include "luminal/kernel/reads.h"
#include "luminal/search/far_rows.h"
#include "luminal/search/one_sided.h"
#include "luminal/support/hash.h"

namespace luminal::search {
namespace {

using graph::Array;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;
using kernel::NodeId;

/// Tensors whose values say where something is read, and how far such positions may go: to the
/// shortest extent of what is read so.
struct Positions {
  std::set<NodeId> tensors;
  int64_t limit = std::numeric_limits<int64_t>::max();
};

Positions positions_of(const Arena& arena, const kernel::Kernel& kernel,
                       const graph::DimValues& dims) {
  Positions result;
  for (const BodyId id : kernel::bodies_of(arena, kernel)) {
    const BodyNode& node = arena[id];
    if (node.index_values.empty()) continue;
    for (const BodyId inner : arena.reachable(node.index_values))
      if (arena[inner].kind == BodyKind::kLoad) result.tensors.insert(arena[inner].tensor);
    if (node.kind != BodyKind::kLoad) continue;
    for (const int64_t extent : graph::extents_of(arena.tensor(node.tensor).shape, dims))
      result.limit = std::min(result.limit, extent);
  }
  return result;
}

bool has_reductions(const Arena& arena, const kernel::Kernel& kernel) {
  const std::vector<BodyId> bodies = bodies_of(arena, kernel);
  return std::any_of(bodies.begin(), bodies.end(),
                     [&](BodyId id) { return arena[id].kind == BodyKind::kReduce; });
}

bool has_functions(const Arena& arena, const kernel::Kernel& kernel) {
  const std::vector<BodyId> bodies = bodies_of(arena, kernel);
  return std::any_of(bodies.begin(), bodies.end(), [&](BodyId id) {
    return arena[id].kind == BodyKind::kOp && kernel::is_function(arena[id].op);
  });
}

/// Whether some float is made of the bits of integers: most bits make no float that one would
/// compute with.
bool has_floats_of_bits(const Arena& arena, const kernel::Kernel& kernel) {
  const std::vector<BodyId> bodies = bodies_of(arena, kernel);
  return std::any_of(bodies.begin(), bodies.end(), [&](BodyId id) {
    const BodyNode& node = arena[id];
    return node.kind == BodyKind::kOp && node.op == graph::Op::kBitcast &&
           graph::is_float(node.dtype);
  });
}

/// One of very many terms of a sum may be less than what rounding the others costs. Most rows get a
/// value that outweighs all others, so that leaving it out is noticed: the last one of a row, one
/// of the last, where vectors end, the first, or any. Where a kernel has functions, some rows are
/// of many sizes instead: functions have bends between what is usual and what outweighs all else.
class Dominants {
 public:
  static constexpr double kValue = 12;  // e^12 outweighs thousands of terms around 1
  static constexpr int64_t kShortestRow = 16;
  static constexpr int64_t kTail = 64;  // lanes of the widest vectors of the narrowest floats

  Dominants(const graph::Extents& extents, bool spreads, uint64_t seed)
      : spreads_(spreads), random_(seed) {
    if (!extents.empty() && extents.back() >= kShortestRow) row_ = extents.back();
  }

  /// Called for one position after the other: whether the value there outweighs its row.
  bool is_next(int64_t position) {
    if (row_ == 0) return false;
    if (position % row_ == 0) begin(position / row_);
    return position % row_ == place_;
  }
  /// The exponent of 2 up to which values of this row go; nothing if they are as usual. After
  /// `is_next`.
  std::optional<double> exponent() const { return exponent_; }
  /// Rows that infinities and the like are in, which would hide everything else; the others have
  /// none, if there are enough.
  bool is_spoilt(int64_t position, int64_t count) const {
    return spoilt_row(count) == 0 || position / row_ % kCycle == kCycle - 1;
  }
  /// How long the rows are of which some are spoilt; 0: all values may be special.
  int64_t spoilt_row(int64_t count) const { return row_ > 0 && count / row_ >= kCycle ? row_ : 0; }
  /// How long rows are; 0: there are none with such values.
  int64_t row() const { return row_; }

 private:
  static constexpr int64_t kCycle = 4;

  void begin(int64_t row) {
    constexpr double kUsual = 1.0, kLargest = 6.5;  // up to e^90, which is beyond f32
    constexpr int64_t kSteps = 64;
    exponent_.reset();
    place_ = place_in(row);
    if (!spreads_ || row % (2 * kCycle) != kCycle + 2) return;
    place_ = -1;
    exponent_ = kUsual + (kLargest - kUsual) * static_cast<double>(draw(kSteps) + 1) / kSteps;
  }
  int64_t draw(int64_t below) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(below));
  }
  int64_t place_in(int64_t row) {
    switch (row % (2 * kCycle)) {
      case 0:
      case kCycle:
        return row_ - 1;
      case 1:
      case kCycle + 1:
        return row_ - 1 - draw(std::min(row_, kTail));
      case 2:
        return 0;
      default:
        return draw(row_);
    }
  }

  bool spreads_ = false;
  int64_t row_ = 0;  // 0: there are none
  int64_t place_ = 0;
  std::optional<double> exponent_;
  std::mt19937_64 random_;
};

class Filler {
 public:
  /// Smaller arrays hold what all results depend on: one special value there would hide all others.
  static constexpr int64_t kLeastSpoilt = 16;

  /// `whole_range` asks for integers of all sizes; one value in `one_in` is special, and where none
  /// of them `meets` another, some of these are of any size, or ties. All values are on one `side`
  /// of 0 if that is not 0.
  Filler(DataKind kind, bool whole_range, int64_t one_in, bool meets, int side, uint64_t seed)
      : kind_(kind),
        whole_range_(whole_range),
        one_in_(one_in),
        draws_(kind == DataKind::kSpecial && !meets),
        side_(side),
        seed_(seed),
        random_(seed) {}

  /// `weighed` asks for values that outweigh their rows, `spread` for rows of many sizes as well.
  void fill(Array& array, int64_t limit, bool weighed, bool spread) {
    // Long arrays are made of pieces of their beginning: making every value anew would take longer
    // than the search.
    constexpr int64_t kBeginning = 131'068;
    const int64_t count = std::min(array.size(), kBeginning);
    Dominants dominants(
        weighed && graph::is_float(array.dtype()) ? array.extents() : graph::Extents{}, spread,
        seed_ + 1);
    if (const int64_t row = dominants.spoilt_row(count); row > 0)
      one_in_ = std::clamp<int64_t>(row / 2, kLeastSpoilt / 2, one_in_);
    for (int64_t i = 0; i < count; ++i) {
      is_spoilt_ = dominants.is_spoilt(i, count);
      kernel::Number number = value(array.dtype(), limit);
      if (dominants.is_next(i)) number = {Dominants::kValue, 0};
      if (const auto exponent = dominants.exponent()) number = {of_a_size_below(*exponent), 0};
      kernel::store(array, i, kernel::Evaluator::rounded(array.dtype(), number));
    }
    if (has_specials() && graph::is_float(array.dtype()) && specials_ == 0 && count >= kLeastSpoilt)
      kernel::store(array, below(count), kernel::Evaluator::rounded(array.dtype(), {special(), 0}));
    if (count < array.size()) fill_rest(array, count, dominants.row());
  }

 private:
  /// Copies pieces of the first `count` values, each from anywhere, to all places behind them: at
  /// no distance do values repeat. Where rows have a meaning these are the pieces.
  static void fill_rest(Array& array, int64_t count, int64_t row) {
    constexpr int64_t kPiece = 4094;  // whole bytes of every dtype
    const bool by_rows = row > 0 && row <= count / 8;
    const int64_t piece = by_rows ? row : kPiece;
    const int64_t step = by_rows ? row : 2;  // where a piece may begin
    const int64_t whole = count / piece * piece;
    const auto choices = static_cast<uint64_t>((whole - piece) / step + 1);
    const auto bytes_of = [&](int64_t elements) {
      return static_cast<size_t>(graph::byte_size(array.dtype(), elements));
    };
    const auto bytes = array.mutable_bytes();
    for (int64_t begin = whole; begin < array.size(); begin += piece) {
      const uint64_t hash = support::mix64(static_cast<uint64_t>(begin));
      const int64_t from = static_cast<int64_t>(hash % choices) * step;
      const size_t length = bytes_of(std::min(piece, array.size() - begin));
      std::memcpy(&bytes[bytes_of(begin)], &bytes[bytes_of(from)], length);
    }
  }

  // Written out, since the library's distributions differ from one library to the next.
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  bool has_specials() const { return kind_ == DataKind::kInfinite || kind_ == DataKind::kSpecial; }

  kernel::Number value(graph::DType dtype, int64_t limit) {
    if (side_ != 0 && dtype != graph::DType::kBool) return of_one_side(dtype);
    if (graph::is_float(dtype)) return {real(), 0};
    const bool chooses = limit < std::numeric_limits<int64_t>::max();
    return {0.0, chooses ? below(std::max<int64_t>(limit, 1)) : integer(dtype)};
  }

  /// Of either sign and any size: functions have their bends and the ends of their ranges anywhere.
  double of_any_size() {
    constexpr int kLargest = 20;  // an exponent of 2
    const double size =
        std::ldexp(1.0 + uniform(), static_cast<int>(below(2 * kLargest)) - kLargest);
    return below(2) == 0 ? size : -size;
  }

  /// From half of what is usual on.
  double of_a_size_below(double exponent) {
    const double size = std::exp2((exponent + 1.0) * uniform() - 1.0);
    return below(2) == 0 ? size : -size;
  }

  /// Halfway between two neighbours of some format, or of whole numbers after multiplying by few:
  /// an odd number of so many digits, of a common size.
  double tie() {
    constexpr std::array<int, 8> kDigits = {2, 3, 4, 5, 6, 9, 12, 25};
    constexpr int kSmallest = -2, kSizes = 8;
    const int digits = kDigits[static_cast<size_t>(below(std::ssize(kDigits)))];
    const int64_t half = int64_t{1} << (digits - 1);
    const auto odd = static_cast<double>((half + below(half)) | 1);
    const double size = std::ldexp(odd, static_cast<int>(below(kSizes)) + kSmallest - digits);
    return below(2) == 0 ? size : -size;
  }

  /// So far from 0 that a maximum of it cannot begin with anything usual, and that e to its power
  /// vanishes; in steps, so that some are equal. Some are as near to 0 as any: of several largest
  /// ones, which short rows have too, whatever axis they lie along, the first has to be found.
  kernel::Number of_one_side(graph::DType dtype) {
    constexpr int64_t kFrom = 100, kTo = 140, kSteps = 32, kNearest = 8;
    const bool is_nearest = below(kNearest) == 0;
    if (graph::is_float(dtype)) {
      const int64_t steps = is_nearest ? 0 : below((kTo - kFrom) * kSteps);
      return {side_ * (kFrom + static_cast<double>(steps) / kSteps), 0};
    }
    const int64_t least = graph::bits(dtype) < 8 ? 1 : 50;
    const int64_t size = least + (is_nearest ? 0 : below(graph::bits(dtype) < 8 ? 6 : 50));
    return {0.0, graph::is_unsigned(dtype) ? size : side_ * size};
  }

  /// One after the other, beginning anywhere: small arrays have some of each. If there are more,
  /// every fourth is of any size and every fourth a tie.
  double special() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    // The large ones last.
    constexpr std::array kSpecial = {
        0.0,  -0.0, 1.0,   -1.0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
        1e30, 5.0,  -11.0, 88.0, -88.0,     3e4};
    constexpr int64_t kNotLarge = 7, kStep = 5;
    const int64_t kinds = kind_ == DataKind::kInfinite ? kNotLarge : std::ssize(kSpecial);
    const int64_t number = specials_++;
    if (draws_ && number >= kinds && number % 2 == 1)
      return number % 4 == 1 ? of_any_size() : tie();
    next_special_ = number > 0 ? (next_special_ + kStep) % kinds : below(kinds);
    return kSpecial[static_cast<size_t>(next_special_)];
  }

  double real() {
    if (has_specials() && is_spoilt_ && below(one_in_) == 0) return special();
    return 4.0 * uniform() - 2.0;
  }

  int64_t integer(graph::DType dtype) {
    if (dtype == graph::DType::kBool) return below(2);
    // Integers wrap, so whatever bits there are will do. Others are small, so that comparisons and
    // positions meet; negative where the dtype has such numbers.
    if (whole_range_ && below(2) == 0) return static_cast<int64_t>(random_());
    const int64_t value = below(16);
    return graph::is_unsigned(dtype) ? value : value - 8;
  }

  DataKind kind_;
  bool whole_range_;
  int64_t one_in_;
  bool draws_;
  int side_;
  uint64_t seed_;
  bool is_spoilt_ = true;
  int64_t specials_ = 0;  // so far
  int64_t next_special_ = 0;
  std::mt19937_64 random_;
};

}  // namespace

bool has_products(const Arena& arena, const kernel::Kernel& kernel) {
  const auto tensors_below = [&](BodyId id) {
    std::set<NodeId> result;
    for (const BodyId inner : arena.reachable(std::array{id}))
      if (arena[inner].kind == BodyKind::kLoad) result.insert(arena[inner].tensor);
    return result;
  };
  const std::vector<BodyId> bodies = bodies_of(arena, kernel);
  return std::any_of(bodies.begin(), bodies.end(), [&](BodyId id) {
    if (arena[id].kind != BodyKind::kReduce) return false;
    BodyId term = arena[id].children[0];
    while (arena[term].kind == BodyKind::kOp && arena[term].op == graph::Op::kCast)
      term = arena[term].children[0];
    const BodyNode& node = arena[term];
    if (node.kind != BodyKind::kOp || node.op != graph::Op::kMul) return false;
    const std::set<NodeId> left = tensors_below(node.children[0]);
    const std::set<NodeId> right = tensors_below(node.children[1]);
    return !left.empty() && !right.empty() && left != right;
  });
}

std::vector<DataKind> further_kinds(const Arena& arena, const kernel::Kernel& kernel) {
  std::vector<DataKind> result = {DataKind::kOneSided, DataKind::kOtherSide};
  result.resize(one_sided(arena, kernel).size());
  if (far_rows(arena, kernel)) result.push_back(DataKind::kFarRows);
  return result;
}

std::vector<NodeId> tensors_read(const Arena& arena, const kernel::Kernel& kernel) {
  std::set<NodeId> found;
  for (const BodyId id : kernel::bodies_of(arena, kernel))
    if (arena[id].kind == BodyKind::kLoad) found.insert(arena[id].tensor);
  return {found.begin(), found.end()};
}

kernel::Tensors random_tensors(const Arena& arena, const kernel::Kernel& kernel,
                               const graph::DimValues& dims, DataKind kind, uint64_t seed) {
  const Positions positions = positions_of(arena, kernel, dims);
  // Where each result is of its own values, special ones hide nothing of others. Elsewhere more of
  // them would make weights vanish beside infinities, where a last bit decides what becomes of it.
  const bool reduces = has_reductions(arena, kernel);
  const int64_t one_in = reduces ? 997 : 5;
  const bool weighed = kind == DataKind::kSpecial && reduces && !has_products(arena, kernel);
  const bool spread = weighed && has_functions(arena, kernel);
  const bool is_other = kind == DataKind::kOtherSide;
  const bool is_sided = kind == DataKind::kOneSided || is_other;
  const bool is_far = kind == DataKind::kFarRows;
  const bool whole_range =
      kind != DataKind::kOrdinary && !is_sided && !is_far && !has_floats_of_bits(arena, kernel);
  const std::optional<FarRows> far = is_far ? far_rows(arena, kernel) : std::nullopt;
  Sides sides;
  if (is_sided) sides = one_sided(arena, kernel).at(is_other ? 1 : 0);
  kernel::Tensors result;
  for (const NodeId id : tensors_read(arena, kernel)) {
    const graph::TensorType& type = arena.tensor(id);
    Array array(type.dtype, graph::extents_of(type.shape, dims));
    const bool chooses = positions.tensors.contains(id) && !graph::is_float(type.dtype);
    const auto side = sides.find(id);
    const int sign = side == sides.end() || chooses ? 0 : side->second;
    Filler(kind, whole_range, one_in, reduces, sign, seed + id.value)
        .fill(array, chooses ? positions.limit : std::numeric_limits<int64_t>::max(), weighed,
              spread);
    if (far) make_far(*far, id, array);
    result.emplace(id, std::move(array));
  }
  return result;
}

}  // namespace luminal::search
