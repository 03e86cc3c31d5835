// Primitives of vectors, pairs and function values.
#include <algorithm>

#include "luminal/egraph/primitive_families.h"

namespace luminal::egraph {
namespace {

using Args = std::span<const Value>;

/// Longer vectors have no value: a program that appends without end stops there.
constexpr size_t kMaxLength = size_t{1} << 24;

std::vector<Value> copy_words(Evaluator& eval, Value id) {
  const auto words = eval.containers.words(id);
  return {words.begin(), words.end()};
}

/// A checked position in [0, size).
std::optional<size_t> position(Evaluator& eval, Value index, size_t size) {
  const int64_t at = eval.values.i64(index);
  if (at < 0 || static_cast<uint64_t>(at) >= size) return std::nullopt;
  return static_cast<size_t>(at);
}

void add_vec_builders(PrimitiveRegistry& registry, SortId vec, SortId element) {
  add(registry, "vec-empty", takes({}, vec),
      [vec](Evaluator& eval, Args) { return eval.containers.intern(vec, {}, eval.ids); });
  add(registry, "vec-of", takes_any_number_of(element, vec), [vec](Evaluator& eval, Args args) {
    return eval.containers.intern(vec, {args.begin(), args.end()}, eval.ids);
  });
  add(registry, "vec-append", takes_any_number_of(vec, vec), [vec](Evaluator& eval, Args args) {
    std::vector<Value> all;
    for (Value arg : args) {
      const auto words = eval.containers.words(arg);
      if (all.size() + words.size() > kMaxLength) return kNoValue;
      all.insert(all.end(), words.begin(), words.end());
    }
    return eval.containers.intern(vec, std::move(all), eval.ids);
  });
  add(registry, "vec-push", takes({vec, element}, vec), [vec](Evaluator& eval, Args args) {
    std::vector<Value> words = copy_words(eval, args[0]);
    words.push_back(args[1]);
    return eval.containers.intern(vec, std::move(words), eval.ids);
  });
  add(registry, "vec-pop", takes({vec}, vec), [vec](Evaluator& eval, Args args) {
    std::vector<Value> words = copy_words(eval, args[0]);
    if (!words.empty()) words.pop_back();
    return eval.containers.intern(vec, std::move(words), eval.ids);
  });
  if (element != kI64Sort) return;
  add(registry, "vec-range", takes({kI64Sort}, vec), [vec](Evaluator& eval, Args args) {
    const int64_t end = eval.values.i64(args[0]);
    if (end > static_cast<int64_t>(kMaxLength)) return kNoValue;
    std::vector<Value> words;
    for (int64_t i = 0; i < end; ++i) words.push_back(eval.values.from_i64(i));
    return eval.containers.intern(vec, std::move(words), eval.ids);
  });
}

void add_vec_access(PrimitiveRegistry& registry, SortId vec, SortId element) {
  add(registry, "vec-length", takes({vec}, kI64Sort), [](Evaluator& eval, Args args) {
    return eval.values.from_i64(static_cast<int64_t>(eval.containers.words(args[0]).size()));
  });
  const auto holds = [](Evaluator& eval, Args args) {
    const auto words = eval.containers.words(args[0]);
    return std::find(words.begin(), words.end(), args[1]) != words.end();
  };
  add_filter(registry, "vec-contains", takes({vec, element}, kUnitSort),
             [holds](Evaluator& eval, Args args) { return unit_if(holds(eval, args)); });
  add_filter(registry, "vec-not-contains", takes({vec, element}, kUnitSort),
             [holds](Evaluator& eval, Args args) { return unit_if(!holds(eval, args)); });
  add_filter(registry, "vec-get", takes({vec, kI64Sort}, element), [](Evaluator& eval, Args args) {
    const auto words = eval.containers.words(args[0]);
    const auto at = position(eval, args[1], words.size());
    return at ? words[*at] : kNoValue;
  });
  add(registry, "vec-set", takes({vec, kI64Sort, element}, vec), [vec](Evaluator& eval, Args args) {
    std::vector<Value> words = copy_words(eval, args[0]);
    const auto at = position(eval, args[1], words.size());
    if (!at) return kNoValue;
    words[*at] = args[2];
    return eval.containers.intern(vec, std::move(words), eval.ids);
  });
  add(registry, "vec-remove", takes({vec, kI64Sort}, vec), [vec](Evaluator& eval, Args args) {
    std::vector<Value> words = copy_words(eval, args[0]);
    const auto at = position(eval, args[1], words.size());
    if (!at) return kNoValue;
    words.erase(words.begin() + static_cast<ptrdiff_t>(*at));
    return eval.containers.intern(vec, std::move(words), eval.ids);
  });
}

/// Applies a function value; kNoValue if it has no value there.
Value apply_function(Evaluator& eval, Value function, Args more) {
  const auto words = eval.containers.words(function);
  const FunctionTarget target = eval.containers.target(words[0]);
  std::vector<Value> args(words.begin() + 1, words.end());
  args.insert(args.end(), more.begin(), more.end());
  return eval.call(target, args);
}

/// `unstable-vec-map` for a function sort A -> B and vectors of A and B.
void add_vec_map(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId fn, SortId from,
                 SortId to) {
  const std::vector<SortId>& arrow = sorts[fn].args;
  if (arrow.size() != 2 || arrow[0] != sorts[from].args[0] || arrow[1] != sorts[to].args[0]) return;
  add(registry, "unstable-vec-map", takes({fn, from}, to), [to](Evaluator& eval, Args args) {
    std::vector<Value> mapped;
    for (Value element : copy_words(eval, args[1])) {
      const Value image = apply_function(eval, args[0], {&element, 1});
      if (image != kNoValue) mapped.push_back(image);  // elements without image are left out
    }
    return eval.containers.intern(to, std::move(mapped), eval.ids);
  });
}

template <typename Visit>
void for_each_sort(const SortRegistry& sorts, SortKind kind, Visit visit) {
  for (SortId id = 0; id < sorts.size(); ++id)
    if (sorts[id].kind == kind) visit(id);
}

}  // namespace

void add_vec_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId vec) {
  const SortId element = sorts[vec].args[0];
  add_vec_builders(registry, vec, element);
  add_vec_access(registry, vec, element);
  if (sorts[element].is_eq()) {
    add(
        registry, "vec-union", takes({vec, vec}, vec),
        [](Evaluator& eval, Args args) {
          const std::vector<Value> left = copy_words(eval, args[0]);
          const std::vector<Value> right = copy_words(eval, args[1]);
          if (left.size() != right.size()) return kNoValue;
          for (size_t i = 0; i < left.size(); ++i) eval.join(left[i], right[i]);
          return args[0];
        },
        Access::kWrite);
  }
  for_each_sort(sorts, SortKind::kFn, [&](SortId fn) {
    for_each_sort(sorts, SortKind::kVec, [&](SortId other) {
      add_vec_map(registry, sorts, fn, vec, other);
      if (other != vec) add_vec_map(registry, sorts, fn, other, vec);
    });
  });
}

