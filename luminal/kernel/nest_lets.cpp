#include "luminal/kernel/nest_lets.h"

#include <map>
#include <set>

namespace luminal::kernel {
namespace {

using Block = std::vector<Statement>;

class Placer {
 public:
  Placer(const Arena& arena, Nest& nest) : arena_(arena), nest_(nest) {
    for (const RowBuffer& buffer : nest.buffers) leaves_.insert(buffer.read);
  }

  /// `available`: reductions whose values may be read when the block begins.
  void place(Block& block, const AxisSet& scope, std::set<BodyId> available) {
    std::map<BodyId, Use> uses;
    std::vector<std::set<BodyId>> before(block.size());
    for (size_t k = 0; k < block.size(); ++k) {
      before[k] = available;
      note_effect(block[k], available);
    }
    std::set<BodyId> seen;
    for (size_t k = 0; k < block.size(); ++k) count(block[k], k, scope, before[k], seen, uses);
    std::vector<std::vector<BodyId>> lets(block.size());
    for (const auto& [id, use] : uses)
      if (use.hoisted || use.count > 1) lets[use.first].push_back(id);
    for (size_t k = 0; k < block.size(); ++k) {
      leaves_.insert(lets[k].begin(), lets[k].end());
      if (block[k].kind == StatementKind::kUnless) place(block[k].body, scope, before[k]);
      if (block[k].kind != StatementKind::kLoop) continue;
      std::set<BodyId> inside = before[k];
      forget_partial(block[k].body, inside);
      place(block[k].body, union_of(scope, make_axis_set(block[k].axes)), std::move(inside));
    }
    Block result;
    for (size_t k = 0; k < block.size(); ++k) {
      for (BodyId id : lets[k]) {  // a map's order: operands have smaller ids
        Statement let{.kind = StatementKind::kLet};
        let.value = id;
        result.push_back(std::move(let));
        leaves_.erase(id);
      }
      result.push_back(std::move(block[k]));
    }
    block = std::move(result);
  }

 private:
  struct Use {
    size_t first = 0;      // the first statement that needs it and before which it can be computed
    int count = 0;         // uses from there on
    bool hoisted = false;  // is needed inside of a loop that it does not depend on
  };

  void note_effect(const Statement& statement, std::set<BodyId>& available) const {
    const bool completes =
        statement.kind == StatementKind::kFinish || statement.kind == StatementKind::kOnlineStep;
    if (completes) available.insert(nest_.accumulators[statement.accumulator].reduction);
    if (statement.kind == StatementKind::kReset)
      available.erase(nest_.accumulators[statement.accumulator].reduction);
    for (const auto& [accumulator, value] : statement.shortcuts)
      available.insert(nest_.accumulators[accumulator].reduction);
  }

  /// Reductions that a loop is in the middle of, or computes inside, are not known when it begins.
  void forget_partial(const Block& block, std::set<BodyId>& available) const {
    for (const Statement& statement : block) {
      if (statement.kind == StatementKind::kLoop) forget_partial(statement.body, available);
      if (statement.kind == StatementKind::kAccumulate || statement.kind == StatementKind::kReset ||
          statement.kind == StatementKind::kOnlineStep)
        available.erase(nest_.accumulators[statement.accumulator].reduction);
    }
  }

  bool is_ready(BodyId id, const AxisSet& scope, const std::set<BodyId>& available) {
    if (!is_subset(arena_[id].free, scope)) return false;
    for (BodyId reduction : reductions(id))
      if (!available.contains(reduction)) return false;
    return true;
  }

  /// The reductions a value reads (not those inside of them).
  const std::set<BodyId>& reductions(BodyId id) {
    if (const auto found = reductions_.find(id); found != reductions_.end()) return found->second;
    std::set<BodyId> result;
    const BodyNode& node = arena_[id];
    if (node.kind == BodyKind::kReduce) {
      result.insert(id);
    } else if (node.height > 0) {
      for (BodyId child : node.children) result.merge(std::set<BodyId>(reductions(child)));
      for (BodyId value : node.index_values) result.merge(std::set<BodyId>(reductions(value)));
    }
    return reductions_.emplace(id, std::move(result)).first->second;
  }

  /// `seen`: values of plain statements of this block; what is below one is counted once. What a
  /// loop needs is looked at again, since more may be known by then.
  void count(const Statement& statement, size_t position, const AxisSet& scope,
             const std::set<BodyId>& available, std::set<BodyId>& seen,
             std::map<BodyId, Use>& uses) {
    if (statement.kind != StatementKind::kLoop) {
      visit(statement.value, position, false, scope, available, seen, uses);
      for (const auto& [accumulator, value] : statement.shortcuts)
        visit(value, position, false, scope, available, seen, uses);
      return;
    }
    std::set<BodyId> known = available;
    forget_partial(statement.body, known);
    std::set<BodyId> seen_inside;
    count_inside(statement.body, position, scope, known, seen_inside, uses);
  }

  void count_inside(const Block& block, size_t position, const AxisSet& scope,
                    const std::set<BodyId>& available, std::set<BodyId>& seen,
                    std::map<BodyId, Use>& uses) {
    for (const Statement& statement : block) {
      if (statement.kind == StatementKind::kLoop)
        count_inside(statement.body, position, scope, available, seen, uses);
      else
        visit(statement.value, position, true, scope, available, seen, uses);
    }
  }

  void visit(BodyId id, size_t position, bool inside_loop, const AxisSet& scope,
             const std::set<BodyId>& available, std::set<BodyId>& seen,
             std::map<BodyId, Use>& uses) {
    if (id == BodyId{} || leaves_.contains(id)) return;
    const BodyNode& node = arena_[id];
    if (node.kind == BodyKind::kReduce) return;
    const bool first_visit = seen.insert(id).second;
    if (node.kind == BodyKind::kOp || node.kind == BodyKind::kWhere) {
      const bool ready = is_ready(id, scope, available);
      if (ready) {
        Use& use = uses[id];
        if (use.count++ == 0) use.first = position;
        if (inside_loop) {
          use.hoisted = true;
          return;
        }
      }
    }
    if (!first_visit) return;
    for (BodyId child : node.children)
      visit(child, position, inside_loop, scope, available, seen, uses);
    for (BodyId value : node.index_values)
      visit(value, position, inside_loop, scope, available, seen, uses);
  }

  const Arena& arena_;
  Nest& nest_;
  std::set<BodyId> leaves_;
  std::map<BodyId, std::set<BodyId>> reductions_;
};

}  // namespace

void place_lets(const Arena& arena, Nest& nest) { Placer(arena, nest).place(nest.body, {}, {}); }

}  // namespace luminal::kernel
