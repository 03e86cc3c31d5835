#include "luminal/symbolic/evaluate.h"

#include <unordered_map>

#include "luminal/support/check.h"
#include "luminal/support/small_vector.h"
#include "luminal/symbolic/node.h"

namespace luminal::symbolic {
namespace {

// Most index expressions fit; larger ones use the heap.
constexpr size_t kInlineRegisters = 64;

template <typename Int>
bool floor_divide(Int a, Int b, Int& result) {
  if (b == 0) return false;
  if (b == -1) return !__builtin_sub_overflow(Int{0}, a, &result);
  result = a / b;
  if (a % b != 0 && (a < 0) != (b < 0)) --result;
  return true;
}

void check_range(const Expr& symbol, int64_t value, const Values& values) {
  if (symbol.is_variable()) {
    const Interval range = symbol.bounds();
    if (!range.contains(value))
      throw UserError("evaluate", "{} = {} is outside of its interval [{}, {}]", symbol, value,
                      range.lo, range.hi);
    return;
  }
  const Expr extent = symbol.axis_extent();
  for (const Expr& variable : extent.variables()) {
    if (!values.contains(variable.name())) return;  // nothing is known about the extent
  }
  const int64_t size = evaluate(extent, values);
  if (value < 0 || value >= size)
    throw UserError("evaluate", "{} = {} is outside of its extent {} = {}", symbol, value, extent,
                    size);
}

}  // namespace

// Turns normal forms into instructions; equal subexpressions share a register.
class CompiledExpr::Builder {
 public:
  Builder(CompiledExpr& program, std::span<const Expr> slots) : program_(program) {
    for (size_t k = 0; k < slots.size(); ++k) registers_[slots[k].node()] = static_cast<int32_t>(k);
    program_.slot_count_ = static_cast<int32_t>(slots.size());
  }

  int32_t build(const Expr& expr) {
    if (auto value = expr.constant_value()) return constant(*value);
    if (const auto found = registers_.find(expr.node()); found != registers_.end())
      return found->second;
    const int32_t target =
        expr.node()->kind == Kind::kPolynomial ? build_sum(expr) : build_atom(expr);
    registers_.emplace(expr.node(), target);
    return target;
  }

  // Constants sit between the slots and the computed values, once their number is known.
  void place_constants() {
    const auto place = [&](int32_t& id) {
      if (id < 0) {
        id = program_.slot_count_ - 1 - id;
      } else if (id >= program_.slot_count_) {
        id += static_cast<int32_t>(program_.constants_.size());
      }
    };
    for (Instruction& step : program_.program_) {
      for (int32_t* id : {&step.target, &step.a, &step.b, &step.c}) place(*id);
    }
    for (int32_t& id : program_.outputs_) place(id);
    program_.register_count_ =
        program_.slot_count_ + static_cast<int32_t>(program_.constants_.size()) + computed_;
  }

 private:
  // Until they are placed, constants are numbered -1, -2, ...
  int32_t constant(int64_t value) {
    const auto [entry, is_new] =
        constants_.emplace(value, -1 - static_cast<int32_t>(program_.constants_.size()));
    if (is_new) program_.constants_.push_back(value);
    return entry->second;
  }

  int32_t emit(Op op, int32_t a, int32_t b, int32_t c, const Expr& source) {
    const int32_t target = program_.slot_count_ + computed_++;
    program_.program_.push_back({op, target, a, b, c});
    program_.sources_.push_back(source);
    return target;
  }

  int32_t build_sum(const Expr& expr) {
    int32_t sum = constant(constant_part(expr));
    for (const Term& term : terms_of(expr)) {
      int32_t product = constant(term.coefficient);
      for (size_t k = 0; k < term.monomial.size(); ++k) {
        const int32_t base = build(Expr(term.monomial[k].atom));
        for (int32_t power = 1; power <= term.monomial[k].power; ++power) {
          const bool last = k + 1 == term.monomial.size() && power == term.monomial[k].power;
          product = emit(Op::kMulAdd, product, base, last ? sum : constant(0), expr);
        }
      }
      sum = product;
    }
    return sum;
  }

