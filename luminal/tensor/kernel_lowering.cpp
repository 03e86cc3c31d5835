#include "luminal/tensor/kernel_lowering.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "luminal/graph/query.h"
#include "luminal/support/error.h"
#include "luminal/support/text.h"
#include "luminal/tensor/build.h"
#include "luminal/tensor/cast.h"
#include "luminal/tensor/graph.h"
#include "luminal/tensor/kernel_carry.h"
#include "luminal/tensor/kernel_values.h"

namespace luminal::kernel_source {
namespace {

using Kind = KernelValue::Kind;

template <typename... Args>
[[noreturn]] void fail(Position position, fmt::format_string<Args...> format, Args&&... args) {
  throw SourceError{position, fmt::format(format, std::forward<Args>(args)...)};
}

/// A variable of the program.
struct Variable {
  DType dtype = DType::kF32;
  KernelValue value;
  size_t depth = 0;  // axes around its declaration
};

/// What a loop adds to a variable from outside of it.
struct Contribution {
  Carry carry;
  Tensor value;
  Position position;
};

/// The assignment that names the axes.
const Statement* result_statement(const std::vector<Statement>& program) {
  for (const Statement& each : program)
    if (each.kind == Statement::Kind::kAssign && each.name == kResult) return &each;
  return nullptr;
}

class Lowering {
 public:
  Lowering(const KernelInputs& inputs, const graph::TensorType& result)
      : state_(inputs[0].second.state()), result_(result), arithmetic_(state_) {
    for (const auto& [name, tensor] : inputs) {
      inputs_.emplace(name, tensor);
      note_dims(tensor.shape());
    }
    note_dims(result.shape);
  }

  Tensor run(const std::vector<Statement>& program) {
    const Statement* target = result_statement(program);
    if (target == nullptr)
      fail({}, "nothing is assigned to out; end with out[...] = ...; outside of loops and ifs");
    bind_axes(*target);
    for (const Statement& each : program) execute(each);
    return *output_;
  }

 private:
  void note_dims(const Shape& shape) {
    for (const Dim& extent : shape)
      for (const Dim& variable : extent.variables()) dims_.emplace(variable.name(), variable);
  }

  bool is_taken(const std::string& name) const {
    return name == kResult || inputs_.contains(name) || dims_.contains(name) ||
           indices_.contains(name) || variables_.contains(name);
  }

  void bind_axes(const Statement& target) {
    if (target.indices.size() != result_.shape.size())
      fail(target.position, "out has {} axes ({}), but {} are named", result_.shape.size(),
           graph::to_string(result_.shape), target.indices.size());
    for (size_t k = 0; k < target.indices.size(); ++k) {
      const Expression& index = *target.indices[k];
      if (index.kind != Expression::Kind::kName)
        fail(index.position, "a position of out is a name of its own; compute others when reading");
      if (is_taken(index.text)) fail(index.position, "'{}' is taken", index.text);
      arithmetic_.push_axis(result_.shape[k]);
      indices_.emplace(index.text, Dim::axis(static_cast<int64_t>(k), result_.shape[k]));
    }
  }

  // Statements.

  void execute(const Statement& statement) {
    switch (statement.kind) {
      case Statement::Kind::kDeclare:
        return declare(statement);
      case Statement::Kind::kAssign:
        return statement.name == kResult ? assign_result(statement) : assign(statement);
      case Statement::Kind::kFor:
        return run_loop(statement);
      case Statement::Kind::kIf:
        return run_if(statement);
      case Statement::Kind::kBlock:
        return run_block(statement.body);
    }
  }

  /// Variables end with their block.
  void run_block(const std::vector<Statement>& body) {
    std::vector<std::string> declared;
    for (const Statement& each : body) {
      execute(each);
      if (each.kind == Statement::Kind::kDeclare) declared.push_back(each.name);
    }
    for (const std::string& name : declared) variables_.erase(name);
  }

  void declare(const Statement& statement) {
    if (is_taken(statement.name)) fail(statement.position, "'{}' is taken", statement.name);
    const KernelValue value = converted(statement, evaluate(*statement.value), statement.dtype);
    variables_[statement.name] = {statement.dtype, value, arithmetic_.domain().size()};
  }

