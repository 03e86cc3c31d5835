// The typed face of an e-graph: sorts, constructors, relations, functions, rules and schedules made
// in C++, without text. What it makes are the same commands the parser makes, so both mix freely.
// Native primitives and host sorts bring C++ values and functions into rules.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <typeindex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "luminal/egraph/egraph.h"
#include "luminal/egraph/host_sort.h"

namespace luminal::egraph {

/// A sort by id and name.
struct SortRef {
  SortId id = kNone;
  std::string name;
};

/// Makes an expression of what a call may be given: expressions, numbers, strings, truth values.
inline Expr to_expr(Expr expr) { return expr; }
inline Expr to_expr(bool value) { return make_literal(value); }
inline Expr to_expr(int value) { return make_literal(int64_t{value}); }
inline Expr to_expr(int64_t value) { return make_literal(value); }
inline Expr to_expr(double value) { return make_literal(value); }
inline Expr to_expr(const char* value) { return make_literal(std::string(value)); }
inline Expr to_expr(std::string value) { return make_literal(std::move(value)); }

/// A constructor, relation, function or primitive that can be called in patterns and actions.
struct Callable {
  std::string name;
  FunctionId id = kNone;  // kNone for primitives

  template <typename... Args>
  Expr operator()(Args&&... args) const {
    std::vector<Expr> list;
    list.reserve(sizeof...(args));
    (list.push_back(to_expr(std::forward<Args>(args))), ...);
    return make_call(name, std::move(list));
  }
};

/// A pattern variable.
Expr var(std::string name);
/// `(= a b)` and a bare fact.
Fact equal(Expr a, Expr b);
Fact holds(Expr expr);
/// Actions.
Action let(std::string name, Expr value);
Action set(Expr call, Expr value);
Action unite(Expr a, Expr b);
Action erase(Expr call);
Action subsume(Expr call);
Action insert(Expr call);
/// Stops the run with an error.
Action panic(std::string message);
/// Schedules.
Schedule run(std::string ruleset = "", std::vector<Fact> until = {});
Schedule saturate(std::vector<Schedule> steps);
Schedule sequence(std::vector<Schedule> steps);
Schedule repeat(uint64_t times, std::vector<Schedule> steps);

/// Options of a rule or rewrite.
struct RuleOptions {
  std::string ruleset;
  std::string name;
  std::vector<Fact> when = {};  // rewrites only
  bool subsume = false;         // rewrites only
  bool naive = false;           // rules only
};

/// Options of a native primitive.
struct NativeOptions {
  Access access = Access::kPure;
  /// It reads its arguments and creates no value: several threads may run it at once.
  bool is_filter = false;
};

/// Declares things in an e-graph and adds rules to it.
class Builder {
 public:
  explicit Builder(EGraph& egraph) : egraph_(egraph) {}

  SortRef sort(std::string name);
  /// A container sort, such as container("Dims", "Vec", {i64()}).
  SortRef container(std::string name, std::string presort, const std::vector<SortRef>& args);
  static SortRef i64() { return {kI64Sort, "i64"}; }
  static SortRef f64() { return {kF64Sort, "f64"}; }
  static SortRef string() { return {kStringSort, "String"}; }
  static SortRef boolean() { return {kBoolSort, "bool"}; }
  static SortRef unit() { return {kUnitSort, "Unit"}; }
  static SortRef big_int() { return {kBigIntSort, "BigInt"}; }
  static SortRef big_rat() { return {kBigRatSort, "BigRat"}; }

  /// A constructor; the cost is that of an e-node in extraction, 1 unless said.
  Callable constructor(std::string name, const std::vector<SortRef>& inputs, const SortRef& output,
                       std::optional<uint64_t> cost = std::nullopt, bool unextractable = false);
  Callable relation(std::string name, const std::vector<SortRef>& inputs);
  /// A function; without a merge expression over `old` and `new`, a second value is an error.
  Callable function(std::string name, const std::vector<SortRef>& inputs, const SortRef& output,
                    std::optional<Expr> merge = std::nullopt);
  void ruleset(std::string name);
  /// The rules of all members, also of those that are added to them later.
  void combined_ruleset(std::string name, std::vector<std::string> members);

  RuleId rule(std::vector<Fact> facts, std::vector<Action> actions, RuleOptions options = {});
  void rewrite(Expr from, Expr to, RuleOptions options = {});
  void birewrite(Expr from, Expr to, RuleOptions options = {});

  /// A sort of C++ values.
  template <typename T>
  SortRef host_sort(const std::string& name) {
    auto host = std::make_shared<HostSort<T>>();
    const SortRef ref = declare_host(name, host);
    hosts_[std::type_index(typeid(T))] = {ref.id, host};
    return ref;
  }
  /// The interner of a host sort.
  template <typename T>
  HostSort<T>& host() {
    return static_cast<HostSort<T>&>(*declared_host(typeid(T)).second);
  }
  /// An expression that stands for a host value, in patterns and in actions.
  template <typename T>
  Expr constant(const T& value) {
    const SortId sort = declared_host(typeid(T)).first;
    return host_constant(sort, host<T>().intern(value));
  }