void add_pair_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId pair) {
  const SortId first = sorts[pair].args[0], second = sorts[pair].args[1];
  add(registry, "pair", takes({first, second}, pair), [pair](Evaluator& eval, Args args) {
    return eval.containers.intern(pair, {args[0], args[1]}, eval.ids);
  });
  add_filter(registry, "pair-first", takes({pair}, first),
             [](Evaluator& eval, Args args) { return eval.containers.words(args[0])[0]; });
  add_filter(registry, "pair-second", takes({pair}, second),
             [](Evaluator& eval, Args args) { return eval.containers.words(args[0])[1]; });
}

void add_fn_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId fn) {
  // The body of unstable-fn depends on the function it names: the type checker makes it per use.
  add(registry, "unstable-fn", {Signature::Shape::kMakeFn, {}, fn, 0},
      [](Evaluator&, Args) { return kNoValue; });
  std::vector<SortId> inputs{fn};
  inputs.insert(inputs.end(), sorts[fn].args.begin(), sorts[fn].args.end() - 1);
  add(registry, "unstable-app", takes(inputs, sorts[fn].args.back()),
      [](Evaluator& eval, Args args) { return apply_function(eval, args[0], args.subspan(1)); });
  for_each_sort(sorts, SortKind::kVec, [&](SortId from) {
    for_each_sort(sorts, SortKind::kVec,
                  [&](SortId to) { add_vec_map(registry, sorts, fn, from, to); });
  });
  for_each_sort(sorts, SortKind::kMultiSet,
                [&](SortId bag) { add_multiset_function_primitives(registry, sorts, bag, fn); });
}

Value call_function_value(Evaluator& eval, Value function, Args more) {
  return apply_function(eval, function, more);
}

}  // namespace luminal::egraph
