#include "luminal/search/one_sided.h"

#include <algorithm>
#include <set>
#include <utility>

#include "luminal/kernel/reads.h"

namespace luminal::search {
namespace {

using graph::Op;
using kernel::Arena;
using kernel::BodyId;
using kernel::BodyKind;
using kernel::BodyNode;

/// What a constant factor makes of a sign; 0 if it is none.
int sign_of(const BodyNode& node) {
  if (node.kind != BodyKind::kConstant || !graph::is_float(node.dtype)) return 0;
  const double value = node.constant.as_double();
  return value > 0 ? 1 : value < 0 ? -1 : 0;
}

/// ~ reverses the order of integers.
bool is_all_ones(const BodyNode& node) {
  if (node.kind != BodyKind::kConstant || graph::is_float(node.dtype)) return false;
  const int64_t value = node.constant.as_int64();
  const int bits = graph::bits(node.dtype);
  return value == -1 || (bits < 64 && value == (int64_t{1} << bits) - 1);
}

/// Finds which side of each tensor makes a value negative.
class Finder {
 public:
  explicit Finder(const Arena& arena) : arena_(arena) {}

  /// Whether `side` of a value follows from the sides of tensors.
  bool find(BodyId id, int side) {
    if (!seen_.emplace(id, side).second) return true;  // or it has failed by now
    const BodyNode& node = arena_[id];
    if (node.kind == BodyKind::kConstant) return true;
    if (node.kind == BodyKind::kLoad)
      return sides_.emplace(node.tensor, side).first->second == side;
    if (node.kind == BodyKind::kWhere)
      return find(node.children[0], side) && find(node.children[1], side);
    if (node.kind != BodyKind::kOp) return false;
    switch (node.op) {
      case Op::kAdd:
        return find(node.children[0], side) && find(node.children[1], side);
      case Op::kSelect:
        return find(node.children[1], side) && find(node.children[2], side);
      case Op::kCast:
      case Op::kCopy:
        return find(node.children[0], side);
      case Op::kMul:
        return find_factor(node, side);
      case Op::kBitXor:
        return find_complement(node, side);
      default:
        return false;
    }
  }
  const Sides& sides() const { return sides_; }

 private:
  bool find_factor(const BodyNode& node, int side) {
    for (const size_t k : {0, 1})
      if (const int sign = sign_of(arena_[node.children[k]]); sign != 0)
        return find(node.children[1 - k], sign * side);
    return false;
  }
  bool find_complement(const BodyNode& node, int side) {
    for (const size_t k : {0, 1})
      if (is_all_ones(arena_[node.children[k]])) return find(node.children[1 - k], -side);
    return false;
  }

  const Arena& arena_;
  Sides sides_;
  std::set<std::pair<BodyId, int>> seen_;
};

bool agree(const Sides& some, const Sides& others) {
  return std::ranges::all_of(others, [&](const auto& each) {
    const auto found = some.find(each.first);
    return found == some.end() || found->second == each.second;
  });
}

}  // namespace

std::vector<Sides> one_sided(const Arena& arena, const kernel::Kernel& kernel) {
  constexpr size_t kMost = 2;
  std::vector<Sides> result;
  for (const BodyId id : kernel::bodies_of(arena, kernel)) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kReduce || node.op != Op::kReduceMax) continue;
    Finder finder(arena);
    if (!finder.find(node.children[0], -1) || finder.sides().empty()) continue;
    const auto fits = std::ranges::find_if(
        result, [&](const Sides& sides) { return agree(sides, finder.sides()); });
    if (fits != result.end())
      fits->insert(finder.sides().begin(), finder.sides().end());
    else if (result.size() < kMost)
      result.push_back(finder.sides());
  }
  return result;
}

}  // namespace luminal::search
