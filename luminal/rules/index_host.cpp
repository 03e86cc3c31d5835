#include "luminal/rules/index_host.h"

#include <bit>
#include <functional>
#include <optional>

#include "luminal/support/error.h"
#include "luminal/symbolic/node.h"

namespace luminal::rules {

using egraph::Evaluator;
using egraph::kNoValue;
using egraph::Value;

namespace {

using Answer = std::optional<Expr>;
using Args = std::span<const Value>;

/// A form that does not fit into 64 bits, or divides by zero, is no answer.
template <typename Compute>
auto answer_or_nothing(Compute compute) -> decltype(compute()) {
  try {
    return compute();
  } catch (const UserError&) {
    return {};
  }
}

}  // namespace

/// Registers primitives over the sort of forms.
class IndexHost::Registrar {
 public:
  Registrar(IndexHost& host, egraph::SortRef sort) : host_(host), sort_(std::move(sort)) {}

  /// f(form) -> form, or no answer.
  void unary(std::string name, std::function<Answer(const Expr&)> compute) {
    add(std::move(name), {sort_}, sort_,
        [&host = host_, compute = std::move(compute)](Evaluator&, Args args) {
          const Expr a = host.form(args[0]);
          const Answer answer = answer_or_nothing([&] { return compute(a); });
          return answer ? host.intern(*answer) : kNoValue;
        });
  }

  /// f(form, form) -> form, or no answer.
  void binary(std::string name, std::function<Answer(const Expr&, const Expr&)> compute) {
    add(std::move(name), {sort_, sort_}, sort_,
        [&host = host_, compute = std::move(compute)](Evaluator&, Args args) {
          const Expr a = host.form(args[0]), b = host.form(args[1]);
          const Answer answer = answer_or_nothing([&] { return compute(a, b); });
          return answer ? host.intern(*answer) : kNoValue;
        });
  }

  /// A condition on one form, and on two.
  void filter(std::string name, std::function<bool(const Expr&)> holds) {
    add(std::move(name), {sort_}, egraph::Builder::unit(),
        [&host = host_, holds = std::move(holds)](Evaluator&, Args args) {
          return holds(host.form(args[0])) ? egraph::kUnitValue : kNoValue;
        });
  }
  void filter(std::string name, std::function<bool(const Expr&, const Expr&)> holds) {
    add(std::move(name), {sort_, sort_}, egraph::Builder::unit(),
        [&host = host_, holds = std::move(holds)](Evaluator&, Args args) {
          const Expr a = host.form(args[0]), b = host.form(args[1]);
          return answer_or_nothing([&] { return holds(a, b); }) ? egraph::kUnitValue : kNoValue;
        });
  }

  /// f(form, i) -> the i-th form of a list.
  void parts(const std::string& name, const std::function<std::vector<Expr>(const Expr&)>& list) {
    columns({name}, list);
  }

  /// NAME-left(form, i) and NAME-right(form, i): the i-th pair of a list.
  void pairs(const std::string& name, std::function<std::vector<Operands>(const Expr&)> list) {
    columns({name + "-left", name + "-right"}, [list = std::move(list)](const Expr& form) {
      std::vector<Expr> flat;
      for (const auto& [left, right] : list(form)) flat.insert(flat.end(), {left, right});
      return flat;
    });
  }

  /// One primitive per name; row i of the list is `names.size()` forms long.
  void columns(const std::vector<std::string>& names,
               const std::function<std::vector<Expr>(const Expr&)>& list) {
    const uint64_t question = num_questions_++;
    const auto width = static_cast<int64_t>(names.size());
    for (int64_t column = 0; column < width; ++column) {
      add(names[static_cast<size_t>(column)], {sort_, egraph::Builder::i64()}, sort_,
          [&host = host_, question, width, column, list](Evaluator& eval, Args args) {
            const auto [entry, is_new] = host.lists_.try_emplace((question << 32) | args[0]);
            if (is_new) entry->second = answer_or_nothing([&] { return list(host.form(args[0])); });
            const auto place = static_cast<size_t>(eval.values.i64(args[1]) * width + column);
            return place < entry->second.size() ? host.intern(entry->second[place]) : kNoValue;
          });
    }
  }

