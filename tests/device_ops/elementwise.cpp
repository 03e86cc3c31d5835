// Arithmetic, logic, math and activations with the public interface.
#include "rows.h"

namespace luminal::device_ops {
namespace {

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Operand&, const Operand&);

/// Ops that choose, compare or move bits: no rounding, no tolerance.
constexpr bool kExact = true;

test::Tolerance bound_of(const Tensor& result, bool exact) {
  return exact ? test::Tolerance{} : test::function_bound(result.dtype());
}

Row unary(const std::string& family, const std::string& op, Unary function, bool exact = false) {
  return {family, op, [function, exact](Cell& cell) {
            const auto add = [&](const char* what, const Tensor& x) {
              const Tensor y = function(x);
              cell.add(what, y, bound_of(y, exact));
            };
            add("n", cell.input({cell.n()}));
            if (!cell.thorough()) return;
            add("special values", cell.input({24}, Fill::kSpecial));
            add("flipped", cell.seen(Seen::kFlipped));
            add("permuted", cell.seen(Seen::kPermuted));
          }};
}

Row binary(const std::string& op, Binary function, bool exact = false) {
  return {"Arithmetic", op, [function, exact](Cell& cell) {
            const auto add = [&](const char* what, const Tensor& x, const Tensor& y) {
              const Tensor z = function(x, y);
              cell.add(what, z, bound_of(z, exact));
            };
            add("n", cell.input({cell.n()}), cell.input({cell.n()}));
            if (!cell.thorough()) return;
            add("every pair of special values", cell.input({24, 1}, Fill::kSpecial),
                cell.input({24}, Fill::kSpecial));
            add("n with one", cell.input({cell.n(), 5}), cell.input({1, 5}));
            add("views", cell.seen(Seen::kWindows), cell.seen(Seen::kReshaped));
            const Tensor z = function(cell.seen(Seen::kSliced), 1);
            cell.add("with a number", z, bound_of(z, exact));
          }};
}

void add_arithmetic(std::vector<Row>& rows) {
  for (const auto& [op, function] :
       std::vector<std::pair<std::string, Binary>>{{"add", add},
                                                   {"subtract", subtract},
                                                   {"multiply", multiply},
                                                   {"divide", divide},
                                                   {"pow", pow}})
    rows.push_back(binary(op, function));
  for (const auto& [op, function] :
       std::vector<std::pair<std::string, Binary>>{{"trunc_div", trunc_div},
                                                   {"floor_div", floor_div},
                                                   {"remainder", remainder},
                                                   {"fmod", fmod},
                                                   {"maximum", maximum},
                                                   {"minimum", minimum},
                                                   {"less", less},
                                                   {"less_equal", less_equal},
                                                   {"greater", greater},
                                                   {"greater_equal", greater_equal},
                                                   {"equal", equal},
                                                   {"not_equal", not_equal},
                                                   {"logical_and", logical_and},
                                                   {"logical_or", logical_or},
                                                   {"logical_xor", logical_xor},
                                                   {"bit_and", bit_and},
                                                   {"bit_or", bit_or},
                                                   {"bit_xor", bit_xor}})
    rows.push_back(binary(op, function, kExact));
  rows.push_back(unary("Arithmetic", "to_bool", to_bool, kExact));
  rows.push_back(unary("Arithmetic", "logical_not", logical_not, kExact));
  rows.push_back(unary("Arithmetic", "bit_not", bit_not, kExact));
}

void add_choices(std::vector<Row>& rows) {
  rows.push_back({"Arithmetic", "clip", [](Cell& cell) {
                    cell.add("n", clip(cell.input({cell.n()}), 1, 3), {});
                    cell.add("views",
                             clip(cell.seen(Seen::kPadded), cell.seen(Seen::kBroadcast),
                                  cell.seen(Seen::kPermuted)),
                             {});
                  }});
  for (const bool left : {true, false})
    rows.push_back({"Arithmetic", left ? "shift_left" : "shift_right", [left](Cell& cell) {
                      const auto shift = left ? shift_left : shift_right;
                      cell.add("n", shift(cell.input({cell.n()}), cell.input({cell.n()})), {});
                      cell.add("by 3", shift(cell.seen(Seen::kPermuted), 3), {});
                    }});
  rows.push_back({"Arithmetic", "where", [](Cell& cell) {
                    const Tensor condition = cell.input(boolean, {cell.n()}, Fill::kAny);
                    cell.add("n", where(condition, cell.input({cell.n()}), cell.input({1})), {});
                    cell.add("views",
                             where(cell.seen(boolean, Seen::kReshaped, Fill::kAny),
                                   cell.seen(Seen::kWindows), cell.seen(Seen::kFlipped)),
                             {});
                  }});
  rows.push_back({"Arithmetic", "masked_fill", [](Cell& cell) {
                    cell.add("n",
                             masked_fill(cell.input({cell.n(), 3}),
                                         cell.input(boolean, {cell.n(), 1}, Fill::kAny), 1),
                             {});
                  }});
}

void add_math(std::vector<Row>& rows) {
  for (const auto& [op, function] :
       std::vector<std::pair<std::string, Unary>>{{"neg", neg},
                                                  {"abs", abs},
                                                  {"sign", sign},
                                                  {"floor", floor},
                                                  {"ceil", ceil},
                                                  {"round", round},
                                                  {"trunc", trunc},
                                                  {"isnan", isnan},
                                                  {"isinf", isinf},
                                                  {"isfinite", isfinite}})
    rows.push_back(unary("Math", op, function, kExact));
  for (const auto& [op, function] : std::vector<std::pair<std::string, Unary>>{
           {"recip", recip}, {"square", square}, {"sqrt", sqrt}, {"rsqrt", rsqrt}, {"exp", exp},
           {"exp2", exp2},   {"expm1", expm1},   {"log", log},   {"log2", log2},   {"log1p", log1p},
           {"sin", sin},     {"cos", cos},       {"tan", tan},   {"asin", asin},   {"acos", acos},
           {"atan", atan},   {"sinh", sinh},     {"cosh", cosh}, {"tanh", tanh},   {"erf", erf}})
    rows.push_back(unary("Math", op, function));
}

void add_activations(std::vector<Row>& rows) {
  for (const auto& [op, function] : std::vector<std::pair<std::string, Unary>>{
           {"relu", relu},
           {"sigmoid", sigmoid},
           {"silu", silu},
           {"gelu", gelu},
           {"gelu_tanh", gelu_tanh},
           {"hardswish", hardswish},
           {"mish", mish},
           {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.25); }},
           {"softplus", [](const Tensor& x) { return softplus(x, 2.0, 10.0); }},
           {"elu", [](const Tensor& x) { return elu(x, 0.5); }}})
    rows.push_back(unary("Activations", op, function));
}

}  // namespace

void add_elementwise_functions(std::vector<Row>& rows) {
  add_arithmetic(rows);
  add_choices(rows);
  add_math(rows);
  add_activations(rows);
}

}  // namespace luminal::device_ops
