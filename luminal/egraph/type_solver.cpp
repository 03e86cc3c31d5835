#include "luminal/egraph/type_solver.h"

#include <algorithm>

namespace luminal::egraph {

uint32_t TypeSolver::fresh(SortId sort) {
  types_.push_back(sort);
  return static_cast<uint32_t>(types_.size() - 1);
}

void TypeSolver::add_call(TypedExpr& node, Place place, bool tables_only) {
  Call call{&node, {}, false};
  const std::string& name = node.source->name;
  const FunctionId function = db_.find_function(name);
  if (function != kNone) call.alternatives.push_back({true, function});
  if (!tables_only) {
    for (uint32_t id : db_.primitives.overloads(name))
      if (allowed(db_.primitives[id].access, place)) call.alternatives.push_back({false, id});
  }
  if (call.alternatives.empty()) throw type_error(node.source->span, "Unbound function {}", name);
  calls_.push_back(std::move(call));
}

void TypeSolver::add_equality(uint32_t a, uint32_t b, const Expr& where) {
  equalities_.push_back({a, b, &where});
}

bool TypeSolver::assign(uint32_t variable, SortId sort) {
  if (types_[variable] != kNone) return false;
  types_[variable] = sort;
  return true;
}

bool TypeSolver::possible(const Call& call, const Alternative& alternative) const {
  const TypedExpr& node = *call.node;
  if (!alternative.is_function) return possible(node, db_.primitives[alternative.id].signature);
  const Function& function = db_.functions[alternative.id];
  if (function.inputs.size() != node.args.size()) return false;
  for (size_t i = 0; i < node.args.size(); ++i)
    if (!fits(node.args[i].type_variable, function.inputs[i])) return false;
  return fits(node.type_variable, function.output);
}

bool TypeSolver::possible_same(const TypedExpr& node, const Signature& signature) const {
  if (node.args.size() != signature.count) return false;
  SortId common = signature.output == kNone ? out_type(node) : kNone;
  for (const TypedExpr& arg : node.args) {
    if (common == kNone) common = types_[arg.type_variable];
    if (common != kNone && !fits(arg.type_variable, common)) return false;
  }
  return signature.output == kNone || fits(node.type_variable, signature.output);
}

bool TypeSolver::possible(const TypedExpr& node, const Signature& signature) const {
  using Shape = Signature::Shape;
  if (signature.shape == Shape::kSame) return possible_same(node, signature);
  if (!fits(node.type_variable, signature.output)) return false;
  if (signature.shape == Shape::kMakeFn) return named_target(node, signature.output).found;
  const size_t period = signature.inputs.size();
  if (signature.shape == Shape::kFixed && node.args.size() != period) return false;
  if (signature.shape == Shape::kPairs && node.args.size() % 2 != 0) return false;
  for (size_t i = 0; i < node.args.size(); ++i)
    if (!fits(node.args[i].type_variable, signature.inputs[i % period])) return false;
  return true;
}

std::optional<std::vector<SortId>> TypeSolver::completed(const Primitive& primitive,
                                                         const std::vector<SortId>& inputs,
                                                         SortId output) const {
  using Shape = Signature::Shape;
  const Signature& signature = primitive.signature;
  std::vector<SortId> wanted;
  SortId result = signature.output;
  if (signature.shape == Shape::kFixed) {
    wanted = signature.inputs;
  } else if (signature.shape == Shape::kVariadic) {
    wanted.assign(inputs.size(), signature.inputs[0]);
  } else if (signature.shape == Shape::kSame) {
    if (result == kNone) result = output;
    SortId common = signature.output == kNone ? output : kNone;
    for (const SortId sort : inputs)
      if (common == kNone) common = sort;
    wanted.assign(signature.count, common);
  } else {
    return std::nullopt;
  }
  if (result != output || wanted.size() != inputs.size()) return std::nullopt;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] != kNone && inputs[i] != wanted[i]) return std::nullopt;
  return wanted;
}

