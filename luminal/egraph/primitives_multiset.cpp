// Primitives of multisets, first-order and those that take function values.
#include <algorithm>
#include <map>

#include "luminal/egraph/primitive_families.h"

namespace luminal::egraph {
namespace {

using Args = std::span<const Value>;
using Counts = std::map<Value, uint64_t>;

/// Counts are stored in 32 bits; a larger multiset has no value.
constexpr uint64_t kMaxCount = UINT32_MAX - 1;

Counts counts_of(Evaluator& eval, Value bag) {
  Counts counts;
  const auto words = eval.containers.words(bag);
  for (size_t i = 0; i < words.size(); i += 2) counts[words[i]] = words[i + 1];
  return counts;
}

Value make(Evaluator& eval, SortId bag, const Counts& counts) {
  std::vector<Value> words;
  for (const auto& [element, count] : counts) {
    if (count > kMaxCount) return kNoValue;
    if (count == 0) continue;
    words.push_back(element);
    words.push_back(static_cast<Value>(count));
  }
  return eval.containers.intern(bag, std::move(words), eval.ids);
}

Value remove_one(Evaluator& eval, SortId bag, Value from, Value element) {
  Counts counts = counts_of(eval, from);
  const auto found = counts.find(element);
  if (found == counts.end()) return kNoValue;
  --found->second;
  return make(eval, bag, counts);
}

Value subtract(Evaluator& eval, SortId bag, Value from, Value other) {
  Counts counts = counts_of(eval, from);
  for (const auto& [element, count] : counts_of(eval, other)) {
    const auto found = counts.find(element);
    if (found == counts.end() || found->second < count) return kNoValue;
    found->second -= count;
  }
  return make(eval, bag, counts);
}

bool holds(Evaluator& eval, Value bag, Value element) {
  return counts_of(eval, bag).count(element) != 0;
}

void add_builders(PrimitiveRegistry& registry, SortId bag, SortId element) {
  add(registry, "multiset-of", takes_any_number_of(element, bag),
      [bag](Evaluator& eval, Args args) {
        Counts counts;
        for (Value arg : args) ++counts[arg];
        return make(eval, bag, counts);
      });
  add(registry, "multiset-single", takes({element, kI64Sort}, bag),
      [bag](Evaluator& eval, Args args) {
        const int64_t count = eval.values.i64(args[1]);
        if (count < 0) return kNoValue;
        return make(eval, bag, {{args[0], static_cast<uint64_t>(count)}});
      });
  add(registry, "multiset-insert", takes({bag, element}, bag), [bag](Evaluator& eval, Args args) {
    Counts counts = counts_of(eval, args[0]);
    ++counts[args[1]];
    return make(eval, bag, counts);
  });
  add(registry, "multiset-remove", takes({bag, element}, bag),
      [bag](Evaluator& eval, Args args) { return remove_one(eval, bag, args[0], args[1]); });
  add(registry, "multiset-remove-swapped", takes({element, bag}, bag),
      [bag](Evaluator& eval, Args args) { return remove_one(eval, bag, args[1], args[0]); });
  add(registry, "multiset-subtract", takes({bag, bag}, bag),
      [bag](Evaluator& eval, Args args) { return subtract(eval, bag, args[0], args[1]); });
  add(registry, "multiset-subtract-swapped", takes({bag, bag}, bag),
      [bag](Evaluator& eval, Args args) { return subtract(eval, bag, args[1], args[0]); });
}

void add_algebra(PrimitiveRegistry& registry, SortId bag) {
  add(registry, "multiset-intersection", takes({bag, bag}, bag), [bag](Evaluator& eval, Args args) {
    Counts left = counts_of(eval, args[0]);
    const Counts right = counts_of(eval, args[1]);
    for (auto& [element, count] : left) {
      const auto found = right.find(element);
      count = found == right.end() ? 0 : std::min(count, found->second);
    }
    return make(eval, bag, left);
  });
  add(registry, "multiset-sum", takes({bag, bag}, bag), [bag](Evaluator& eval, Args args) {
    Counts counts = counts_of(eval, args[0]);
    for (const auto& [element, count] : counts_of(eval, args[1])) counts[element] += count;
    return make(eval, bag, counts);
  });
  add(registry, "multiset-reset-counts", takes({bag}, bag), [bag](Evaluator& eval, Args args) {
    Counts counts = counts_of(eval, args[0]);
    for (auto& entry : counts) entry.second = 1;
    return make(eval, bag, counts);
  });
}

void add_queries(PrimitiveRegistry& registry, SortId bag, SortId element) {
  add(registry, "multiset-length", takes({bag}, kI64Sort), [](Evaluator& eval, Args args) {
    uint64_t total = 0;
    for (const auto& entry : counts_of(eval, args[0])) total += entry.second;
    return eval.values.from_i64(static_cast<int64_t>(total));
  });
  add(registry, "multiset-count", takes({bag, element}, kI64Sort), [](Evaluator& eval, Args args) {
    const Counts counts = counts_of(eval, args[0]);
    const auto found = counts.find(args[1]);
    return eval.values.from_i64(found == counts.end() ? 0 : static_cast<int64_t>(found->second));
  });
  add_filter(registry, "multiset-contains", takes({bag, element}, kUnitSort),
             [](Evaluator& eval, Args args) { return unit_if(holds(eval, args[0], args[1])); });
  add_filter(registry, "multiset-not-contains", takes({bag, element}, kUnitSort),
             [](Evaluator& eval, Args args) { return unit_if(!holds(eval, args[0], args[1])); });
  add_filter(registry, "multiset-contains-swapped", takes({element, bag}, kUnitSort),
             [](Evaluator& eval, Args args) { return unit_if(holds(eval, args[1], args[0])); });
  add_filter(registry, "multiset-not-contains-swapped", takes({element, bag}, kUnitSort),
             [](Evaluator& eval, Args args) { return unit_if(!holds(eval, args[1], args[0])); });
  add_filter(registry, "multiset-pick", takes({bag}, element), [](Evaluator& eval, Args args) {
    const auto words = eval.containers.words(args[0]);
    return words.empty() ? kNoValue : words[0];
  });
  add_filter(registry, "multiset-pick-max", takes({bag}, element), [](Evaluator& eval, Args args) {
    Value best = kNoValue;
    uint64_t most = 0;
    for (const auto& [value, count] : counts_of(eval, args[0]))
      if (count >= most) best = value, most = count;
    return best;
  });
}

/// Function primitives of type A -> B between two multiset sorts.
void add_map(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId fn, SortId from,
             SortId to) {
  const std::vector<SortId>& arrow = sorts[fn].args;
  if (arrow.size() != 2 || arrow[0] != sorts[from].args[0] || arrow[1] != sorts[to].args[0]) return;
  add(registry, "unstable-multiset-map", takes({fn, from}, to), [to](Evaluator& eval, Args args) {
    Counts mapped;
    for (const auto& [element, count] : counts_of(eval, args[1])) {
      const Value image = call_function_value(eval, args[0], {&element, 1});
      if (image != kNoValue) mapped[image] += count;  // elements without image are left out
    }
    return make(eval, to, mapped);
  });
}

void add_filters(PrimitiveRegistry& registry, SortId bag, SortId fn) {
  for (const bool keep_matches : {true, false}) {
    add(registry, keep_matches ? "unstable-multiset-filter" : "unstable-multiset-filter-not",
        takes({fn, bag}, bag), [bag, keep_matches](Evaluator& eval, Args args) {
          Counts kept;
          for (const auto& [element, count] : counts_of(eval, args[1])) {
            const bool matches = call_function_value(eval, args[0], {&element, 1}) != kNoValue;
            if (matches == keep_matches) kept[element] = count;
          }
          return make(eval, bag, kept);
        });
  }
}

void add_flat_map(PrimitiveRegistry& registry, SortId bag, SortId fn) {
  add(registry, "unstable-multiset-flat-map", takes({fn, bag}, bag),
      [bag](Evaluator& eval, Args args) {
        Counts all;
        for (const auto& [element, count] : counts_of(eval, args[1])) {
          const Value inner = call_function_value(eval, args[0], {&element, 1});
          if (inner == kNoValue) {  // an element without image stays
            all[element] += count;
            continue;
          }
          for (const auto& [piece, times] : counts_of(eval, inner)) {
            all[piece] += count * times;
            if (all[piece] > kMaxCount) return kNoValue;
          }
        }
        return make(eval, bag, all);
      });
}

/// Reduce folds from the left without the start value unless the multiset is empty; fold starts
/// with it.
void add_folds(PrimitiveRegistry& registry, SortId bag, SortId element, SortId fn) {
  for (const bool use_start : {false, true}) {
    add(registry, use_start ? "unstable-multiset-fold" : "unstable-multiset-reduce",
        takes({fn, element, bag}, element), [use_start](Evaluator& eval, Args args) {
          Value result = args[1];
          bool started = use_start;
          for (const auto& [value, count] : counts_of(eval, args[2])) {
            for (uint64_t i = 0; i < count; ++i) {
              const Value pair[] = {result, value};
              result = started ? call_function_value(eval, args[0], pair) : value;
              if (result == kNoValue) return kNoValue;
              started = true;
            }
          }
          return result;
        });
  }
}

/// Index functions of type (MultiSet, element) -> i64 hold the count of each element.
void add_indexing(PrimitiveRegistry& registry, SortId bag, SortId fn) {
  const auto target_of = [](Evaluator& eval, Value function) {
    return eval.containers.target(eval.containers.words(function)[0]);
  };
  add(
      registry, "unstable-multiset-fill-index", takes({bag, fn}, kUnitSort),
      [target_of](Evaluator& eval, Args args) {
        const FunctionTarget target = target_of(eval, args[1]);
        for (const auto& [element, count] : counts_of(eval, args[0])) {
          const Value keys[] = {args[0], element};
          if (call_function_value(eval, args[1], keys) != kNoValue) break;  // filled before
          eval.set(target, keys, eval.values.from_i64(static_cast<int64_t>(count)));
        }
        return kUnitValue;
      },
      Access::kFull);
  add(
      registry, "unstable-multiset-clear-index", takes({bag, fn}, kUnitSort),
      [target_of](Evaluator& eval, Args args) {
        const FunctionTarget target = target_of(eval, args[1]);
        for (const auto& entry : counts_of(eval, args[0])) {
          const Value keys[] = {args[0], entry.first};
          eval.remove(target, keys);
        }
        return kUnitValue;
      },
      Access::kWrite);
}

}  // namespace

void add_multiset_function_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts,
                                      SortId bag, SortId fn) {
  const SortId element = sorts[bag].args[0];
  const std::vector<SortId>& arrow = sorts[fn].args;
  for (SortId to = 0; to < sorts.size(); ++to)
    if (sorts[to].kind == SortKind::kMultiSet) add_map(registry, sorts, fn, bag, to);
  if (arrow.size() == 2 && arrow[0] == element) {
    // A filter keeps what has a value, of whatever sort: relations serve as predicates.
    if (arrow[1] == kUnitSort) add_filters(registry, bag, fn);
    if (arrow[1] == bag) add_flat_map(registry, bag, fn);
  }
  if (arrow.size() != 3) return;
  if (arrow[0] == element && arrow[1] == element && arrow[2] == element)
    add_folds(registry, bag, element, fn);
  if (arrow[0] == bag && arrow[1] == element && arrow[2] == kI64Sort)
    add_indexing(registry, bag, fn);
}

