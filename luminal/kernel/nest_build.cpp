#include <algorithm>
#include <map>
#include <set>

#include "luminal/kernel/estimate.h"
#include "luminal/kernel/laws.h"
#include "luminal/kernel/nest.h"
#include "luminal/kernel/nest_lets.h"
#include "luminal/kernel/nest_spread.h"
#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

using Block = std::vector<Statement>;
using Done = std::set<BodyId>;

Statement loop(LoopRole role, std::vector<Expr> axes) {
  Statement statement{.kind = StatementKind::kLoop};
  statement.role = role;
  statement.axes = std::move(axes);
  return statement;
}

Statement on(StatementKind kind, size_t accumulator, BodyId value = {}) {
  Statement statement{.kind = kind};
  statement.accumulator = accumulator;
  statement.value = value;
  return statement;
}

class Builder {
 public:
  Builder(Arena& arena, const Kernel& kernel, const NestOptions& options)
      : arena_(arena), options_(options) {
    nest_.kernel = kernel;
    for (const Root& root : kernel.roots) outputs_.push_back(root.value);
    remaining_ = kernel.axes;
  }

  Nest build() {
    Block* block = &nest_.body;
    Done done;
    AxisSet scope;
    while (true) {
      run_passes(*block, scope, outputs_, done);
      const std::vector<Expr> rows = next_rows(scope, done);
      if (rows.empty()) break;
      block->push_back(loop(LoopRole::kRow, rows));
      block = &block->back().body;
      scope = union_of(scope, make_axis_set(rows));
      std::erase_if(remaining_, [&](const Expr& axis) { return contains(scope, axis); });
    }
    if (options_.interchange) interchange(*block, scope, done);
    output_loop(*block, scope, done);
    if (options_.spreads) find_spreads(arena_, nest_);
    if (options_.lets) place_lets(arena_, nest_);
    return std::move(nest_);
  }

 private:
  /// A reduction whose axes are the axes of a loop.
  struct Member {
    BodyId reduction;
    size_t accumulator;
    BodyId value;  // what is accumulated, over the axes of the loop
    bool vector = false;
  };

  /// The reductions that the values need, but for those inside of done ones; operands first.
  std::vector<BodyId> undone(std::span<const BodyId> values, const Done& done) const {
    std::vector<BodyId> result;
    std::set<BodyId> seen;
    for (BodyId value : values) collect(value, done, seen, result);
    return result;
  }

  void collect(BodyId id, const Done& done, std::set<BodyId>& seen,
               std::vector<BodyId>& result) const {
    const BodyNode& node = arena_[id];
    if (node.height == 0 || done.contains(id) || !seen.insert(id).second) return;
    for (BodyId child : node.children) collect(child, done, seen, result);
    for (BodyId value : node.index_values) collect(value, done, seen, result);
    if (node.kind == BodyKind::kReduce) result.push_back(id);
  }

  /// True if nothing below that could be computed in this scope is still missing.
  bool is_ready(BodyId id, const AxisSet& scope, const Done& done) const {
    if (!is_subset(arena_[id].free, scope)) return false;
    for (BodyId below : undone(std::span(&arena_[id].children[0], 1), done))
      if (is_subset(arena_[below].free, scope)) return false;
    return true;
  }

  bool same_extents(BodyId a, BodyId b) const {
    const std::vector<Expr>& left = arena_[a].exprs;
    const std::vector<Expr>& right = arena_[b].exprs;
    return std::equal(
        left.begin(), left.end(), right.begin(), right.end(),
        [](const Expr& x, const Expr& y) { return x.axis_extent() == y.axis_extent(); });
  }

  size_t accumulator(BodyId reduction, const std::vector<Expr>& vector_axes) {
    for (size_t k = 0; k < nest_.accumulators.size(); ++k)
      if (nest_.accumulators[k].reduction == reduction &&
          nest_.accumulators[k].vector_axes == vector_axes)
        return k;
    const BodyNode& node = arena_[reduction];
    nest_.accumulators.push_back({reduction, node.op, node.dtype, vector_axes});
    return nest_.accumulators.size() - 1;
  }

