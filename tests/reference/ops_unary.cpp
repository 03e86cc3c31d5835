// Unary math and activations.
#include "registry.h"

namespace luminal::reference {
namespace {

void add_math(Registry& registry) {
  registry.add_unary("neg", luminal::neg);
  registry.add_unary("abs", luminal::abs);
  registry.add_unary("sign", luminal::sign);
  registry.add_unary("recip", luminal::recip);
  registry.add_unary("square", luminal::square);
  registry.add_unary("sqrt", luminal::sqrt);
  registry.add_unary("rsqrt", luminal::rsqrt);
  registry.add_unary("exp", luminal::exp);
  registry.add_unary("exp2", luminal::exp2);
  registry.add_unary("expm1", luminal::expm1);
  registry.add_unary("log", luminal::log);
  registry.add_unary("log2", luminal::log2);
  registry.add_unary("log1p", luminal::log1p);
  registry.add_unary("sin", luminal::sin);
  registry.add_unary("cos", luminal::cos);
  registry.add_unary("tan", luminal::tan);
  registry.add_unary("asin", luminal::asin);
  registry.add_unary("acos", luminal::acos);
  registry.add_unary("atan", luminal::atan);
  registry.add_unary("sinh", luminal::sinh);
  registry.add_unary("cosh", luminal::cosh);
  registry.add_unary("tanh", luminal::tanh);
  registry.add_unary("erf", luminal::erf);
  registry.add_unary("floor", luminal::floor);
  registry.add_unary("ceil", luminal::ceil);
  registry.add_unary("round", luminal::round);
  registry.add_unary("trunc", luminal::trunc);
  registry.add_unary("isnan", luminal::isnan);
  registry.add_unary("isinf", luminal::isinf);
  registry.add_unary("isfinite", luminal::isfinite);
}

void add_activations(Registry& registry) {
  registry.add_unary("relu", luminal::relu);
  registry.add_unary("sigmoid", luminal::sigmoid);
  registry.add_unary("silu", luminal::silu);
  registry.add_unary("gelu", luminal::gelu);
  registry.add_unary("gelu_tanh", luminal::gelu_tanh);
  registry.add_unary("hardswish", luminal::hardswish);
  registry.add_unary("mish", luminal::mish);
  registry.add("softplus", [](const Call& c) { return softplus(c.x()); });
  registry.add("leaky_relu",
               [](const Call& c) { return leaky_relu(c.x(), c.attributes.number("slope")); });
  registry.add("elu", [](const Call& c) { return elu(c.x(), c.attributes.number("alpha")); });
}

}  // namespace

void add_unary_ops(Registry& registry) {
  add_math(registry);
  add_activations(registry);
}

}  // namespace luminal::reference