TypeSolver::NamedTarget TypeSolver::named_target(const TypedExpr& node, SortId fn) const {
  NamedTarget result;
  if (node.args.empty() || node.args[0].kind != TypedExpr::Kind::kLiteral ||
      types_[node.args[0].type_variable] != kStringSort)
    return result;
  const std::string& name = std::get<std::string>(node.args[0].source->literal);
  const std::vector<SortId>& arrow = db_.sorts[fn].args;
  const size_t partial = node.args.size() - 1;
  FunctionTarget& target = result.target;
  target.name = name;
  target.output = arrow.back();
  if (const FunctionId id = db_.find_function(name); id != kNone) {
    const Function& function = db_.functions[id];
    // A relation may serve as a predicate: its value is its presence.
    const bool predicate = function.kind == FunctionKind::kRelation && arrow.back() == kUnitSort;
    bool matches = (function.output == arrow.back() || predicate) &&
                   function.inputs.size() == partial + arrow.size() - 1;
    for (size_t i = 0; matches && i < function.inputs.size(); ++i)
      matches = i < partial ? fits(node.args[i + 1].type_variable, function.inputs[i])
                            : function.inputs[i] == arrow[i - partial];
    if (matches) {
      target.function = id;
      target.inputs = function.inputs;
      result.found = true;
      return result;
    }
  }
  std::vector<SortId> inputs;
  for (size_t i = 0; i < partial; ++i) inputs.push_back(types_[node.args[i + 1].type_variable]);
  inputs.insert(inputs.end(), arrow.begin(), arrow.end() - 1);
  for (uint32_t id : db_.primitives.overloads(name)) {
    const auto all = completed(db_.primitives[id], inputs, arrow.back());
    if (!all) continue;
    if (!result.found) {
      target.primitive = id;
      target.inputs = *all;
      result.found = true;
    }
    // Several overloads may fit while the sort of an argument is open: it stays open then.
    for (size_t i = 0; i < inputs.size(); ++i)
      if (target.inputs[i] != (*all)[i]) target.inputs[i] = kNone;
  }
  return result;
}

bool TypeSolver::apply_signature(TypedExpr& node, const Signature& signature) {
  using Shape = Signature::Shape;
  bool changed = false;
  if (signature.shape == Shape::kSame) {
    SortId common = signature.output == kNone ? out_type(node) : kNone;
    for (const TypedExpr& arg : node.args)
      if (common == kNone) common = types_[arg.type_variable];
    if (common != kNone)
      for (const TypedExpr& arg : node.args) changed |= assign(arg.type_variable, common);
    const SortId output = signature.output == kNone ? common : signature.output;
    if (output != kNone) changed |= assign(node.type_variable, output);
    return changed;
  }
  changed |= assign(node.type_variable, signature.output);
  if (signature.shape == Shape::kMakeFn) {
    const NamedTarget named = named_target(node, signature.output);
    for (size_t i = 1; named.found && i < node.args.size(); ++i)
      if (const SortId sort = named.target.inputs[i - 1]; sort != kNone)
        changed |= assign(node.args[i].type_variable, sort);
    return changed;
  }
  const size_t period = signature.inputs.size();
  for (size_t i = 0; i < node.args.size(); ++i)
    changed |= assign(node.args[i].type_variable, signature.inputs[i % period]);
  return changed;
}

bool TypeSolver::apply(Call& call, const Alternative& alternative) {
  TypedExpr& node = *call.node;
  if (!alternative.is_function)
    return apply_signature(node, db_.primitives[alternative.id].signature);
  const Function& function = db_.functions[alternative.id];
  bool changed = assign(node.type_variable, function.output);
  for (size_t i = 0; i < node.args.size(); ++i)
    changed |= assign(node.args[i].type_variable, function.inputs[i]);
  return changed;
}

bool TypeSolver::step(Call& call) {
  std::vector<Alternative> left;
  for (const Alternative& alternative : call.alternatives)
    if (possible(call, alternative)) left.push_back(alternative);
  if (left.empty()) fail(call, call.alternatives);
  bool changed = left.size() != call.alternatives.size();
  call.alternatives = std::move(left);
  if (call.alternatives.size() != 1) return changed;
  changed |= apply(call, call.alternatives[0]);
  bool complete = types_[call.node->type_variable] != kNone;
  for (const TypedExpr& arg : call.node->args) complete &= types_[arg.type_variable] != kNone;
  call.resolved = complete;
  return changed;
}

bool TypeSolver::step(const Equality& equality) {
  const SortId a = types_[equality.a], b = types_[equality.b];
  if (a == kNone && b == kNone) return false;
  if (a == kNone) return assign(equality.a, b);
  if (b == kNone) return assign(equality.b, a);
  if (a != b)
    throw type_error(equality.where->span, " Expect expression {} to have type {}, but get type {}",
                     as_written(*equality.where), db_.sorts.name(a), db_.sorts.name(b));
  return false;
}