  int32_t build_atom(const Expr& expr) {
    const Node* atom = expr.node();
    const auto& operands = atom->operands;
    const int32_t zero = constant(0);
    switch (atom->kind) {
      case Kind::kVariable:
      case Kind::kAxis:
        throw UserError("compile", "the symbol {} has no slot", expr);
      case Kind::kFloorDiv: {
        const int32_t numerator = build(operands[0]), divisor = build(operands[1]);
        return emit(Op::kFloorDiv, numerator, divisor, zero, expr);
      }
      case Kind::kMinimum: {
        int32_t least = build(operands[0]);
        for (size_t k = 1; k < operands.size(); ++k)
          least = emit(Op::kMin, least, build(operands[k]), zero, expr);
        return least;
      }
      default: {
        const Op op = atom->kind == Kind::kZero ? Op::kZero : Op::kNonNegative;
        return emit(op, build(operands[0]), zero, zero, expr);
      }
    }
  }

  CompiledExpr& program_;
  std::unordered_map<const Node*, int32_t> registers_;
  std::unordered_map<int64_t, int32_t> constants_;
  int32_t computed_ = 0;
};

CompiledExpr::CompiledExpr(const Expr& expr, std::span<const Expr> slots)
    : CompiledExpr(std::span<const Expr>(&expr, 1), slots) {}

CompiledExpr::CompiledExpr(std::span<const Expr> exprs, std::span<const Expr> slots)
    : exprs_(exprs.begin(), exprs.end()) {
  Builder builder(*this, slots);
  for (const Expr& expr : exprs) outputs_.push_back(builder.build(expr));
  builder.place_constants();
}

template <typename Int>
void CompiledExpr::load(std::span<const int64_t> values, Int* registers) const {
  LUMINAL_CHECK(values.size() == static_cast<size_t>(slot_count_), "{} values for {} slots",
                values.size(), slot_count_);
  std::copy(values.begin(), values.end(), registers);
  std::copy(constants_.begin(), constants_.end(), registers + slot_count_);
}

template <typename Int>
size_t CompiledExpr::execute(Int* registers) const {
  for (size_t k = 0; k < program_.size(); ++k) {
    const Instruction& step = program_[k];
    const Int a = registers[step.a], b = registers[step.b];
    Int& target = registers[step.target];
    switch (step.op) {
      case Op::kMulAdd: {
        Int product;
        if (__builtin_mul_overflow(a, b, &product) ||
            __builtin_add_overflow(product, registers[step.c], &target))
          return k;
        break;
      }
      case Op::kFloorDiv:
        if (!floor_divide(a, b, target)) return k;
        break;
      case Op::kMin:
        target = std::min(a, b);
        break;
      case Op::kNonNegative:
        target = a >= 0;
        break;
      case Op::kZero:
        target = a == 0;
        break;
    }
  }
  return program_.size();
}

void CompiledExpr::run_wide(std::span<const int64_t> values, std::span<int64_t> results) const {
  std::vector<Int128> registers(register_count_);
  load(values, registers.data());
  const size_t failed = execute(registers.data());
  if (failed < program_.size()) {
    if (program_[failed].op == Op::kFloorDiv && registers[program_[failed].b] == 0)
      throw UserError("evaluate", "division by zero in {}", sources_[failed]);
    throw UserError("evaluate", "the value of {} does not fit into 64 bits", sources_[failed]);
  }
  for (size_t k = 0; k < results.size(); ++k) {
    const Int128 value = registers[outputs_[k]];
    results[k] = static_cast<int64_t>(value);
    if (results[k] != value)
      throw UserError("evaluate", "the value of {} does not fit into 64 bits", exprs_[k]);
  }
}

void CompiledExpr::run(std::span<const int64_t> values, std::span<int64_t> results) const {
  LUMINAL_CHECK(results.size() <= outputs_.size(), "{} results of {} expressions", results.size(),
                outputs_.size());
  support::SmallVector<int64_t, kInlineRegisters> registers;
  registers.resize(register_count_);
  load(values, registers.data());
  if (execute(registers.data()) < program_.size()) return run_wide(values, results);
  for (size_t k = 0; k < results.size(); ++k) results[k] = registers[outputs_[k]];
}

int64_t CompiledExpr::operator()(std::span<const int64_t> values) const {
  int64_t result;
  run(values, {&result, 1});
  return result;
}

int64_t evaluate(const Expr& expr, const Values& values) {
  std::vector<Expr> symbols = expr.variables();
  symbols.insert(symbols.end(), expr.axes().begin(), expr.axes().end());
  std::vector<int64_t> slots;
  for (const Expr& symbol : symbols) {
    const auto found = values.find(symbol.name());
    if (found == values.end())
      throw UserError("evaluate", "no value is given for {} in {}", symbol, expr);
    check_range(symbol, found->second, values);
    slots.push_back(found->second);
  }
  return CompiledExpr(expr, symbols)(slots);
}

}  // namespace luminal::symbolic
