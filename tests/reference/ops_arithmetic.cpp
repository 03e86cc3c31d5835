// Arithmetic, comparisons, logic, bits, and their mixtures of dtypes and numbers.
#include "registry.h"

namespace luminal::reference {
namespace {

void add_tensor_pairs(Registry& registry) {
  registry.add_binary("add", add);
  registry.add_binary("sub", subtract);
  registry.add_binary("mul", multiply);
  registry.add_binary("div", divide);
  registry.add_binary("trunc_div", trunc_div);
  registry.add_binary("floor_div", floor_div);
  registry.add_binary("remainder", remainder);
  registry.add_binary("fmod", fmod);
  registry.add_binary("pow", pow);
  registry.add_binary("maximum", maximum);
  registry.add_binary("minimum", minimum);
  registry.add_binary("less", less);
  registry.add_binary("less_equal", less_equal);
  registry.add_binary("greater", greater);
  registry.add_binary("greater_equal", greater_equal);
  registry.add_binary("equal", equal);
  registry.add_binary("not_equal", not_equal);
  registry.add_binary("logical_and", logical_and);
  registry.add_binary("logical_or", logical_or);
  registry.add_binary("logical_xor", logical_xor);
  registry.add_binary("bit_and", bit_and);
  registry.add_binary("bit_or", bit_or);
  registry.add_binary("bit_xor", bit_xor);
}

void add_numbers(Registry& registry) {
  registry.add("add_scalar", [](const Call& c) { return c.x() + c.value("scalar"); });
  registry.add("sub_scalar", [](const Call& c) { return c.x() - c.value("scalar"); });
  registry.add("mul_scalar", [](const Call& c) { return c.x() * c.value("scalar"); });
  registry.add("div_scalar", [](const Call& c) { return c.x() / c.value("scalar"); });
  registry.add("remainder_scalar", [](const Call& c) { return c.x() % c.value("scalar"); });
  registry.add("less_scalar", [](const Call& c) { return c.x() < c.value("scalar"); });
  registry.add("pow_scalar", [](const Call& c) { return pow(c.x(), c.value("scalar")); });
  registry.add("scalar_sub", [](const Call& c) { return c.value("scalar") - c.x(); });
  registry.add("scalar_div", [](const Call& c) { return c.value("scalar") / c.x(); });
}

}  // namespace

void add_arithmetic_ops(Registry& registry) {
  add_tensor_pairs(registry);
  add_numbers(registry);
  registry.add_unary("logical_not", logical_not);
  registry.add_unary("bit_not", bit_not);
  registry.add("shift_left", [](const Call& c) { return shift_left(c.x(), c.y()); });
  registry.add("shift_right", [](const Call& c) { return shift_right(c.x(), c.y()); });
  registry.add("where", [](const Call& c) { return where(c.x(), c.y(), c.inputs.at(2)); });
  registry.add("clip", [](const Call& c) { return clip(c.x(), c.value("min"), c.value("max")); });
  registry.add("cast", [](const Call& c) { return cast(c.x(), c.attributes.dtype("dtype")); });
  registry.add("bitcast",
               [](const Call& c) { return bitcast(c.x(), c.attributes.dtype("dtype")); });
}

}  // namespace luminal::reference