  /// The value in the type of what it is assigned to.
  KernelValue converted(const Statement& statement, const KernelValue& value, DType dtype) {
    const bool is_real = value.kind == Kind::kNumber ||
                         (value.kind == Kind::kData && graph::is_float(value.data.dtype()));
    if (is_real && !graph::is_float(dtype))
      fail(statement.position, "'{}' is {} and the value is a float; write ({}) before it",
           statement.name, graph::name(dtype), graph::name(dtype));
    const bool is_truth = value.kind == Kind::kCondition ||
                          (value.kind == Kind::kData && value.data.dtype() == DType::kBool);
    if (dtype == DType::kBool && !is_truth)
      fail(statement.position, "'{}' is bool and the value is none; write != 0", statement.name);
    if (dtype == DType::kBool && value.kind == Kind::kCondition) return value;
    if (value.kind == Kind::kIndex && graph::is_integer(dtype))
      if (const std::optional<int64_t> number = value.expr.constant_value();
          number && Scalar::of(dtype, *number).as_int64() != *number)
        fail(statement.position, "{} does not fit {}, the type of '{}'", *number,
             graph::name(dtype), statement.name);
    return guarded(statement.position, [&] { return arithmetic_.cast(value, dtype); });
  }

  void assign_result(const Statement& statement) {
    if (output_) fail(statement.position, "out is assigned twice");
    if (arithmetic_.domain().size() != result_.shape.size() || !conditions_.empty())
      fail(statement.position,
           "out is assigned once, outside of loops and ifs; use a variable or ?: inside");
    if (statement.op != "=") fail(statement.position, "out is assigned by =");
    const KernelValue value = converted(statement, evaluate(*statement.value), result_.dtype);
    const Tensor data = luminal::cast(arithmetic_.data(value, result_.dtype), result_.dtype);
    output_ = arithmetic_.expanded(data, result_.shape.size());
  }

  Variable& variable(const Statement& statement) {
    const auto found = variables_.find(statement.name);
    if (found != variables_.end() && statement.indices.empty()) return found->second;
    if (found != variables_.end()) fail(statement.position, "'{}' is no array", statement.name);
    if (inputs_.contains(statement.name) || indices_.contains(statement.name) ||
        dims_.contains(statement.name))
      fail(statement.position, "'{}' cannot be assigned", statement.name);
    fail(statement.position, "there is no '{}'{}; declare it with its type", statement.name,
         support::did_you_mean(statement.name, names()));
  }

  void assign(const Statement& statement) {
    Variable& target = variable(statement);
    if (target.depth < arithmetic_.domain().size()) return accumulate(statement, target);
    KernelValue value = evaluate(*statement.value);
    if (statement.op != "=") {
      const std::string op = statement.op.substr(0, 1);
      value =
          guarded(statement.position, [&] { return arithmetic_.binary(op, target.value, value); });
    }
    value = converted(statement, value, target.dtype);
    for (const KernelValue& condition : conditions_)
      value = guarded(statement.position,
                      [&] { return arithmetic_.select(condition, value, target.value); });
    target.value = value;
  }

  // What loops carry.

  void accumulate(const Statement& statement, const Variable& target) {
    const auto found = carried(statement);
    if (!found)
      fail(statement.position,
           "the loop carries '{}': use +=, -=, *=, or {} = max({}, ...), min, || or &&",
           statement.name, statement.name, statement.name);
    const auto [carry, expression] = *found;
    KernelValue value = evaluate(*expression);
    if (statement.op == "-=") value = arithmetic_.unary("-", value);
    value = converted(statement, value, target.dtype);
    guarded(statement.position, [&] {
      Tensor data = luminal::cast(arithmetic_.data(value, target.dtype), target.dtype);
      for (const KernelValue& condition : conditions_) {
        const Tensor none = build::full_like(data, neutral(carry, target.dtype));
        data = arithmetic_.select(condition, KernelValue::of(data), KernelValue::of(none)).data;
      }
      contribute(statement.name, {carry, std::move(data), statement.position});
      return value;
    });
  }

  void contribute(const std::string& name, Contribution contribution) {
    auto& known = contributions_.back();
    const auto found = known.find(name);
    if (found == known.end()) {
      known.emplace(name, std::move(contribution));
      return;
    }
    if (found->second.carry != contribution.carry)
      fail(contribution.position, "'{}' is accumulated in two ways in one loop", name);
    const auto rank =
        static_cast<size_t>(std::max(found->second.value.rank(), contribution.value.rank()));
    found->second.value =
        combined(contribution.carry, arithmetic_.expanded(found->second.value, rank),
                 arithmetic_.expanded(contribution.value, rank));
  }

