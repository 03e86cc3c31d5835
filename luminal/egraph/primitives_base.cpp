// Primitives of every sort, and those of bool and String.
#include "luminal/egraph/primitive_families.h"

namespace luminal::egraph {
namespace {

using Args = std::span<const Value>;

/// Longer strings have no value: a program that doubles one without end stops there.
constexpr uint64_t kMaxStringBytes = uint64_t{1} << 26;

int64_t count_matches(const std::string& text, const std::string& pattern) {
  if (pattern.empty()) return static_cast<int64_t>(text.size()) + 1;
  int64_t count = 0;
  for (size_t at = text.find(pattern); at != std::string::npos;
       at = text.find(pattern, at + pattern.size()))
    ++count;
  return count;
}

/// At most this many bytes come out of a replacement.
uint64_t size_after_replacing(const std::string& text, const std::string& from,
                              const std::string& to) {
  return text.size() + static_cast<uint64_t>(count_matches(text, from)) * to.size();
}

std::string replace_all(const std::string& text, const std::string& from, const std::string& to) {
  std::string result;
  if (from.empty()) {  // an empty pattern matches between all bytes
    for (char c : text) result += to + c;
    return result + to;
  }
  size_t last = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, last)) {
    result += text.substr(last, at - last) + to;
    last = at + from.size();
  }
  return result + text.substr(last);
}

}  // namespace

void add_generic_primitives(PrimitiveRegistry& registry) {
  add_filter(registry, "!=", takes_same(2, kUnitSort),
             [](Evaluator&, Args args) { return unit_if(args[0] != args[1]); });
  add_filter(registry, "bool-!=", takes_same(2, kBoolSort),
             [](Evaluator&, Args args) { return ValueStore::from_bool(args[0] != args[1]); });
  add_filter(registry, "value-eq", takes_same(2, kUnitSort),
             [](Evaluator&, Args args) { return unit_if(args[0] == args[1]); });
  add_filter(registry, "ordering-min", takes_same(2, kNone),
             [](Evaluator&, Args args) { return std::min(args[0], args[1]); });
  add_filter(registry, "ordering-max", takes_same(2, kNone),
             [](Evaluator&, Args args) { return std::max(args[0], args[1]); });
}

void add_bool_primitives(PrimitiveRegistry& registry) {
  const Signature many = takes_any_number_of(kBoolSort, kBoolSort);
  const Signature two = takes({kBoolSort, kBoolSort}, kBoolSort);
  add_filter(registry, "not", takes({kBoolSort}, kBoolSort),
             [](Evaluator&, Args args) { return ValueStore::from_bool(args[0] == 0); });
  add_filter(registry, "and", many, [](Evaluator&, Args args) {
    bool all = true;
    for (Value arg : args) all = all && arg != 0;
    return ValueStore::from_bool(all);
  });
  add_filter(registry, "or", many, [](Evaluator&, Args args) {
    bool any = false;
    for (Value arg : args) any = any || arg != 0;
    return ValueStore::from_bool(any);
  });
  add_filter(registry, "xor", two,
             [](Evaluator&, Args args) { return ValueStore::from_bool(args[0] != args[1]); });
  add_filter(registry, "=>", two, [](Evaluator&, Args args) {
    return ValueStore::from_bool(args[0] == 0 || args[1] != 0);
  });
  add_filter(registry, "guard", takes({kBoolSort}, kUnitSort),
             [](Evaluator&, Args args) { return unit_if(args[0] != 0); });
}

void add_string_primitives(PrimitiveRegistry& registry) {
  add(registry, "+", takes_any_number_of(kStringSort, kStringSort), [](Evaluator& eval, Args args) {
    uint64_t size = 0;
    for (Value arg : args) size += eval.values.string(arg).size();
    if (size > kMaxStringBytes) return kNoValue;
    std::string text;
    for (Value arg : args) text += eval.values.string(arg);
    return eval.values.from_string(text);
  });
  add(registry, "replace", takes({kStringSort, kStringSort, kStringSort}, kStringSort),
      [](Evaluator& eval, Args args) {
        const std::string& text = eval.values.string(args[0]);
        const std::string& from = eval.values.string(args[1]);
        const std::string& to = eval.values.string(args[2]);
        if (size_after_replacing(text, from, to) > kMaxStringBytes) return kNoValue;
        return eval.values.from_string(replace_all(text, from, to));
      });
  add_filter(registry, "count-matches", takes({kStringSort, kStringSort}, kI64Sort),
             [](Evaluator& eval, Args args) {
               return eval.values.from_i64(
                   count_matches(eval.values.string(args[0]), eval.values.string(args[1])));
             });
}

}  // namespace luminal::egraph