  /// number(i64) -> form.
  void numbers() {
    add("number", {egraph::Builder::i64()}, sort_, [&host = host_](Evaluator& eval, Args args) {
      return host.intern(eval.values.i64(args[0]));
    });
  }

 private:
  void add(std::string name, const std::vector<egraph::SortRef>& inputs,
           const egraph::SortRef& output, egraph::PrimitiveBody body) {
    host_.builder_.primitive(std::move(name), inputs, output, std::move(body));
  }

  IndexHost& host_;
  egraph::SortRef sort_;
  uint64_t num_questions_ = 0;
};

namespace {

Answer log2_of(const Expr& form) {
  const auto value = form.constant_value();
  if (!value || *value < 2 || !std::has_single_bit(static_cast<uint64_t>(*value)))
    return std::nullopt;
  return Expr(int64_t{std::countr_zero(static_cast<uint64_t>(*value))});
}

/// The same without the minus sign in front.
Answer negated(const Expr& form) {
  if (symbolic::leading_coefficient(form) >= 0 || form.is_constant(0)) return std::nullopt;
  return -form;
}

/// -1 - form, where form is proved negative: floor(p / d) = -1 - floor((-1 - p) / d).
Answer mirrored(const Expr& form) {
  if (form.bounds().hi >= 0) return std::nullopt;
  return -1 - form;
}

bool is_positive(const Expr& form) { return form.bounds().lo > 0; }

/// a / b where b divides a, both are positive and neither the quotient nor b is 1.
Answer exact_quotient(const Expr& a, const Expr& b) {
  if (a == b || b.is_constant(1) || !is_positive(a) || !is_positive(b)) return std::nullopt;
  const auto quotient = symbolic::exact_div(a, b);
  return quotient && is_positive(*quotient) ? quotient : std::nullopt;
}

template <typename Registrar>
void add_arithmetic(Registrar& registrar) {
  registrar.binary("+", [](const Expr& a, const Expr& b) { return a + b; });
  registrar.binary("-", [](const Expr& a, const Expr& b) { return a - b; });
  registrar.binary("*", [](const Expr& a, const Expr& b) { return a * b; });
  registrar.binary("/", [](const Expr& a, const Expr& b) { return symbolic::floor_div(a, b); });
}

template <typename Registrar>
void add_questions(Registrar& registrar) {
  registrar.filter("is-leaf", is_leaf);
  registrar.filter("is-test", is_truth_value);
  registrar.filter("is-positive", is_positive);
  registrar.filter("contains-sum", contains_sum);
  registrar.unary("log2", log2_of);
  registrar.unary("low-mask",
                  [](const Expr& form) { return log2_of(form) ? Answer(form - 1) : Answer(); });
  registrar.unary("negated", negated);
  registrar.unary("mirrored", mirrored);
  registrar.unary("last-summand", last_summand);
  registrar.unary("negative-summand", negative_summand);
  registrar.unary("quotient-as-test", quotient_as_test);
  registrar.binary("exact-quotient", exact_quotient);
}

template <typename Registrar>
void add_lists(Registrar& registrar) {
  registrar.parts("factored-part", factored_parts);
  registrar.parts("remainder-part", remainder_parts);
  registrar.parts("extremum-part", extremum_parts);
  registrar.pairs("factor", factors);
  registrar.pairs("quotient", quotients_of);
  registrar.pairs("remainder", remainders);
  registrar.pairs("min", minima);
  registrar.pairs("max", maxima);
  registrar.pairs("at-most", at_most);
  registrar.pairs("below", below);
  registrar.pairs("equal", equalities);
  registrar.pairs("differs", differences);
  registrar.pairs("either", alternatives);
  registrar.pairs("range", ranges);
  registrar.columns({"choice-condition", "choice-true", "choice-false"}, [](const Expr& form) {
    std::vector<Expr> flat;
    for (const auto& [condition, if_true, if_false] : choices(form))
      flat.insert(flat.end(), {condition, if_true, if_false});
    return flat;
  });
}

}  // namespace

IndexHost::IndexHost(egraph::EGraph& egraph) : builder_(egraph) {
  Registrar registrar(*this, builder_.host_sort<Expr>("Form"));
  forms_ = &builder_.host<Expr>();
  registrar.numbers();
  add_arithmetic(registrar);
  add_questions(registrar);
  add_lists(registrar);
}

}  // namespace luminal::rules