  /// Computes every reduction of the values that this scope allows, pass by pass.
  void run_passes(Block& block, const AxisSet& scope, std::span<const BodyId> values, Done& done) {
    while (true) {
      const std::vector<BodyId> missing = undone(values, done);
      std::vector<BodyId> group;
      for (BodyId id : missing)
        if (is_ready(id, scope, done) && (group.empty() || same_extents(group[0], id)))
          group.push_back(id);
      if (group.empty()) return;
      emit_pass(block, scope, group, joined_online(scope, group, missing, done), done);
    }
  }

  /// Sums that can be found together with a maximum of the group.
  struct Join {
    BodyId sum;
    BodyId max;
    bool vector;
  };
  std::vector<Join> joined_online(const AxisSet& scope, std::span<const BodyId> group,
                                  std::span<const BodyId> missing, const Done& done) {
    std::vector<Join> joins;
    if (!options_.online) return joins;
    const AxisSet with_vectors = union_of(scope, make_axis_set(vector_axes(scope)));
    for (BodyId sum : missing) {
      if (std::find(group.begin(), group.end(), sum) != group.end()) continue;
      const bool scalar = is_subset(arena_[sum].free, scope);
      if (!scalar && (!options_.interchange || !is_subset(arena_[sum].free, with_vectors)))
        continue;
      for (BodyId max : group) {
        if (!is_online_pair(arena_, max, sum) || !only_waits_for(sum, max, scope, done)) continue;
        if (options_.keep_rows && scalar && keeps_rows(sum, scope)) continue;
        joins.push_back({sum, max, !scalar});
        break;
      }
    }
    return joins;
  }

  /// Vector accumulators run over what is left of the output axes, outside of other loops only.
  std::vector<Expr> vector_axes(const AxisSet& scope) const {
    const bool inside_reduction = std::any_of(scope.begin(), scope.end(),
                                              [](const Expr& axis) { return is_bound_axis(axis); });
    return inside_reduction ? std::vector<Expr>{} : remaining_;
  }

  /// True if the maximum is the only reduction of this scope that the sum still needs.
  bool only_waits_for(BodyId sum, BodyId max, const AxisSet& scope, const Done& done) const {
    for (BodyId below : undone(std::span(&arena_[sum].children[0], 1), done))
      if (below != max && is_subset(arena_[below].free, scope) && !below_of(max, below))
        return false;
    return true;
  }
  bool below_of(BodyId top, BodyId id) const {
    const std::vector<BodyId> all = arena_.reachable(std::span(&top, 1));
    return std::find(all.begin(), all.end(), id) != all.end();
  }

  /// One loop for all of them. The axes of the highest member name it, so that renaming the others
  /// cannot be captured by loops inside.
  void emit_pass(Block& block, const AxisSet& scope, std::span<const BodyId> group,
                 std::span<const Join> joins, Done& done) {
    std::vector<BodyId> all(group.begin(), group.end());
    for (const Join& join : joins) all.push_back(join.sum);
    const BodyId highest = *std::max_element(all.begin(), all.end(), [&](BodyId a, BodyId b) {
      return arena_[a].height < arena_[b].height;
    });
    const std::vector<Expr> axes = arena_[highest].exprs;
    const std::vector<Expr> vectors = vector_axes(scope);
    std::vector<Member> members;
    for (BodyId id : all) {
      const bool vector = !is_subset(arena_[id].free, scope);
      members.push_back({id, accumulator(id, vector ? vectors : std::vector<Expr>{}),
                         renamed_child(id, axes), vector});
    }
    const Relations relations = relate(members, joins);
    for (const Member& member : members)
      block.push_back(on(StatementKind::kReset, member.accumulator));
    Statement pass = loop(LoopRole::kReduction, axes);
    pass.online = !joins.empty();
    fill_pass(pass.body, union_of(scope, make_axis_set(axes)), members, vectors, relations, done);
    if (joins.empty()) keep_rows(pass.body, scope, axes, members);
    block.push_back(std::move(pass));
    // Sums first: whether they are NaN depends on the maximum they are relative to.
    for (size_t k = members.size(); k-- > 0;)
      block.push_back(
          related(on(StatementKind::kFinish, members[k].accumulator), members[k], relations));
    for (const Member& member : members) done.insert(member.reduction);
  }

  static bool is_inside_reduction(const AxisSet& scope) {
    return std::any_of(scope.begin(), scope.end(),
                       [](const Expr& axis) { return is_bound_axis(axis); });
  }

