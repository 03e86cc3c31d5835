#include "luminal/compiler/memory_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace luminal::compiler {
namespace {

using symbolic::Expr;

struct Slot {
  Expr bytes;      // at least this much is in it already
  size_t free_at;  // the first step at which nobody needs it
};

class Planner {
 public:
  Planner(std::span<const Lifetime> buffers, std::span<const InPlace> in_place)
      : buffers_(buffers), result_{std::vector<size_t>(buffers.size(), 0), 0} {
    for (const InPlace& pair : in_place) before_[pair.after].push_back(pair.before);
  }

  MemoryPlan run() {
    std::vector<size_t> order(buffers_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return buffers_[a].first < buffers_[b].first; });
    for (const size_t buffer : order) place(buffer);
    result_.slots = slots_.size();
    return result_;
  }

 private:
  void place(size_t buffer) {
    const Lifetime& life = buffers_[buffer];
    std::optional<size_t> slot = in_place_slot(buffer);
    if (!slot) slot = best_free_slot(life);
    if (!slot) {
      slot = slots_.size();
      slots_.push_back({0, 0});
    }
    Slot& chosen = slots_[*slot];
    if (!provably_ge(chosen.bytes, life.bytes))
      chosen.bytes = symbolic::max(chosen.bytes, life.bytes);
    chosen.free_at = life.last + 1;
    result_.slot_of[buffer] = *slot;
  }

  /// The slot of a buffer that ends where this one begins and has its size.
  std::optional<size_t> in_place_slot(size_t buffer) const {
    const auto found = before_.find(buffer);
    if (found == before_.end()) return std::nullopt;
    for (const size_t before : found->second) {
      const size_t slot = result_.slot_of[before];
      const bool ends_here = buffers_[before].last == buffers_[buffer].first &&
                             slots_[slot].free_at == buffers_[buffer].first + 1;
      if (ends_here && buffers_[before].bytes == buffers_[buffer].bytes) return slot;
    }
    return std::nullopt;
  }

  std::optional<size_t> best_free_slot(const Lifetime& life) const {
    std::optional<size_t> fits;
    std::optional<size_t> largest;
    for (size_t k = 0; k < slots_.size(); ++k) {
      if (slots_[k].free_at > life.first) continue;
      const Expr& bytes = slots_[k].bytes;
      if (provably_ge(bytes, life.bytes)) {
        if (!fits || provably_ge(slots_[*fits].bytes, bytes)) fits = k;
      } else if (!largest || provably_ge(bytes, slots_[*largest].bytes)) {
        largest = k;
      }
    }
    return fits ? fits : largest;
  }

  std::span<const Lifetime> buffers_;
  std::map<size_t, std::vector<size_t>> before_;
  std::vector<Slot> slots_;
  MemoryPlan result_;
};

}  // namespace

MemoryPlan plan_memory(std::span<const Lifetime> buffers, std::span<const InPlace> in_place) {
  return Planner(buffers, in_place).run();
}

}  // namespace luminal::compiler
