#include "luminal/kernel/body.h"

#include <algorithm>
#include <unordered_set>

#include "luminal/support/check.h"

namespace luminal::kernel {
namespace {

uint64_t hash_of(const BodyNode& node) {
  support::Hasher hasher;
  hasher.add(node.kind).add(node.op).add(node.dtype).add(node.tensor.value);
  for (const Expr& expr : node.exprs) hasher.add(expr.hash());
  for (BodyId child : node.children) hasher.add(child.value);
  if (node.kind == BodyKind::kConstant) node.constant.add_to(hasher);
  return hasher.finish64();
}

bool same_content(const BodyNode& a, const BodyNode& b) {
  return a.kind == b.kind && a.op == b.op && a.dtype == b.dtype && a.tensor == b.tensor &&
         a.exprs == b.exprs && a.children == b.children &&
         (a.kind != BodyKind::kConstant || a.constant == b.constant);
}

void add_splits(std::vector<WantedSplit>& into, std::span<const WantedSplit> splits) {
  for (const WantedSplit& split : splits)
    if (std::find(into.begin(), into.end(), split) == into.end()) into.push_back(split);
}

/// The binding of an axis, if there is one.
const symbolic::Binding* find(Bindings bindings, const Expr& axis) {
  for (const symbolic::Binding& binding : bindings)
    if (binding.symbol == axis) return &binding;
  return nullptr;
}

}  // namespace

void Arena::declare_tensor(NodeId id, const TensorType& type) { tensors_.emplace(id, type); }

const TensorType& Arena::tensor(NodeId id) const {
  const auto found = tensors_.find(id);
  LUMINAL_CHECK(found != tensors_.end(), "tensor {} was not declared", id.value);
  return found->second;
}

void Arena::derive_facts(BodyNode& node) const {
  AxisSet free;
  for (const Expr& expr : node.exprs) {
    for (const Expr& axis : expr.axes()) {
      if (!is_value_axis(axis)) {
        free.push_back(axis);
        continue;
      }
      const BodyId value = body_of_value(axis);
      if (std::find(node.index_values.begin(), node.index_values.end(), value) ==
          node.index_values.end())
        node.index_values.push_back(value);
    }
    if (node.kind != BodyKind::kReduce) add_splits(node.splits, wanted_splits(expr));
    if (node.kind == BodyKind::kWhere) add_splits(node.splits, wanted_test_splits(expr));
  }
  const auto add = [&](BodyId id) {
    const BodyNode& part = nodes_[id.value];
    free.insert(free.end(), part.free.begin(), part.free.end());
    node.height = std::max(node.height, part.height);
    add_splits(node.splits, part.splits);
  };
  for (BodyId child : node.children) add(child);
  for (BodyId value : node.index_values) add(value);
  node.free = make_axis_set(free);
  if (node.kind != BodyKind::kReduce) return;
  node.height += 1;
  node.free = difference(node.free, make_axis_set(node.exprs));
  std::erase_if(node.splits, [&](const WantedSplit& split) {
    return std::find(node.exprs.begin(), node.exprs.end(), split.axis) != node.exprs.end();
  });
}

BodyId Arena::intern(BodyNode node) {
  std::vector<BodyId>& bucket = index_[hash_of(node)];
  for (BodyId id : bucket)
    if (same_content(nodes_[id.value], node)) return id;
  derive_facts(node);
  const BodyId id{static_cast<uint32_t>(nodes_.size())};
  nodes_.push_back(std::move(node));
  bucket.push_back(id);
  return id;
}

BodyId Arena::load(NodeId tensor, std::vector<Expr> index) {
  const TensorType& type = this->tensor(tensor);
  LUMINAL_CHECK(index.size() == type.shape.size());
  return intern(
      {.kind = BodyKind::kLoad, .dtype = type.dtype, .tensor = tensor, .exprs = std::move(index)});
}

BodyId Arena::constant(const Scalar& value) {
  return intern({.kind = BodyKind::kConstant, .dtype = value.dtype(), .constant = value});
}

BodyId Arena::iota(const Expr& value, DType dtype) {
  if (const auto number = value.constant_value()) return constant(Scalar::of(dtype, *number));
  Expr expr = value;
  if (is_bool(dtype) && (value.bounds().lo < 0 || value.bounds().hi > 1))
    expr = symbolic::not_equal(value, 0);
  return intern({.kind = BodyKind::kIota, .dtype = dtype, .exprs = {expr}});
}

BodyId Arena::op(Op op, DType dtype, std::vector<BodyId> children) {
  LUMINAL_CHECK(graph::is_elementwise(op), "{} is not elementwise", graph::name(op));
  if (op == Op::kCopy || (op == Op::kCast && node(children[0]).dtype == dtype)) return children[0];
  if (const auto folded = fold_iotas(op, dtype, children)) return *folded;
  if (op == Op::kSelect) {
    if (const auto condition = as_expression(children[0]))
      return where({*condition}, children[1], children[2]);
  }
  if (graph::info(op).commutative && children[1] < children[0]) std::swap(children[0], children[1]);
  return intern({.kind = BodyKind::kOp, .op = op, .dtype = dtype, .children = std::move(children)});
}

BodyId Arena::settled(BodyId id, std::span<const Expr> conditions, bool hold) const {
  // Only one condition says anything where the conjunction fails.
  if (!hold && conditions.size() != 1) return id;
  const BodyNode& node = nodes_[id.value];
  if (node.kind != BodyKind::kWhere) return id;
  const auto holds = [&](const Expr& condition) {
    if (hold) return std::find(conditions.begin(), conditions.end(), condition) != conditions.end();
    return condition == symbolic::logical_not(conditions[0]);
  };
  const auto fails = [&](const Expr& condition) {
    if (!hold) return condition == conditions[0];
    return std::any_of(conditions.begin(), conditions.end(), [&](const Expr& settled) {
      return condition == symbolic::logical_not(settled);
    });
  };
  if (std::any_of(node.exprs.begin(), node.exprs.end(), fails))
    return settled(node.children[1], conditions, hold);
  if (std::all_of(node.exprs.begin(), node.exprs.end(), holds))
    return settled(node.children[0], conditions, hold);
  return id;
}

BodyId Arena::where(const std::vector<Expr>& conditions, BodyId then, BodyId otherwise) {
  std::vector<Expr> tests;
  for (const Expr& condition : conditions) {
    for (const Expr& conjunct : conjuncts(condition)) {
      const Expr test = simplified_test(conjunct);
      if (test.is_constant(0)) return otherwise;
      if (!test.is_constant()) tests.push_back(test);
    }
  }
  if (tests.empty()) return then;
  const auto by_structure = [](const Expr& a, const Expr& b) { return compare(a, b) < 0; };
  then = settled(then, tests, true);
  otherwise = settled(otherwise, tests, false);
  // Padding of padding with one fill is one test.
  const BodyNode& inner = node(then);
  if (inner.kind == BodyKind::kWhere && inner.children[1] == otherwise) {
    tests.insert(tests.end(), inner.exprs.begin(), inner.exprs.end());
    then = inner.children[0];
  }
  std::sort(tests.begin(), tests.end(), by_structure);
  tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
  if (then == otherwise) return then;
  return intern({.kind = BodyKind::kWhere,
                 .dtype = node(then).dtype,
                 .exprs = std::move(tests),
                 .children = {then, otherwise}});
}

BodyId Arena::with_children(BodyId id, std::vector<BodyId> children) {
  const BodyNode copy = node(id);
  if (children == copy.children) return id;
  switch (copy.kind) {
    case BodyKind::kOp:
      return op(copy.op, copy.dtype, std::move(children));
    case BodyKind::kWhere:
      return where(copy.exprs, children[0], children[1]);
    case BodyKind::kReduce:
      return reduce(copy.op, copy.exprs, children[0]);
    default:
      return id;
  }
}

Expr Arena::substitute(const Expr& expr, Bindings bindings) {
  Memo memo;
  return substitute(expr, bindings, memo);
}

Expr Arena::substitute(const Expr& expr, Bindings bindings, Memo& memo) {
  std::vector<symbolic::Binding> local;
  for (const Expr& axis : std::vector<Expr>(expr.axes())) {
    if (is_value_axis(axis)) {
      const BodyId before = body_of_value(axis);
      const BodyId after = substitute(before, bindings, memo);
      if (after != before) local.push_back({axis, index_value(after, axis.axis_extent())});
    } else if (const symbolic::Binding* binding = find(bindings, axis)) {
      local.push_back(*binding);
    }
  }
  return local.empty() ? expr : symbolic::substitute(expr, local);
}

BodyId Arena::substitute(BodyId id, Bindings bindings) {
  Memo memo;
  return substitute(id, bindings, memo);
}

BodyId Arena::substitute(BodyId id, Bindings bindings, Memo& memo) {
  const AxisSet& free = node(id).free;
  const bool touched = std::any_of(bindings.begin(), bindings.end(), [&](const auto& binding) {
    return contains(free, binding.symbol);
  });
  if (!touched) return id;
  if (const auto found = memo.find(id.value); found != memo.end()) return found->second;
  const BodyNode copy = node(id);
  std::vector<Expr> exprs = copy.exprs;
  if (copy.kind == BodyKind::kReduce) {
    for (const symbolic::Binding& binding : bindings)
      for (const Expr& axis : copy.exprs)
        LUMINAL_CHECK(!contains(free, binding.symbol) || !binding.value.depends_on(axis),
                      "axis {} would be captured", axis);
  } else {
    for (Expr& expr : exprs) expr = substitute(expr, bindings, memo);
  }
  std::vector<BodyId> children;
  for (BodyId child : copy.children) children.push_back(substitute(child, bindings, memo));
  BodyId result;
  switch (copy.kind) {
    case BodyKind::kLoad:
      result = load(copy.tensor, std::move(exprs));
      break;
    case BodyKind::kConstant:
      result = id;
      break;
    case BodyKind::kIota:
      result = iota(exprs[0], copy.dtype);
      break;
    case BodyKind::kOp:
      result = op(copy.op, copy.dtype, std::move(children));
      break;
    case BodyKind::kWhere:
      result = where(exprs, children[0], children[1]);
      break;
    case BodyKind::kReduce:
      result = reduce(copy.op, std::move(exprs), children[0]);
      break;
  }
  memo.emplace(id.value, result);
  return result;
}

std::vector<BodyId> Arena::reachable(std::span<const BodyId> roots) const {
  std::vector<BodyId> order;
  std::unordered_set<uint32_t> seen;
  std::vector<std::pair<BodyId, bool>> pending;
  for (size_t k = roots.size(); k-- > 0;) pending.push_back({roots[k], false});
  while (!pending.empty()) {
    const auto [id, done] = pending.back();
    pending.pop_back();
    if (done) {
      order.push_back(id);
      continue;
    }
    if (!seen.insert(id.value).second) continue;
    pending.push_back({id, true});
    const BodyNode& node = nodes_[id.value];
    for (size_t k = node.index_values.size(); k-- > 0;)
      pending.push_back({node.index_values[k], false});
    for (size_t k = node.children.size(); k-- > 0;) pending.push_back({node.children[k], false});
  }
  return order;
}

Expr work_of(const Arena& arena, const Kernel& kernel) {
  Expr points = static_cast<int64_t>(kernel.roots.size());
  for (const Expr& axis : kernel.axes) points = points * axis.axis_extent();
  Expr total = points;
  std::vector<BodyId> roots;
  for (const Root& root : kernel.roots) roots.push_back(root.value);
  for (const BodyId id : arena.reachable(roots)) {
    const BodyNode& node = arena[id];
    if (node.kind != BodyKind::kReduce) continue;
    Expr work = 1;
    for (const Expr& axis : arena[node.children[0]].free) work = work * axis.axis_extent();
    total = total + work;
  }
  return total;
}

}  // namespace luminal::kernel