  /// A primitive from its body over words.
  Callable primitive(std::string name, const std::vector<SortRef>& inputs, const SortRef& output,
                     PrimitiveBody body, NativeOptions options = {});
  /// A primitive from a C++ function. Its argument and result types choose the sorts: int64_t,
  /// double, bool, std::string and host types; std::optional<R> makes it partial.
  template <typename R, typename... Args>
  Callable native(const std::string& name, R (*compute)(Args...), NativeOptions options = {}) {
    const std::vector<SortRef> inputs{sort_of<std::decay_t<Args>>()...};
    const SortRef output = sort_of<typename Plain<R>::type>();
    return primitive(name, inputs, output,
                     body_of<R, Args...>(compute, std::index_sequence_for<Args...>{}), options);
  }
  /// A predicate: it holds, or the match fails.
  template <typename... Args>
  Callable predicate(const std::string& name, bool (*compute)(Args...)) {
    auto test = body_of<bool, Args...>(compute, std::index_sequence_for<Args...>{});
    return primitive(name, {sort_of<std::decay_t<Args>>()...}, unit(),
                     [test](Evaluator& eval, std::span<const Value> args) {
                       return test(eval, args) != 0 ? kUnitValue : kNoValue;
                     },
                     {Access::kPure, true});
  }

  EGraph& egraph() { return egraph_; }

 private:
  template <typename R>
  struct Plain {
    using type = R;
  };
  template <typename R>
  struct Plain<std::optional<R>> {
    using type = R;
  };

  template <typename T>
  SortRef sort_of() const {
    if constexpr (std::is_same_v<T, bool>) {
      return boolean();
    } else if constexpr (std::is_integral_v<T>) {
      return i64();
    } else if constexpr (std::is_floating_point_v<T>) {
      return f64();
    } else if constexpr (std::is_same_v<T, std::string>) {
      return string();
    } else {
      const SortId id = declared_host(typeid(T)).first;
      return {id, egraph_.database().sorts.name(id)};
    }
  }

  template <typename T>
  std::function<T(Evaluator&, Value)> decoder() {
    if constexpr (std::is_same_v<T, bool>) {
      return [](Evaluator&, Value value) { return value != 0; };
    } else if constexpr (std::is_integral_v<T>) {
      return [](Evaluator& eval, Value value) { return static_cast<T>(eval.values.i64(value)); };
    } else if constexpr (std::is_floating_point_v<T>) {
      return [](Evaluator& eval, Value value) { return static_cast<T>(eval.values.f64(value)); };
    } else if constexpr (std::is_same_v<T, std::string>) {
      return [](Evaluator& eval, Value value) { return eval.values.string(value); };
    } else {
      auto host = std::static_pointer_cast<HostSort<T>>(declared_host(typeid(T)).second);
      return [host](Evaluator&, Value value) { return host->get(value); };
    }
  }

  template <typename T>
  std::function<Value(Evaluator&, const T&)> encoder() {
    if constexpr (std::is_same_v<T, bool>) {
      return [](Evaluator&, const bool& value) { return ValueStore::from_bool(value); };
    } else if constexpr (std::is_integral_v<T>) {
      return [](Evaluator& eval, const T& value) { return eval.values.from_i64(value); };
    } else if constexpr (std::is_floating_point_v<T>) {
      return [](Evaluator& eval, const T& value) { return eval.values.from_f64(value); };
    } else if constexpr (std::is_same_v<T, std::string>) {
      return [](Evaluator& eval, const T& value) { return eval.values.from_string(value); };
    } else {
      auto host = std::static_pointer_cast<HostSort<T>>(declared_host(typeid(T)).second);
      return [host](Evaluator&, const T& value) { return host->intern(value); };
    }
  }

  template <typename R, typename... Args, size_t... I>
  PrimitiveBody body_of(R (*compute)(Args...), std::index_sequence<I...>) {
    auto decode = std::make_tuple(decoder<std::decay_t<Args>>()...);
    auto encode = encoder<typename Plain<R>::type>();
    return [compute, decode, encode](Evaluator& eval, std::span<const Value> args) -> Value {
      const R result = compute(std::get<I>(decode)(eval, args[I])...);
      if constexpr (std::is_same_v<R, typename Plain<R>::type>) {
        return encode(eval, result);
      } else {
        return result ? encode(eval, *result) : kNoValue;
      }
    };
  }

  using DeclaredHost = std::pair<SortId, std::shared_ptr<HostSortBase>>;
  SortRef declare_host(std::string name, std::shared_ptr<HostSortBase> host);
  /// The host sort of a C++ type. Throws UserError if host_sort was not called for it.
  const DeclaredHost& declared_host(std::type_index type) const;
  Expr host_constant(SortId sort, Value value);
  Callable declare(FunctionDecl decl);

  EGraph& egraph_;
  std::unordered_map<std::type_index, DeclaredHost> hosts_;
};

/// Adds many terms at once: rows are staged and written together by commit.
class BulkInsert {
 public:
  explicit BulkInsert(EGraph& egraph) : egraph_(egraph) {}
  /// The id of a constructor row, made if there is none.
  Value add(const Callable& constructor, std::initializer_list<Value> args) {
    return add(constructor, std::span<const Value>(args.begin(), args.size()));
  }
  /// Throws UserError if it is no constructor or relation, or takes another number of arguments.
  Value add(const Callable& constructor, std::span<const Value> args);
  /// Sets a function's value. Throws UserError as `add` does.
  void set(const Callable& function, std::initializer_list<Value> keys, Value value);
  Value i64(int64_t value) { return egraph_.database().values->from_i64(value); }
  Value string(std::string_view value) { return egraph_.database().values->from_string(value); }
  /// Writes everything and restores congruence. Ids may have been joined: ask canonical().
  void commit() { egraph_.engine().flush(); }
  Value canonical(Value id) { return egraph_.database().ids.find(id); }

 private:
  void require(const Callable& table, bool is_function, size_t num_keys) const;

  EGraph& egraph_;
};

}  // namespace luminal::egraph
