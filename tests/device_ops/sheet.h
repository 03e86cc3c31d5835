// The cases of one op on one sheet: a single graph with an output per case, so that they are
// compiled together, and data for its inputs. A case is written per dtype (a cell); a dtype that
// the op refuses is told by the error.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bounds.h"
#include "luminal/luminal.h"
#include "random.h"

namespace luminal::device_ops {

/// What is in an input.
enum class Fill {
  kAny,      ///< ordinary and special values: NaN, infinities, zeros of both signs, ends of ranges
  kSpecial,  ///< the special values of the dtype in turn
  kRare,     ///< ordinary values, one in 40 special
  kPlain,    ///< ordinary values around 0
  kNearOne,  ///< between 0.5 and 1.5; integers between -2 and 2
  kIndex,    ///< 0, 1, 2 or 3, in random order
};

/// One result that is compared.
struct Case {
  DType dtype;
  std::string what;
  Tensor result;
  test::Tolerance bound;
};

/// How an operand of extents [4, 65] is seen.
enum class Seen { kWhole, kSliced, kFlipped, kPermuted, kBroadcast, kPadded, kWindows, kReshaped };
inline constexpr int kSeenCount = 8;
const char* name(Seen seen);

/// See above.
class Sheet {
 public:
  explicit Sheet(uint64_t seed) : random_(seed) {}

  const Graph& graph() const { return graph_; }
  const std::vector<Case>& cases() const { return cases_; }
  std::vector<Tensor> results() const;
  /// Forgets the cases from this number on.
  void drop_from(size_t number) { cases_.resize(number); }
  /// Whether a case has a dim.
  bool is_symbolic() const { return graph_.ir().dims().contains("n"); }
  /// Data for every input where `n` has this value; the same for every caller.
  std::map<std::string, Array> data(int64_t n) const;

 private:
  friend class Cell;
  struct Source {
    std::string name;
    DType dtype;
    Shape shape;
    Fill fill;
    uint64_t seed;
  };

  Graph graph_;
  test::Random random_;
  std::vector<Source> sources_;
  std::vector<Case> cases_;
};

/// Writes the cases of one dtype.
class Cell {
 public:
  Cell(Sheet& sheet, DType dtype) : sheet_(sheet), dtype_(dtype) {}

  DType dtype() const { return dtype_; }
  /// Some dtypes are tried in every way there is, the others in some that differ from dtype to
  /// dtype: what is not about the dtype is proved once, and compiling is most of the time.
  bool thorough() const { return dtype_ == f32 || dtype_ == i8; }
  /// The ways to see an operand that are tried for this dtype.
  std::vector<int> ways() const;
  const Graph& graph() const { return sheet_.graph_; }
  /// A dim that may be 0: a run per value that the row names.
  Dim n() const { return sheet_.graph_.dim("n", 0, 4096); }

  /// Inputs of the cell's dtype, or another one.
  Tensor input(Shape shape, Fill fill = Fill::kAny) {
    return input(dtype_, std::move(shape), fill);
  }
  Tensor input(DType dtype, Shape shape, Fill fill);
  /// An input seen so, [4, 65].
  Tensor seen(Seen how, Fill fill = Fill::kAny) { return seen(dtype_, how, fill); }
  Tensor seen(DType dtype, Seen how, Fill fill);

  /// Compares this result.
  void add(std::string what, const Tensor& result, const test::Tolerance& bound);
  /// With the bound of functions of several steps.
  void add(std::string what, const Tensor& result) {
    add(std::move(what), result, test::function_bound(result.dtype()));
  }

 private:
  Sheet& sheet_;
  DType dtype_;
};

/// Which way operand k of case v is seen: all ways meet over the cases.
inline Seen seen_number(int v, int k) { return static_cast<Seen>((v + 3 * k) % kSeenCount); }

}  // namespace luminal::device_ops
