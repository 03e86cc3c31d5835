// The built-in primitives by family, one function each, and the helpers that make a registration
// one line. Internal to the engine.
#pragma once

#include <optional>

#include "luminal/egraph/primitive.h"

namespace luminal::egraph {

void add_generic_primitives(PrimitiveRegistry& registry);
void add_string_primitives(PrimitiveRegistry& registry);
void add_bool_primitives(PrimitiveRegistry& registry);
void add_i64_primitives(PrimitiveRegistry& registry);
void add_f64_primitives(PrimitiveRegistry& registry);
void add_bigint_primitives(PrimitiveRegistry& registry);
void add_bigrat_primitives(PrimitiveRegistry& registry);
void add_vec_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId vec);
void add_set_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId set);
void add_map_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId map);
void add_multiset_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId bag);
void add_pair_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId pair);
void add_fn_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId fn);

/// Registers what combines one multiset sort with one function sort; either may be declared last.
void add_multiset_function_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts,
                                      SortId bag, SortId fn);
/// Applies a function value to further arguments; kNoValue if it has no value there.
Value call_function_value(Evaluator& eval, Value function, std::span<const Value> more);

/// A fixed signature.
inline Signature takes(std::vector<SortId> inputs, SortId output) {
  return {Signature::Shape::kFixed, std::move(inputs), output, 0};
}
/// Any number of one sort.
inline Signature takes_any_number_of(SortId input, SortId output) {
  return {Signature::Shape::kVariadic, {input}, output, 0};
}
/// `count` arguments of one sort, whichever; output kNone means that sort.
inline Signature takes_same(uint32_t count, SortId output) {
  return {Signature::Shape::kSame, {}, output, count};
}

/// Unit if the condition holds, else no value: how a partial predicate filters.
inline Value unit_if(bool condition) { return condition ? kUnitValue : kNoValue; }

/// Registers a total or partial function that may create values.
inline void add(PrimitiveRegistry& registry, std::string name, Signature signature,
                PrimitiveBody body, Access access = Access::kPure) {
  registry.add({std::move(name), std::move(signature), access, false, std::move(body)});
}
/// Registers a predicate: it creates no value.
inline void add_filter(PrimitiveRegistry& registry, std::string name, Signature signature,
                       PrimitiveBody body) {
  registry.add({std::move(name), std::move(signature), Access::kPure, true, std::move(body)});
}

/// Registers `< > <= >=` (filters) and, if asked for, `bool-=`, `bool-<` … for a sort whose values
/// `get` decodes.
template <typename Get>
void add_comparisons(PrimitiveRegistry& registry, SortId sort, bool boolean_forms, Get get) {
  const auto one = [&](std::string name, auto compare) {
    add_filter(registry, name, takes({sort, sort}, kUnitSort),
               [get, compare](Evaluator& eval, std::span<const Value> args) {
                 return unit_if(compare(get(eval, args[0]), get(eval, args[1])));
               });
    if (!boolean_forms) return;
    add_filter(registry, "bool-" + name, takes({sort, sort}, kBoolSort),
               [get, compare](Evaluator& eval, std::span<const Value> args) {
                 return ValueStore::from_bool(compare(get(eval, args[0]), get(eval, args[1])));
               });
  };
  one("<", [](const auto& a, const auto& b) { return a < b; });
  one(">", [](const auto& a, const auto& b) { return b < a; });
  one("<=", [](const auto& a, const auto& b) { return !(b < a); });
  one(">=", [](const auto& a, const auto& b) { return !(a < b); });
  if (!boolean_forms) return;
  add_filter(registry, "bool-=", takes({sort, sort}, kBoolSort),
             [](Evaluator&, std::span<const Value> args) {
               return ValueStore::from_bool(args[0] == args[1]);
             });
}

}  // namespace luminal::egraph
