// Single points of a kernel's results as the oracle computes them, for kernels of which it could
// not compute everything in time. The same points with every value moved by what rounding may cost
// say how far off a right result may be: errors of one value are the same wherever it is used and
// those of different values go different ways, as in a kernel.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "luminal/kernel/evaluate.h"
#include "luminal/search/leaving_offsets.h"

namespace luminal::search {

/// One element of a result.
struct PointValue {
  size_t root = 0;
  int64_t position = 0;
  double value = 0.0;
  int64_t integer = 0;  ///< the value, where it is one: not every int64_t is a double
};

/// How values are rounded on the way.
enum class PointRounding : uint8_t {
  kAsWritten,  ///< every node to its dtype: the oracle
  kWide,       ///< not at all but in f64: what the oracle and kernels come near
  kMoved,      ///< every one moved by chance by as much as its rounding may cost
};

/// Computes points of one kernel on one set of data, all of which it refers to. Results are never
/// rounded in `kWide` and `kMoved`: who compares them rounds.
class PointOracle {
 public:
  /// What is moved is moved by `scale` times what rounding may cost. The arena is that of
  /// `offsets`, where there are some.
  PointOracle(const kernel::Arena& arena, const kernel::Kernel& kernel,
              const LeavingOffsets& offsets, const graph::DimValues& dims,
              const kernel::Tensors& tensors, PointRounding rounding = PointRounding::kAsWritten,
              uint64_t seed = 1, double scale = 1.0);
  // The evaluator refers to it.
  PointOracle(const PointOracle&) = delete;
  PointOracle& operator=(const PointOracle&) = delete;

  /// Of the kernel's axes.
  const std::vector<int64_t>& extents() const { return extents_; }
  bool is_empty() const;
  /// The position of the axes at which an element is stored; nothing if it is not found.
  std::optional<std::vector<int64_t>> axes_of(size_t root, int64_t position);
  /// All roots at one position of the axes.
  std::vector<PointValue> at(std::span<const int64_t> axes);
  /// Computes reductions anew that were computed for an earlier point: what is moved by chance
  /// comes to lie elsewhere.
  void forget() { evaluator_.reductions_changed(); }
  /// Whether products over axes at the last point might leave the range of what they are computed
  /// in, on the way in some order of their factors (`kWide`).
  struct Escapes {
    bool to_infinity = false;  ///< or to NaN
    bool to_zero = false;
  };
  Escapes escapes() const { return escapes_; }
  /// Whether a root is made of a sum that an offset may leave, which at the last point, or what
  /// leaves it, was beyond the range of what both are computed in (`kWide`).
  bool offset_escapes(size_t root) const;
  /// Whether a value outside of its tensor was asked for.
  bool reads_outside() const { return evaluator_.loads_outside() > 0; }

 private:
  void find_last_places();
  void spare_functions(kernel::BodyId below);
  double computed_wide(kernel::BodyId id) const;
  double stored_place(kernel::BodyId id) const;
  void round_factors(const kernel::BodyNode& product);
  kernel::Number moved(kernel::BodyId id, kernel::Number value, bool partial);
  /// A value that is not beyond the ends of a dtype without infinities.
  kernel::Number bounded(kernel::BodyId id, kernel::Number value, bool partial) const;
  /// What leaves a sum at the current step of it, added to what has left it so far.
  double add_leaving(const LeavingOffset& offset, double& left);
  /// Notes a step of a sum that an offset may leave.
  void note_leaving(kernel::BodyId id, double value, bool partial);
  /// From -1 to 1; of some values always the same.
  double random_unit(kernel::BodyId id, double value);
  /// Notes a factor of a product over axes, or its end.
  void note_factor(kernel::BodyId id, bool partial);

  const kernel::Arena& arena_;
  const kernel::Kernel& kernel_;
  kernel::Evaluator evaluator_;
  std::vector<int64_t> extents_;
  std::vector<graph::Extents> shapes_;
  std::set<kernel::BodyId> summed_products_;  // which kernels do not round
  std::vector<double> last_places_;           // by body: how far a value may be off, relative to it
  /// Results that others are made of, before they are rounded: what those see is rounded, or not.
  std::map<kernel::BodyId, double> used_results_;
  /// By body: whether values that are the same are moved alike. A sum that is compared with itself
  /// at another position is one value in a kernel, and two bodies here.
  std::vector<bool> moved_alike_;
  uint64_t seed_ = 1;
  uint64_t random_ = 1;
  double scale_ = 1.0;
  /// Exponents of a product's factors, those above and those below 1 by themselves: no part of the
  /// product, in whichever order, is outside of these.
  struct Exponents {
    double above = 0.0;
    double below = 0.0;
    bool infinite = false;  // one of them is
  };
  std::map<kernel::BodyId, Exponents> products_;  // of products over axes that are being computed
  Escapes escapes_;
  const LeavingOffsets& offsets_;
  std::map<kernel::BodyId, double> left_;  // sums that are being computed, so far
  std::set<kernel::BodyId> beyond_;        // sums of the last point that may leave the range
};

/// Whether an op may have a few digits more than bf16 and no others where its result ends in that
/// or in less (docs/kernels.md): functions, roots and quotients.
bool may_have_few_digits(graph::Op op);

/// Whether a node multiplies floats over axes.
bool is_product(const kernel::BodyNode& node);

/// Values that the oracle computes for one point, about, if it computes everything wherever it is
/// used.
double work_per_point(const kernel::Arena& arena, const kernel::Kernel& kernel,
                      const graph::DimValues& dims);
/// The same if each is computed once for every position that it depends on.
double values_per_point(const kernel::Arena& arena, const kernel::Kernel& kernel,
                        const graph::DimValues& dims);

}  // namespace luminal::search
