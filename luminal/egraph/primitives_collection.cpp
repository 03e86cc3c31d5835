// Primitives of sets and maps.
#include <algorithm>

#include "luminal/egraph/primitive_families.h"

namespace luminal::egraph {
namespace {

using Args = std::span<const Value>;

bool set_holds(Args words, Value value) {
  return std::binary_search(words.begin(), words.end(), value);
}

/// Position of a key in the words of a map, or its end.
size_t key_position(Args words, Value key) {
  for (size_t i = 0; i < words.size(); i += 2)
    if (words[i] == key) return i;
  return words.size();
}

Value make(Evaluator& eval, SortId sort, SortKind kind, std::vector<Value> words) {
  normalize_words(kind, words);
  return eval.containers.intern(sort, std::move(words), eval.ids);
}

/// A set from the elements of the first that `keep` wants, given whether the second has them.
template <typename Keep>
void add_set_selection(PrimitiveRegistry& registry, std::string name, SortId set, Keep keep) {
  add(registry, std::move(name), takes({set, set}, set), [set, keep](Evaluator& eval, Args args) {
    const auto left = eval.containers.words(args[0]);
    const auto right = eval.containers.words(args[1]);
    std::vector<Value> kept;
    for (Value value : left)
      if (keep(set_holds(right, value))) kept.push_back(value);
    return eval.containers.intern(set, std::move(kept), eval.ids);
  });
}

void add_set_edits(PrimitiveRegistry& registry, SortId set, SortId element) {
  add(registry, "set-insert", takes({set, element}, set), [set](Evaluator& eval, Args args) {
    const auto old = eval.containers.words(args[0]);
    std::vector<Value> words(old.begin(), old.end());
    words.push_back(args[1]);
    return make(eval, set, SortKind::kSet, std::move(words));
  });
  add(registry, "set-remove", takes({set, element}, set), [set](Evaluator& eval, Args args) {
    const auto old = eval.containers.words(args[0]);
    std::vector<Value> words(old.begin(), old.end());
    std::erase(words, args[1]);
    return eval.containers.intern(set, std::move(words), eval.ids);
  });
  add(registry, "set-union", takes({set, set}, set), [set](Evaluator& eval, Args args) {
    const auto left = eval.containers.words(args[0]);
    const auto right = eval.containers.words(args[1]);
    std::vector<Value> words(left.begin(), left.end());
    words.insert(words.end(), right.begin(), right.end());
    return make(eval, set, SortKind::kSet, std::move(words));
  });
  add_set_selection(registry, "set-diff", set, [](bool in_other) { return !in_other; });
  add_set_selection(registry, "set-intersect", set, [](bool in_other) { return in_other; });
}

}  // namespace

void add_set_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId set) {
  const SortId element = sorts[set].args[0];
  add(registry, "set-empty", takes({}, set),
      [set](Evaluator& eval, Args) { return eval.containers.intern(set, {}, eval.ids); });
  add(registry, "set-of", takes_any_number_of(element, set), [set](Evaluator& eval, Args args) {
    return make(eval, set, SortKind::kSet, {args.begin(), args.end()});
  });
  add_set_edits(registry, set, element);
  add_filter(registry, "set-contains", takes({set, element}, kUnitSort),
             [](Evaluator& eval, Args args) {
               return unit_if(set_holds(eval.containers.words(args[0]), args[1]));
             });
  add_filter(registry, "set-not-contains", takes({set, element}, kUnitSort),
             [](Evaluator& eval, Args args) {
               return unit_if(!set_holds(eval.containers.words(args[0]), args[1]));
             });
  add(registry, "set-length", takes({set}, kI64Sort), [](Evaluator& eval, Args args) {
    return eval.values.from_i64(static_cast<int64_t>(eval.containers.words(args[0]).size()));
  });
  add_filter(registry, "set-get", takes({set, kI64Sort}, element), [](Evaluator& eval, Args args) {
    const auto words = eval.containers.words(args[0]);
    const int64_t at = eval.values.i64(args[1]);
    if (at < 0 || static_cast<uint64_t>(at) >= words.size()) return kNoValue;
    return words[static_cast<size_t>(at)];
  });
}

void add_map_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId map) {
  const SortId key = sorts[map].args[0], value = sorts[map].args[1];
  add(registry, "map-empty", takes({}, map),
      [map](Evaluator& eval, Args) { return eval.containers.intern(map, {}, eval.ids); });
  add(registry, "map-of", {Signature::Shape::kPairs, {key, value}, map, 0},
      [map](Evaluator& eval, Args args) {
        return make(eval, map, SortKind::kMap, {args.begin(), args.end()});
      });
  add(registry, "map-insert", takes({map, key, value}, map), [map](Evaluator& eval, Args args) {
    const auto old = eval.containers.words(args[0]);
    std::vector<Value> words(old.begin(), old.end());
    words.push_back(args[1]);
    words.push_back(args[2]);
    return make(eval, map, SortKind::kMap, std::move(words));
  });
  add(registry, "map-remove", takes({map, key}, map), [map](Evaluator& eval, Args args) {
    const auto old = eval.containers.words(args[0]);
    std::vector<Value> words(old.begin(), old.end());
    const auto at = static_cast<ptrdiff_t>(key_position(old, args[1]));
    if (at < std::ssize(words)) words.erase(words.begin() + at, words.begin() + at + 2);
    return eval.containers.intern(map, std::move(words), eval.ids);
  });
  add_filter(registry, "map-get", takes({map, key}, value), [](Evaluator& eval, Args args) {
    const auto words = eval.containers.words(args[0]);
    const size_t at = key_position(words, args[1]);
    return at < words.size() ? words[at + 1] : kNoValue;
  });
  add(registry, "map-length", takes({map}, kI64Sort), [](Evaluator& eval, Args args) {
    return eval.values.from_i64(static_cast<int64_t>(eval.containers.words(args[0]).size() / 2));
  });
  const auto holds = [](Evaluator& eval, Args args) {
    const auto words = eval.containers.words(args[0]);
    return key_position(words, args[1]) < words.size();
  };
  add_filter(registry, "map-contains", takes({map, key}, kUnitSort),
             [holds](Evaluator& eval, Args args) { return unit_if(holds(eval, args)); });
  add_filter(registry, "map-not-contains", takes({map, key}, kUnitSort),
             [holds](Evaluator& eval, Args args) { return unit_if(!holds(eval, args)); });
}

}  // namespace luminal::egraph