  /// Variables from outside that a loop assigns: inside of it they have no value of their own.
  void note_carried(const std::vector<Statement>& body) {
    for (const Statement& each : body) {
      if (each.kind == Statement::Kind::kAssign && variables_.contains(each.name))
        carried_.insert(each.name);
      note_carried(each.body);
      note_carried(each.otherwise);
    }
  }

  Dim loop_bound(const Expression& expression) {
    const KernelValue value = evaluate(expression);
    if (value.kind != Kind::kIndex || !value.expr.axes().empty())
      fail(expression.position,
           "a loop runs over numbers and dims; take the longest and put an if inside");
    return value.expr;
  }

  void run_loop(const Statement& loop) {
    if (is_taken(loop.name)) fail(loop.position, "'{}' is taken", loop.name);
    const Dim begin = loop_bound(*loop.begin);
    const Dim end = loop_bound(*loop.end) + (loop.inclusive ? 1 : 0);
    const Dim count = symbolic::max(
        guarded_dim(loop.position, [&] { return symbolic::ceil_div(end - begin, loop.step); }), 0);
    const auto depth = static_cast<int64_t>(arithmetic_.domain().size());
    arithmetic_.push_axis(count);
    indices_.emplace(loop.name, begin + loop.step * Dim::axis(depth, count));
    contributions_.emplace_back();
    const std::set<std::string> outer = carried_;
    note_carried(loop.body);
    run_block(loop.body);
    carried_ = outer;
    const auto found = std::move(contributions_.back());
    contributions_.pop_back();
    indices_.erase(loop.name);
    const size_t full = arithmetic_.domain().size();
    std::map<std::string, Contribution> results;
    for (const auto& [name, each] : found)
      results.emplace(
          name,
          Contribution{each.carry, reduced(each.carry, arithmetic_.expanded(each.value, full)),
                       each.position});
    arithmetic_.pop_axis();
    for (auto& [name, each] : results) finish(name, std::move(each));
  }

  /// A loop's result goes to the variable, or to the loop around if that is inside of it, too.
  void finish(const std::string& name, Contribution contribution) {
    Variable& target = variables_.at(name);
    guarded(contribution.position, [&] {
      contribution.value = luminal::cast(contribution.value, target.dtype);
      return target.value;
    });
    if (target.depth < arithmetic_.domain().size())
      return contribute(name, std::move(contribution));
    const Tensor before = luminal::cast(arithmetic_.data(target.value, target.dtype), target.dtype);
    const auto rank = static_cast<size_t>(std::max(before.rank(), contribution.value.rank()));
    target.value = KernelValue::of(combined(contribution.carry, arithmetic_.expanded(before, rank),
                                            arithmetic_.expanded(contribution.value, rank)));
  }

  // Conditions.

  void run_if(const Statement& statement) {
    const KernelValue condition = evaluate(*statement.value);
    guarded(statement.value->position,
            [&] { return KernelValue::of(arithmetic_.truth(condition)); });
    const size_t facts = facts_.size();
    add_facts(*statement.value, true);
    conditions_.push_back(condition);
    run_block(statement.body);
    conditions_.back() = arithmetic_.unary("!", condition);
    facts_.resize(facts);
    add_facts(*statement.value, false);
    run_block(statement.otherwise);
    conditions_.pop_back();
    facts_.resize(facts);
  }

  /// What the condition says of positions: expressions that are not negative.
  void add_facts(const Expression& condition, bool holds) {
    if (condition.kind == Expression::Kind::kUnary && condition.text == "!")
      return add_facts(*condition.children[0], !holds);
    if (condition.kind != Expression::Kind::kBinary) return;
    const Expression &left = *condition.children[0], &right = *condition.children[1];
    if (condition.text == (holds ? "&&" : "||")) {
      add_facts(left, holds);
      return add_facts(right, holds);
    }
    static const std::map<std::string, std::string, std::less<>> opposite{
        {"<", ">="}, {">=", "<"}, {">", "<="}, {"<=", ">"}, {"==", "!="}, {"!=", "=="}};
    const auto found = opposite.find(condition.text);
    if (found == opposite.end()) return;
    const KernelValue a = evaluate(left), b = evaluate(right);
    if (a.kind != Kind::kIndex || b.kind != Kind::kIndex) return;
    const std::string& op = holds ? condition.text : found->second;
    if (op == "<" || op == "<=") facts_.push_back(b.expr - a.expr - (op == "<" ? 1 : 0));
    if (op == ">" || op == ">=") facts_.push_back(a.expr - b.expr - (op == ">" ? 1 : 0));
    if (op == "==") {
      facts_.push_back(a.expr - b.expr);
      facts_.push_back(b.expr - a.expr);
    }
  }