  /// For each member relative to a maximum, that maximum's accumulator.
  using Relations = std::map<BodyId, size_t>;
  Relations relate(const std::vector<Member>& members, std::span<const Join> joins) {
    Relations relations;
    for (const Join& join : joins) {
      const auto max = std::find_if(members.begin(), members.end(), [&](const Member& member) {
        return member.reduction == join.max;
      });
      relations[join.sum] = max->accumulator;
      nest_.accumulators[max->accumulator].exponential =
          online_exponential(arena_, join.max, join.sum);
    }
    return relations;
  }

  static Statement related(Statement statement, const Member& member, const Relations& relations) {
    const auto found = relations.find(member.reduction);
    if (found != relations.end()) statement.rescale_by = found->second;
    return statement;
  }

  BodyId renamed_child(BodyId id, const std::vector<Expr>& axes) {
    const BodyNode& node = arena_[id];
    std::vector<symbolic::Binding> bindings;
    for (size_t k = 0; k < axes.size(); ++k)
      if (node.exprs[k] != axes[k]) bindings.push_back({node.exprs[k], axes[k]});
    return arena_.substitute(node.children[0], bindings);
  }

  /// The inside of a pass: what members need, then the members, those relative to a maximum after
  /// it. What is computed here is forgotten when the loop closes.
  void fill_pass(Block& block, const AxisSet& scope, const std::vector<Member>& members,
                 const std::vector<Expr>& vectors, const Relations& relations, Done done) {
    std::set<BodyId> maxima;
    for (const auto& [sum, max] : relations) maxima.insert(nest_.accumulators[max].reduction);
    done.insert(maxima.begin(), maxima.end());
    std::vector<BodyId> scalars, vector_values;
    for (const Member& member : members)
      (member.vector ? vector_values : scalars).push_back(member.value);
    std::vector<BodyId> values = scalars;
    values.insert(values.end(), vector_values.begin(), vector_values.end());
    run_passes(block, scope, values, done);
    for (const Member& member : members)
      if (maxima.contains(member.reduction))
        block.push_back(on(StatementKind::kOnlineStep, member.accumulator, member.value));
    const auto accumulate = [&](const Member& member) {
      return related(on(StatementKind::kAccumulate, member.accumulator, member.value), member,
                     relations);
    };
    for (const Member& member : members)
      if (!member.vector && !maxima.contains(member.reduction)) block.push_back(accumulate(member));
    if (vector_values.empty()) return;
    Statement inner = loop(LoopRole::kVector, vectors);
    run_passes(inner.body, union_of(scope, make_axis_set(vectors)), vector_values, done);
    for (const Member& member : members)
      if (member.vector) inner.body.push_back(accumulate(member));
    block.push_back(std::move(inner));
  }

  /// The output axes on which the next reductions depend, if they are fewer than all that remain.
  std::vector<Expr> next_rows(const AxisSet& scope, const Done& done) const {
    const AxisSet open = union_of(scope, make_axis_set(remaining_));
    std::optional<AxisSet> smallest;
    for (BodyId id : undone(outputs_, done)) {
      if (!is_subset(arena_[id].free, open)) continue;
      const AxisSet needed = difference(arena_[id].free, scope);
      if (needed.empty() || needed.size() >= remaining_.size()) continue;
      if (!smallest || needed.size() < smallest->size()) smallest = needed;
    }
    if (!smallest) return {};
    std::vector<Expr> rows;
    for (const Expr& axis : remaining_)
      if (contains(*smallest, axis)) rows.push_back(axis);
    return rows;
  }

  /// A reduction over the remaining axes that needs, for each of its elements, another reduction
  /// which does not depend on those axes: its loop goes outside, with an accumulator per element.
  void interchange(Block& block, const AxisSet& scope, Done& done) {
    const AxisSet inner = make_axis_set(remaining_);
    if (inner.empty()) return;
    while (true) {
      std::vector<BodyId> group;
      for (BodyId id : undone(outputs_, done)) {
        const AxisSet open = union_of(scope, inner);
        if (!is_subset(arena_[id].free, open) || !is_subset(inner, arena_[id].free)) continue;
        if (!group.empty() && !same_extents(group[0], id)) continue;
        if (wants_interchange(id, inner, open, done)) group.push_back(id);
      }
      if (group.empty()) return;
      emit_pass(block, scope, group, {}, done);
    }
  }