void TypeSolver::solve() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (Call& call : calls_)
      if (!call.resolved) changed |= step(call);
    for (const Equality& equality : equalities_) changed |= step(equality);
  }
  for (Call& call : calls_) {
    if (!call.resolved)
      throw type_error(call.node->source->span, "Failed to infer a type for: {}",
                       as_written(*call.node->source));
    // Types that became known after the call was settled may contradict it.
    if (!possible(call, call.alternatives[0])) fail(call, call.alternatives);
  }
  for (Call& call : calls_) finish(call);
}

void TypeSolver::finish(Call& call) {
  TypedExpr& node = *call.node;
  const Alternative& chosen = call.alternatives[0];
  node.kind = chosen.is_function ? TypedExpr::Kind::kFunction : TypedExpr::Kind::kPrimitive;
  if (chosen.is_function) {
    node.target = chosen.id;
    return;
  }
  const Signature& signature = db_.primitives[chosen.id].signature;
  if (signature.shape == Signature::Shape::kMakeFn) {
    make_function_value(node, signature.output);
  } else {
    node.primitive = db_.primitives.shared(chosen.id);
  }
}

void TypeSolver::make_function_value(TypedExpr& node, SortId fn) {
  const uint32_t target = db_.containers.add_target(named_target(node, fn).target);
  auto primitive = std::make_shared<Primitive>();
  primitive->name = "unstable-fn";
  primitive->body = [fn, target](Evaluator& eval, std::span<const Value> args) {
    std::vector<Value> words{target};
    words.insert(words.end(), args.begin(), args.end());
    return eval.containers.intern(fn, std::move(words), eval.ids);
  };
  node.primitive = std::move(primitive);
  node.args.erase(node.args.begin());  // the name is part of the primitive now
}

std::string TypeSolver::complaint(const Call& call, const Alternative& alternative) const {
  const TypedExpr& node = *call.node;
  std::vector<SortId> inputs;
  SortId output = kNone;
  if (alternative.is_function) {
    inputs = db_.functions[alternative.id].inputs;
    output = db_.functions[alternative.id].output;
  } else {
    const Signature& signature = db_.primitives[alternative.id].signature;
    output = signature.output;
    const bool open = signature.shape == Signature::Shape::kVariadic ||
                      signature.shape == Signature::Shape::kPairs;
    const size_t count = open ? node.args.size() : signature.inputs.size();
    for (size_t i = 0; i < count; ++i)
      inputs.push_back(signature.inputs[i % signature.inputs.size()]);
    if (signature.shape == Signature::Shape::kSame) inputs.assign(signature.count, kNone);
    if (signature.shape == Signature::Shape::kMakeFn) {
      return fmt::format("{}\nNo function of that name fits type {}: {}",
                         node.source->span.describe(), db_.sorts.name(output),
                         as_written(*node.source));
    }
  }
  if (inputs.size() != node.args.size()) {
    return fmt::format("{}\nArity mismatch, expected {} args: {}", node.source->span.describe(),
                       inputs.size(), as_written(*node.source));
  }
  const auto mismatch = [&](const TypedExpr& part, SortId expected) {
    return fmt::format("{}\n Expect expression {} to have type {}, but get type {}",
                       part.source->span.describe(), as_written(*part.source),
                       db_.sorts.name(expected), db_.sorts.name(types_[part.type_variable]));
  };
  SortId common = kNone;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == kNone) inputs[i] = common;
    if (inputs[i] == kNone) common = types_[node.args[i].type_variable];
    if (inputs[i] != kNone && !fits(node.args[i].type_variable, inputs[i]))
      return mismatch(node.args[i], inputs[i]);
  }
  return mismatch(node, output);
}

void TypeSolver::fail(const Call& call, const std::vector<Alternative>& tried) const {
  if (tried.size() == 1) throw ProgramError(ProgramError::Kind::kType, complaint(call, tried[0]));
  std::string text = "All alternative definitions considered failed";
  for (const Alternative& alternative : tried) text += "\n  " + complaint(call, alternative);
  throw ProgramError(ProgramError::Kind::kType, text);
}

}  // namespace luminal::egraph