  // Expressions.

  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& [name, unused] : variables_) result.push_back(name);
    for (const auto& [name, unused] : indices_) result.push_back(name);
    for (const auto& [name, unused] : inputs_) result.push_back(name);
    for (const auto& [name, unused] : dims_) result.push_back(name);
    return result;
  }

  /// Errors of the ops get the place in the program.
  template <typename Function>
  KernelValue guarded(Position position, Function function) const {
    try {
      return function();
    } catch (const UserError& error) {
      throw SourceError{position, error.what()};
    }
  }
  template <typename Function>
  Dim guarded_dim(Position position, Function function) const {
    return guarded(position, [&] { return KernelValue::index(function()); }).expr;
  }

  KernelValue evaluate(const Expression& expression) {
    switch (expression.kind) {
      case Expression::Kind::kInteger:
        return KernelValue::index(expression.integer);
      case Expression::Kind::kNumber:
        return KernelValue::fraction(expression.number);
      case Expression::Kind::kName:
        return name(expression);
      case Expression::Kind::kIndex:
        return element(expression);
      case Expression::Kind::kTernary:
        return choice(expression);
      default:
        break;
    }
    std::vector<KernelValue> values;
    const size_t facts = facts_.size();
    for (const auto& child : expression.children) {
      values.push_back(evaluate(*child));
      // The right side is looked at where the left one holds, or does not.
      if (expression.text == "&&" || expression.text == "||")
        add_facts(*child, expression.text == "&&");
    }
    facts_.resize(facts);
    return guarded(expression.position, [&] {
      if (expression.kind == Expression::Kind::kCall)
        return arithmetic_.call(expression.text, values);
      if (expression.kind == Expression::Kind::kCast)
        return arithmetic_.cast(values[0], expression.dtype);
      return values.size() == 1 ? arithmetic_.unary(expression.text, values[0])
                                : arithmetic_.binary(expression.text, values[0], values[1]);
    });
  }

  KernelValue name(const Expression& expression) {
    const std::string& text = expression.text;
    if (carried_.contains(text))
      fail(expression.position, "'{}' is accumulated by this loop and can be read after it", text);
    if (const auto found = variables_.find(text); found != variables_.end())
      return found->second.value;
    if (const auto found = indices_.find(text); found != indices_.end())
      return KernelValue::index(found->second);
    if (const auto found = inputs_.find(text); found != inputs_.end()) return element(expression);
    if (const auto found = dims_.find(text); found != dims_.end())
      return KernelValue::index(found->second);
    if (text == "true") return KernelValue::condition(1);
    if (text == "false") return KernelValue::condition(0);
    if (text == "INFINITY") return KernelValue::fraction(INFINITY);
    if (text == "NAN") return KernelValue::fraction(NAN);
    fail(expression.position, "there is no '{}'{}", text, support::did_you_mean(text, names()));
  }

  KernelValue choice(const Expression& expression) {
    const KernelValue condition = evaluate(*expression.children[0]);
    const size_t facts = facts_.size();
    add_facts(*expression.children[0], true);
    const KernelValue yes = evaluate(*expression.children[1]);
    facts_.resize(facts);
    add_facts(*expression.children[0], false);
    const KernelValue no = evaluate(*expression.children[2]);
    facts_.resize(facts);
    return guarded(expression.position, [&] { return arithmetic_.select(condition, yes, no); });
  }

  bool follows(const Dim& not_negative) const {
    return std::any_of(facts_.begin(), facts_.end(), [&](const Dim& fact) {
      return symbolic::provably_ge(not_negative - fact, 0);
    });
  }