void add_multiset_primitives(PrimitiveRegistry& registry, const SortRegistry& sorts, SortId bag) {
  const SortId element = sorts[bag].args[0];
  add_builders(registry, bag, element);
  add_algebra(registry, bag);
  add_queries(registry, bag, element);
  if (sorts[element].kind == SortKind::kMultiSet) {
    add(registry, "multiset-sum-multisets", takes({bag}, element),
        [element](Evaluator& eval, Args args) {
          Counts all;
          for (const auto& [inner, times] : counts_of(eval, args[0]))
            for (const auto& [value, count] : counts_of(eval, inner)) {
              all[value] += times * count;
              if (all[value] > kMaxCount) return kNoValue;
            }
          return make(eval, element, all);
        });
  }
  if (sorts[element].is_eq()) {
    add(
        registry, "multiset-union-values", takes({bag}, element),
        [](Evaluator& eval, Args args) {
          const Counts counts = counts_of(eval, args[0]);
          if (counts.empty()) return kNoValue;
          for (const auto& entry : counts) eval.join(counts.begin()->first, entry.first);
          return counts.begin()->first;
        },
        Access::kWrite);
  }
  for (SortId fn = 0; fn < sorts.size(); ++fn) {
    if (sorts[fn].kind != SortKind::kFn) continue;
    add_multiset_function_primitives(registry, sorts, bag, fn);
    for (SortId from = 0; from < sorts.size(); ++from)
      if (from != bag && sorts[from].kind == SortKind::kMultiSet)
        add_map(registry, sorts, fn, from, bag);
  }
}

}  // namespace luminal::egraph
