#include "luminal/search/kernel_data.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <set>

#include "luminal/graph/dim_binding.h"
#include "luminal/kernel/reads.h"

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

class Filler {
 public:
  Filler(DataKind kind, uint64_t seed) : kind_(kind), random_(seed) {}

  void fill(Array& array, int64_t limit) {
    // Long arrays repeat themselves: making every value anew would take longer than the search.
    constexpr int64_t kPeriod = 131'068;  // no power of two, and whole bytes of every dtype
    const int64_t count = std::min(array.size(), kPeriod);
    for (int64_t i = 0; i < count; ++i)
      kernel::store(array, i,
                    kernel::Evaluator::rounded(array.dtype(), value(array.dtype(), limit)));
    const auto bytes = array.mutable_bytes();
    const auto period = static_cast<size_t>(graph::byte_size(array.dtype(), count));
    for (size_t done = period; done < bytes.size(); ++done) bytes[done] = bytes[done - period];
  }

 private:
  // Written out, since the library's distributions differ from one library to the next.
  double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
  int64_t below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  kernel::Number value(graph::DType dtype, int64_t limit) {
    if (graph::is_float(dtype)) return {real(), 0};
    const bool chooses = limit < std::numeric_limits<int64_t>::max();
    return {0.0, chooses ? below(std::max<int64_t>(limit, 1)) : integer(dtype)};
  }

  double real() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr std::array kSpecial = {
        0.0, -0.0, 1.0, -1.0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
        1e30};
    constexpr int64_t kOneIn = 997;
    const size_t kinds = kSpecial.size() - (kind_ == DataKind::kInfinite ? 1 : 0);
    if (kind_ != DataKind::kOrdinary && below(kOneIn) == 0)
      return kSpecial[static_cast<size_t>(below(static_cast<int64_t>(kinds)))];
    return 4.0 * uniform() - 2.0;
  }

  int64_t integer(graph::DType dtype) {
    if (dtype == graph::DType::kBool) return below(2);
    // Small, so that sums of products stay in range; negative where the dtype has such numbers.
    const int64_t value = below(16);
    return graph::is_unsigned(dtype) ? value : value - 8;
  }

  DataKind kind_;
  std::mt19937_64 random_;
};

}  // namespace

std::vector<NodeId> tensors_read(const Arena& arena, const kernel::Kernel& kernel) {
  std::set<NodeId> found;
  for (const BodyId id : kernel::bodies_of(arena, kernel))
    if (arena[id].kind == BodyKind::kLoad) found.insert(arena[id].tensor);
  return {found.begin(), found.end()};
}

kernel::Tensors random_tensors(const Arena& arena, const kernel::Kernel& kernel,
                               const graph::DimValues& dims, DataKind kind, uint64_t seed) {
  const Positions positions = positions_of(arena, kernel, dims);
  kernel::Tensors result;
  for (const NodeId id : tensors_read(arena, kernel)) {
    const graph::TensorType& type = arena.tensor(id);
    Array array(type.dtype, graph::extents_of(type.shape, dims));
    const bool chooses = positions.tensors.contains(id) && !graph::is_float(type.dtype);
    Filler(kind, seed + id.value)
        .fill(array, chooses ? positions.limit : std::numeric_limits<int64_t>::max());
    result.emplace(id, std::move(array));
  }
  return result;
}

}  // namespace luminal::search