  /// An element of an input.
  KernelValue element(const Expression& expression) {
    const auto found = inputs_.find(expression.text);
    if (found == inputs_.end())
      fail(expression.position, "there is no input '{}'{}", expression.text,
           support::did_you_mean(expression.text, names()));
    const Tensor& input = found->second;
    if (expression.children.size() != static_cast<size_t>(input.rank()))
      fail(expression.position, "'{}' has {} axes ({}), but {} positions are given",
           expression.text, input.rank(), graph::to_string(input.shape()),
           expression.children.size());
    std::vector<Dim> index;
    std::vector<graph::Condition> conditions;
    std::optional<Tensor> positions;
    size_t rank = 0, gathered = 0;
    for (size_t k = 0; k < expression.children.size(); ++k) {
      const Expression& child = *expression.children[k];
      const KernelValue value = evaluate(child);
      if (value.kind == Kind::kIndex) {
        check_range(child, expression.text, value.expr, input.shape()[k], conditions);
        rank = std::max(rank, KernelArithmetic::rank_of(value.expr));
        index.push_back(value.expr);
        continue;
      }
      if (value.kind != Kind::kData || !graph::is_integer(value.data.dtype()))
        fail(child.position, "a position is an integer; write (long) before it");
      if (positions) fail(child.position, "only one position of an access may be data");
      if (!depends_on_inputs(value.data))
        fail(child.position,
             "this position of '{}' follows from positions alone but is not proved to be in 0 to "
             "{}: % and / of what may be negative are not followed; add a multiple first",
             expression.text, symbolic::to_string(input.shape()[k] - 1));
      positions = value.data;
      rank = std::max(rank, static_cast<size_t>(value.data.rank()));
      gathered = k;
      index.emplace_back();
    }
    return guarded(expression.position, [&] {
      Shape domain = arithmetic_.domain(rank);
      if (positions) {
        const Dim extent = input.shape()[gathered];
        index[gathered] = Dim::axis(static_cast<int64_t>(rank), extent);
        domain.push_back(extent);
      }
      const Tensor seen = read(input, domain, index, conditions);
      if (!positions) return KernelValue::of(seen);
      return KernelValue::of(
          build::apply(graph::Op::kGather, {arithmetic_.expanded(*positions, rank), seen}));
    });
  }

  bool depends_on_inputs(const Tensor& data) const {
    for (const graph::NodeId id : graph::upstream(state_->graph, std::span(&data.edge().node, 1)))
      for (const auto& [unused, input] : inputs_)
        if (input.edge().node == id) return true;
    return false;
  }

  void check_range(const Expression& at, const std::string& input, const Dim& index,
                   const Dim& extent, std::vector<graph::Condition>& conditions) const {
    const Dim above = extent - 1 - index;
    const bool low = symbolic::provably_ge(index, 0), high = symbolic::provably_ge(above, 0);
    if (low && high) return;
    if (!(low || follows(index)) || !(high || follows(above)))
      fail(at.position,
           "this position of '{}' may be outside of 0 to {}; put a condition around it that "
           "says it is not",
           input, symbolic::to_string(extent - 1));
    // Where the condition around it fails nothing is read.
    conditions.push_back({index, extent});
  }

  static Tensor read(const Tensor& input, const Shape& domain, const std::vector<Dim>& index,
                     const std::vector<graph::Condition>& conditions) {
    const Scalar nothing = Scalar::of(input.dtype(), 0);
    const graph::View outer(input.shape(), domain, index, conditions, nothing);
    if (auto view = graph::View::compose(input.edge().view, outer))
      return build::with_view(input, std::move(*view));
    return build::with_view(build::materialize(input), outer);
  }

  std::shared_ptr<GraphState> state_;
  graph::TensorType result_;
  KernelArithmetic arithmetic_;
  std::map<std::string, Tensor> inputs_;
  std::map<std::string, Dim> dims_;
  std::map<std::string, Dim> indices_;  // positions of out and of loops
  std::map<std::string, Variable> variables_;
  std::vector<std::map<std::string, Contribution>> contributions_;  // per loop around us
  std::set<std::string> carried_;                                   // by the loops around us
  std::vector<KernelValue> conditions_;                             // of the ifs around us
  std::vector<Dim> facts_;  // not negative, by the conditions around us
  std::optional<Tensor> output_;
};

}  // namespace

Tensor lower(const std::vector<Statement>& program, const KernelInputs& inputs,
             const graph::TensorType& result) {
  return Lowering(inputs, result).run(program);
}

}  // namespace luminal::kernel_source