  bool wants_interchange(BodyId id, const AxisSet& inner, const AxisSet& open,
                         const Done& done) const {
    const AxisSet bound = make_axis_set(arena_[id].exprs);
    bool wanted = false;
    for (BodyId below : undone(std::span(&arena_[id].children[0], 1), done)) {
      if (is_subset(arena_[below].free, open)) return false;  // would have to be a pass of its own
      wanted = wanted ||
               (!intersects(arena_[below].free, inner) && intersects(arena_[below].free, bound));
    }
    return wanted;
  }

  void output_loop(Block& block, const AxisSet& scope, Done& done) {
    Block* inside = &block;
    if (!remaining_.empty()) {
      block.push_back(loop(LoopRole::kOutput, remaining_));
      inside = &block.back().body;
    }
    const std::vector<Expr> opened = remaining_;
    remaining_.clear();  // no vector accumulators from here on
    run_passes(*inside, union_of(scope, make_axis_set(opened)), outputs_, done);
    for (size_t k = 0; k < nest_.kernel.roots.size(); ++k) {
      Statement store{.kind = StatementKind::kStore};
      store.root = k;
      store.value = nest_.kernel.roots[k].value;
      inside->push_back(std::move(store));
    }
  }

  /// The largest costly values below `id` that use the axis, and their twins over `read_axis` that
  /// the outputs need.
  std::vector<RowBuffer> buffers_for(BodyId value, const Expr& axis, const Expr& read_axis) {
    std::vector<RowBuffer> found;
    const std::vector<BodyId> needed = arena_.reachable(outputs_);
    const std::vector<BodyId> below = arena_.reachable(std::span(&value, 1));
    for (size_t k = below.size(); k-- > 0;) {
      const BodyNode node = arena_[below[k]];
      if (node.kind != BodyKind::kOp || !is_function(node.op) || !contains(node.free, axis))
        continue;
      const bool nested = std::any_of(found.begin(), found.end(), [&](const RowBuffer& buffer) {
        return below_of(buffer.written, below[k]);
      });
      if (nested) continue;
      if (std::any_of(node.free.begin(), node.free.end(),
                      [&](const Expr& other) { return is_bound_axis(other) && other != axis; }))
        continue;
      const symbolic::Binding binding{axis, read_axis};
      const BodyId read = arena_.substitute(below[k], std::span(&binding, 1));
      if (std::find(needed.begin(), needed.end(), read) != needed.end())
        found.push_back({below[k], axis, read, read_axis});
    }
    return found;
  }

  bool fits_row(const AxisSet& scope, const std::vector<Expr>& axes) const {
    return !is_inside_reduction(scope) && remaining_.size() == 1 && axes.size() == 1 &&
           remaining_[0].axis_extent() == axes[0].axis_extent();
  }

  bool keeps_rows(BodyId sum, const AxisSet& scope) {
    const BodyNode node = arena_[sum];
    return fits_row(scope, node.exprs) &&
           !buffers_for(node.children[0], node.exprs[0], remaining_[0]).empty();
  }

  void keep_rows(Block& block, const AxisSet& scope, const std::vector<Expr>& axes,
                 const std::vector<Member>& members) {
    if (!options_.keep_rows || !fits_row(scope, axes)) return;
    for (const Member& member : members) {
      if (member.vector) continue;
      for (const RowBuffer& buffer : buffers_for(member.value, axes[0], remaining_[0])) {
        const bool known =
            std::any_of(nest_.buffers.begin(), nest_.buffers.end(),
                        [&](const RowBuffer& other) { return other.read == buffer.read; });
        if (known) continue;
        nest_.buffers.push_back(buffer);
        Statement keep{.kind = StatementKind::kKeep};
        keep.buffer = nest_.buffers.size() - 1;
        keep.value = buffer.written;
        block.push_back(std::move(keep));
      }
    }
  }

  Arena& arena_;
  NestOptions options_;
  Nest nest_;
  std::vector<BodyId> outputs_;
  std::vector<Expr> remaining_;
};

}  // namespace

std::optional<size_t> Nest::accumulator_of(BodyId reduction) const {
  for (size_t k = 0; k < accumulators.size(); ++k)
    if (accumulators[k].reduction == reduction) return k;
  return std::nullopt;
}

Nest build_nest(Arena& arena, const Kernel& kernel, const NestOptions& options) {
  return Builder(arena, kernel, options).build();
}

}  // namespace luminal::kernel
